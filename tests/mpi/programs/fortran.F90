! What Fortran has of its own in the collectives that ECO may serve, in place and of all kinds of communicators, types and
! operations: compiled with -DMPIF_H, -DUSE_MPI or -DUSE_MPI_F08, one binding each. calls.F90 has every call and form.
!
!   fortran FOLDER    each rank writes to FOLDER/<rank> what it got, so that runs with and without ECO can be compared

module exercises
  use, intrinsic :: iso_c_binding
#include "binding.inc"
  integer, parameter :: real_kind = kind(1d0)
  integer :: rank, n_ranks, output, error
  real(real_kind), target, save :: absolute(400)

contains

#include "check.inc"
#include "results.inc"

  ! Blocks of n elements, with and without MPI_IN_PLACE.
  subroutine movements(comm, n, root)
    HANDLE(MPI_Comm), intent(in) :: comm
    integer, intent(in) :: n, root
    real(real_kind), allocatable :: mine(:), all(:), got(:)
    integer, allocatable :: counts(:), places(:)
    integer :: me, members, i
    call MPI_Comm_rank(comm, me, error)
    call MPI_Comm_size(comm, members, error)
    allocate (mine(n), all(n * members), got(n * members), counts(members), places(members))

    call fill(mine)
    call MPI_Bcast(mine, n, MPI_DOUBLE_PRECISION, root, comm, error)
    call note('bcast', mine)

    call fill(all)
    mine = -1
    call MPI_Scatter(all, n, MPI_DOUBLE_PRECISION, mine, n, MPI_DOUBLE_PRECISION, root, comm, error)
    call note('scatter', mine)
    if (me == root) then
      call MPI_Scatter(all, n, MPI_DOUBLE_PRECISION, MPI_IN_PLACE, n, MPI_DOUBLE_PRECISION, root, comm, error)
    else
      call MPI_Scatter(all, n, MPI_DOUBLE_PRECISION, mine, n, MPI_DOUBLE_PRECISION, root, comm, error)
    end if
    call note('scatter in place', all)

    call fill(mine)
    got = -1
    call MPI_Gather(mine, n, MPI_DOUBLE_PRECISION, got, n, MPI_DOUBLE_PRECISION, root, comm, error)
    call note('gather', got)
    got(me * n + 1:(me + 1) * n) = mine + 1
    if (me == root) then
      call MPI_Gather(MPI_IN_PLACE, n, MPI_DOUBLE_PRECISION, got, n, MPI_DOUBLE_PRECISION, root, comm, error)
    else
      call MPI_Gather(mine, n, MPI_DOUBLE_PRECISION, got, n, MPI_DOUBLE_PRECISION, root, comm, error)
    end if
    call note('gather in place', got)

    got = -1
    call MPI_Allgather(mine, n, MPI_DOUBLE_PRECISION, got, n, MPI_DOUBLE_PRECISION, comm, error)
    call note('allgather', got)
    got(me * n + 1:(me + 1) * n) = mine + 2
    call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, got, n, MPI_DOUBLE_PRECISION, comm, error)
    call note('allgather in place', got)

    counts = [(n - mod(i, 3), i = 0, members - 1)]
    places = [(i * n, i = 0, members - 1)]
    got = -1
    call MPI_Allgatherv(mine, counts(me + 1), MPI_DOUBLE_PRECISION, got, counts, places, MPI_DOUBLE_PRECISION, comm, error)
    call note('allgatherv', got)
    call MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, got, counts, places, MPI_DOUBLE_PRECISION, comm, error)
    call note('allgatherv in place', got)

    call fill(all)
    got = -1
    call MPI_Alltoall(all, n, MPI_DOUBLE_PRECISION, got, n, MPI_DOUBLE_PRECISION, comm, error)
    call note('alltoall', got)
    call MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, n, MPI_DOUBLE_PRECISION, comm, error)
    call note('alltoall in place', all)
    call MPI_Barrier(comm, error)
  end subroutine

  ! Blocks of lengths of their own, which the library moves, with and without MPI_IN_PLACE.
  subroutine uneven(comm, n, root)
    HANDLE(MPI_Comm), intent(in) :: comm
    integer, intent(in) :: n, root
    real(real_kind), allocatable :: mine(:), all(:), got(:)
    integer, allocatable :: counts(:), pairs(:), places(:)
    HANDLE(MPI_Datatype) :: element
    integer :: me, members, i
    element = MPI_DOUBLE_PRECISION
    call MPI_Comm_rank(comm, me, error)
    call MPI_Comm_size(comm, members, error)
    allocate (mine(n), all(n * members), got(n * members), counts(members), pairs(members), places(members))
    counts = [(n - mod(i, 3), i = 0, members - 1)]
    pairs = [(n - mod(me + i, 2), i = 0, members - 1)]
    places = [(i * n, i = 0, members - 1)]
    call fill(mine)

    got = -1
    call MPI_Gatherv(mine, counts(me + 1), element, got, counts, places, element, root, comm, error)
    call note('gatherv', got)
    if (me == root) then
      call MPI_Gatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, got, counts, places, element, root, comm, error)
    else
      call MPI_Gatherv(mine, counts(me + 1), element, got, counts, places, element, root, comm, error)
    end if
    call note('gatherv in place', got)

    call fill(all)
    mine = -1
    call MPI_Scatterv(all, counts, places, element, mine, counts(me + 1), element, root, comm, error)
    call note('scatterv', mine)
    if (me == root) then
      call MPI_Scatterv(all, counts, places, element, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, root, comm, error)
    else
      call MPI_Scatterv(all, counts, places, element, mine, counts(me + 1), element, root, comm, error)
    end if
    call note('scatterv in place', mine)

    got = -1
    call MPI_Alltoallv(all, pairs, places, element, got, pairs, places, element, comm, error)
    call note('alltoallv', got)
    call MPI_Alltoallv(MPI_IN_PLACE, counts, places, MPI_DATATYPE_NULL, all, pairs, places, element, comm, error)
    call note('alltoallv in place', all)
  end subroutine

! One line each: a line of Fortran has 132 letters.
#define VECTORS(call_of, what) got = -1; call call_of(mine, got, n, element, MPI_SUM, comm, error); call note(what, got)
#define VECTORS_IN_PLACE(call_of, op, what) \
    got = mine; call call_of(MPI_IN_PLACE, got, n, element, op, comm, error); call note(what, got)

  subroutine reductions(comm, n, root)
    HANDLE(MPI_Comm), intent(in) :: comm
    integer, intent(in) :: n, root
    real(real_kind), allocatable :: mine(:), all(:), got(:)
    integer, allocatable :: counts(:)
    HANDLE(MPI_Datatype) :: element
    integer :: me, members
    call MPI_Comm_rank(comm, me, error)
    call MPI_Comm_size(comm, members, error)
    allocate (mine(n), all(n * members), got(n), counts(members))
    counts = n
    element = MPI_DOUBLE_PRECISION
    call fill(mine)
    call fill(all)

    got = -1
    call MPI_Reduce(mine, got, n, MPI_DOUBLE_PRECISION, MPI_SUM, root, comm, error)
    call note('reduce', got)
    got = mine
    if (me == 0) then  ! in place on another rank 24,000 bytes are too many for MPICH 4.0.2, in C as well
      call MPI_Reduce(MPI_IN_PLACE, got, n, MPI_DOUBLE_PRECISION, MPI_MAX, 0, comm, error)
    else
      call MPI_Reduce(mine, got, n, MPI_DOUBLE_PRECISION, MPI_MAX, 0, comm, error)
    end if
    call note('reduce in place', got)

    VECTORS(MPI_Allreduce, 'allreduce')
    VECTORS_IN_PLACE(MPI_Allreduce, MPI_MIN, 'allreduce in place')

    got = -1
    call MPI_Reduce_scatter(all, got, counts, MPI_DOUBLE_PRECISION, MPI_SUM, comm, error)
    call note('reduce_scatter', got)
    got = -1
    call MPI_Reduce_scatter_block(all, got, n, MPI_DOUBLE_PRECISION, MPI_SUM, comm, error)
    call note('reduce_scatter_block', got)
    call MPI_Reduce_scatter_block(MPI_IN_PLACE, all, n, MPI_DOUBLE_PRECISION, MPI_SUM, comm, error)
    call note('reduce_scatter_block in place', all(1:n))

    VECTORS(MPI_Scan, 'scan')
    VECTORS_IN_PLACE(MPI_Scan, MPI_SUM, 'scan in place')
    VECTORS(MPI_Exscan, 'exscan')
  end subroutine

  ! All under way at once, on buffers of their own.
  subroutine nonblocking(comm, n, root)
    HANDLE(MPI_Comm), intent(in) :: comm
    integer, intent(in) :: n, root
    integer, parameter :: calls = 12
    character(20), parameter :: names(calls) = [character(20) :: 'ibcast', 'iscatter', 'igather', 'iallgather', &
      'ialltoall', 'ireduce', 'iallreduce', 'ireduce_scatter_block', 'iscan', 'iexscan', 'iallgatherv', 'ireduce_scatter']
    real(real_kind), allocatable, asynchronous :: in(:), got(:, :)
    HANDLE(MPI_Request) :: requests(calls)
    HANDLE(MPI_Datatype) :: element
    integer, allocatable, asynchronous :: counts(:), places(:)
    integer :: me, members, i
    element = MPI_DOUBLE_PRECISION
    call MPI_Comm_rank(comm, me, error)
    call MPI_Comm_size(comm, members, error)
    allocate (in(n * members), got(n * members, calls), counts(members), places(members))
    counts = [(n - mod(i, 2), i = 0, members - 1)]
    places = [(i * n, i = 0, members - 1)]
    call fill(in)
    got = -1
    call fill(got(:, 1))
    call fill(got(:, 7))
    call MPI_Ibcast(got(:, 1), n, element, root, comm, requests(1), error)
    call MPI_Iscatter(in, n, element, got(:, 2), n, element, root, comm, requests(2), error)
    call MPI_Igather(in, n, element, got(:, 3), n, element, root, comm, requests(3), error)
    call MPI_Iallgather(in, n, element, got(:, 4), n, element, comm, requests(4), error)
    call MPI_Ialltoall(in, n, element, got(:, 5), n, element, comm, requests(5), error)
    call MPI_Ireduce(in, got(:, 6), n, element, MPI_SUM, root, comm, requests(6), error)
    call MPI_Iallreduce(MPI_IN_PLACE, got(:, 7), n, element, MPI_SUM, comm, requests(7), error)
    call MPI_Ireduce_scatter_block(in, got(:, 8), n, element, MPI_SUM, comm, requests(8), error)
    call MPI_Iscan(in, got(:, 9), n, element, MPI_SUM, comm, requests(9), error)
    call MPI_Iexscan(in, got(:, 10), n, element, MPI_SUM, comm, requests(10), error)
    call MPI_Iallgatherv(in, counts(me + 1), element, got(:, 11), counts, places, element, comm, requests(11), error)
    call MPI_Ireduce_scatter(in, got(:, 12), counts, element, MPI_SUM, comm, requests(12), error)
    call MPI_Waitall(calls, requests, MPI_STATUSES_IGNORE, error)
    do i = 1, calls
      call note(trim(names(i)), got(:, i))
    end do
  end subroutine

  ! Maps x -> factor x + shift, composed: the order of operands matters.
#if defined(USE_MPI_F08)
  subroutine compose(left, right, n, type)
    type(c_ptr), value :: left, right
    integer :: n
    type(MPI_Datatype) :: type
    real(real_kind), pointer :: first(:, :), second(:, :)
    call c_f_pointer(left, first, [2, n])
    call c_f_pointer(right, second, [2, n])
#else
  subroutine compose(first, second, n, type)
    integer :: n, type
    real(real_kind) :: first(2, n), second(2, n)
#endif
    second(2, :) = first(1, :) * second(2, :) + first(2, :)
    second(1, :) = first(1, :) * second(1, :)
  end subroutine

#if defined(USE_MPI_F08)
  subroutine larger(left, right, n, type)
    type(c_ptr), value :: left, right
    integer :: n
    type(MPI_Datatype) :: type
    integer, pointer :: first(:), second(:)
    call c_f_pointer(left, first, [n])
    call c_f_pointer(right, second, [n])
#else
  subroutine larger(first, second, n, type)
    integer :: n, type
    integer :: first(n), second(n)
#endif
    second = max(first, second)
  end subroutine

  subroutine own_operations(comm, n)
    HANDLE(MPI_Comm), intent(in) :: comm
    integer, intent(in) :: n
    HANDLE(MPI_Op) :: op
    HANDLE(MPI_Datatype) :: map
    real(real_kind), allocatable :: mine(:, :), got(:, :)
    integer, allocatable :: numbers(:)
    integer :: i
    allocate (mine(2, n), got(2, n), numbers(n))
    call MPI_Type_contiguous(2, MPI_DOUBLE_PRECISION, map, error)
    call MPI_Type_commit(map, error)
    call MPI_Op_create(compose, .false., op, error)
    mine(1, :) = 1 - 2 * mod(rank, 2)
    mine(2, :) = [(rank + i, i = 1, n)]
    got = -1
    call MPI_Allreduce(mine, got, n, map, op, comm, error)
    call note('own operation in order', reshape(got, [2 * n]))
    call MPI_Scan(mine, got, n, map, op, comm, error)
    call note('scan of own operation', reshape(got, [2 * n]))
    call MPI_Op_free(op, error)
    call MPI_Type_free(map, error)

    call MPI_Op_create(larger, .true., op, error)
    numbers = [(mod(rank * 5 + i, 17), i = 1, n)]
    call MPI_Allreduce(MPI_IN_PLACE, numbers, n, MPI_INTEGER, op, comm, error)
    call note('own operation', real(numbers, real_kind))
    call MPI_Op_free(op, error)
  end subroutine

  ! What only Fortran has, and sections of arrays.
  subroutine types(comm, n)
    HANDLE(MPI_Comm), intent(in) :: comm
    integer, intent(in) :: n
    HANDLE(MPI_Datatype) :: everywhere
    integer(MPI_ADDRESS_KIND) :: addresses(1)
    integer :: lengths(1), i
    integer, allocatable :: pairs(:, :), sums(:)
    real, allocatable :: singles(:)
    complex(real_kind), allocatable :: complexes(:)
    logical, allocatable :: flags(:)
    real(real_kind), allocatable :: wide(:)
    character(8) :: text
    allocate (pairs(2, n), sums(n), singles(n), complexes(n), flags(n), wide(2 * n))

    sums = [(rank + i, i = 1, n)]
    call MPI_Allreduce(MPI_IN_PLACE, sums, n, MPI_INTEGER, MPI_SUM, comm, error)
    call note('integers', real(sums, real_kind))
    sums = [(rank + i, i = 1, n)]
    call MPI_Allreduce(MPI_IN_PLACE, sums, n, MPI_INTEGER, MPI_BXOR, comm, error)
    call note('bits', real(sums, real_kind))
    singles = [(rank * 2 + i, i = 1, n)]
    call MPI_Allreduce(MPI_IN_PLACE, singles, n, MPI_REAL, MPI_SUM, comm, error)
    call note('reals', real(singles, real_kind))
    complexes = [(cmplx(rank, i, real_kind), i = 1, n)]
    call MPI_Allreduce(MPI_IN_PLACE, complexes, n, MPI_DOUBLE_COMPLEX, MPI_SUM, comm, error)
    call note('complex', real(complexes, real_kind) + 3 * aimag(complexes))
    flags = [(mod(i, 3) == 0 .or. rank > 0, i = 1, n)]
    call MPI_Allreduce(MPI_IN_PLACE, flags, n, MPI_LOGICAL, MPI_LAND, comm, error)
    call note('logical', merge(1d0, 0d0, flags))
    pairs(1, :) = [(mod(rank * 3 + i, 5), i = 1, n)]
    pairs(2, :) = rank
    call MPI_Allreduce(MPI_IN_PLACE, pairs, n, MPI_2INTEGER, MPI_MAXLOC, comm, error)
    call note('maxloc', real(reshape(pairs, [2 * n]), real_kind))

    text = 'from ...'
    if (rank == 1) text = 'from one'
    call MPI_Bcast(text, 8, MPI_CHARACTER, 1, comm, error)
    write (output, '(2a)') 'text ', text

    call fill(wide)
    call MPI_Bcast(wide(1:2 * n:2), n, MPI_DOUBLE_PRECISION, 0, comm, error)
    call note('section', wide)

    call fill(absolute)
    call MPI_Get_address(absolute, addresses(1), error)
    lengths = size(absolute)
    call MPI_Type_create_hindexed(1, lengths, addresses, MPI_DOUBLE_PRECISION, everywhere, error)
    call MPI_Type_commit(everywhere, error)
    call MPI_Bcast(MPI_BOTTOM, 1, everywhere, 1, comm, error)
    call note('bottom', absolute)
    call MPI_Type_free(everywhere, error)
  end subroutine

  subroutine wrong_arguments(comm)
    HANDLE(MPI_Comm), intent(in) :: comm
    real(real_kind) :: value(1)
    integer :: class, ignored
    call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN, error)
    value = 0
    call MPI_Bcast(value, 1, MPI_DOUBLE_PRECISION, n_ranks + 3, comm, error)
    call MPI_Error_class(error, class, ignored)
    call check(class == MPI_ERR_ROOT, 'a root that does not exist is an error')
    call MPI_Bcast(value, -1, MPI_DOUBLE_PRECISION, 0, comm, error)
    call MPI_Error_class(error, class, ignored)
    call check(class == MPI_ERR_COUNT, 'a negative count is an error')
  end subroutine

end module

! Along the edges of a closed ring.
module edges
  use exercises
  implicit none

contains

  subroutine neighbors(ring, n)
    HANDLE(MPI_Comm), intent(in) :: ring
    integer, intent(in) :: n
    real(real_kind) :: mine(n), both(2 * n), got(2 * n)
    call fill(mine)
    call fill(both)
    got = -1
    call MPI_Neighbor_allgather(mine, n, MPI_DOUBLE_PRECISION, got, n, MPI_DOUBLE_PRECISION, ring, error)
    call note('neighbor_allgather', got)
    got = -1
    call MPI_Neighbor_alltoall(both, n, MPI_DOUBLE_PRECISION, got, n, MPI_DOUBLE_PRECISION, ring, error)
    call note('neighbor_alltoall', got)
  end subroutine

end module

program main
  use exercises
  use edges
  implicit none
  integer, parameter :: lengths(3) = [10, 200, 3000]
  HANDLE(MPI_Comm) :: reversed, half, ring
  character(512) :: folder
  character(16) :: name
  real(real_kind) :: total(1)
  integer :: i, root
#if defined(USE_MPI_F08)
  call MPI_Init()
#else
  call MPI_Init(error)
#endif
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, n_ranks, error)
  call get_command_argument(1, folder)
  write (name, '(i0)') rank
  open (newunit=output, file=trim(folder)//'/'//trim(name), status='replace', action='write')

  total = rank + 1
#if defined(USE_MPI_F08)
  call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
#else
  call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
#endif
  call check(nint(total(1)) == n_ranks * (n_ranks + 1) / 2, 'the sum of all ranks')

  call MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, reversed, error)
  call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, half, error)
  call MPI_Cart_create(reversed, 1, [n_ranks], [.true.], .false., ring, error)
  do i = 1, size(lengths)
    call neighbors(ring, lengths(i))
    do root = 0, n_ranks - 1, n_ranks - 1  ! the first and the last
      call movements(MPI_COMM_WORLD, lengths(i), root)
      call uneven(MPI_COMM_WORLD, lengths(i), root)
      call reductions(MPI_COMM_WORLD, lengths(i), root)
      call nonblocking(MPI_COMM_WORLD, lengths(i), root)
    end do
    call nonblocking(reversed, lengths(i), 0)
    call movements(reversed, lengths(i), 0)
    call uneven(reversed, lengths(i), 1)
    call reductions(reversed, lengths(i), 1)
    call movements(half, lengths(i), 0)
    call reductions(half, lengths(i), 0)
    call own_operations(MPI_COMM_WORLD, lengths(i))
    call own_operations(reversed, lengths(i))
    call types(MPI_COMM_WORLD, lengths(i))
  end do
  call wrong_arguments(reversed)
  call MPI_Comm_free(ring, error)
  call MPI_Comm_free(half, error)
  call MPI_Comm_free(reversed, error)
  close (output)
  if (rank == 0) print '(a)', 'right'
  flush (6)
#if defined(USE_MPI_F08)
  call MPI_Finalize()
#else
  call MPI_Finalize(error)
#endif
end program
