! Every collective call that a binding has, in every form: what all ranks got, and how often ECO served it.
!
!   calls FOLDER [ONCE]    each rank writes to FOLDER/<rank> what it got, so that runs with and without ECO can be compared;
!                          persistent calls whose name begins with ONCE are started once, for libraries that fail in a second
!
! Compiled with -DMPIF_H, -DUSE_MPI or -DUSE_MPI_F08. calls.inc is written by test_fortran.py from what the library exports,
! one line per call: BLOCKING(MPI_Bcast, 'MPI_Bcast', ARGUMENTS_Bcast(small)). A call that is in there and has no ARGUMENTS_
! below does not compile. One line per call on rank 0: name in C, tries, how many of them ECO served ("MPI_Bcast 12 12").

! The numbers of one call, of either kind: n where all blocks are alike; else one of each rank (counts), of each pair of ranks
! (pairs), of the neighbours below and above (near), and of the pairs that a rank makes with them (beside).
#define NUMBERS(name, count, place) \
  type name; \
    count :: n, mine, counts(most_ranks), pairs(most_ranks), near(2), beside(2); \
    place :: places(most_ranks), places_bytes(most_ranks), apart(2); \
  end type

#define ARGUMENTS_Barrier(k) world
#define ARGUMENTS_Bcast(k) out, k%n, element, root, world
#define ARGUMENTS_Gather(k) in, k%n, element, out, k%n, element, root, world
#define ARGUMENTS_Gatherv(k) in, k%mine, element, out, k%counts, k%places, element, root, world
#define ARGUMENTS_Scatter(k) in, k%n, element, out, k%n, element, root, world
#define ARGUMENTS_Scatterv(k) in, k%counts, k%places, element, out, k%mine, element, root, world
#define ARGUMENTS_Allgather(k) in, k%n, element, out, k%n, element, world
#define ARGUMENTS_Allgatherv(k) in, k%mine, element, out, k%counts, k%places, element, world
#define ARGUMENTS_Alltoall(k) in, k%n, element, out, k%n, element, world
#define ARGUMENTS_Alltoallv(k) in, k%pairs, k%places, element, out, k%pairs, k%places, element, world
#define ARGUMENTS_Alltoallw(k) in, k%pairs, k%places_bytes, elements, out, k%pairs, k%places_bytes, elements, world
#define ARGUMENTS_Reduce(k) in, out, k%n, element, MPI_SUM, root, world
#define ARGUMENTS_Allreduce(k) in, out, k%n, element, MPI_SUM, world
#define ARGUMENTS_Reduce_scatter(k) in, out, k%counts, element, MPI_SUM, world
#define ARGUMENTS_Reduce_scatter_block(k) in, out, k%n, element, MPI_SUM, world
#define ARGUMENTS_Scan(k) in, out, k%n, element, MPI_SUM, world
#define ARGUMENTS_Exscan(k) in, out, k%n, element, MPI_SUM, world
#define ARGUMENTS_Neighbor_allgather(k) in, k%n, element, out, k%n, element, ring
#define ARGUMENTS_Neighbor_allgatherv(k) in, k%mine, element, out, k%near, k%apart, element, ring
#define ARGUMENTS_Neighbor_alltoall(k) in, k%n, element, out, k%n, element, ring
#define ARGUMENTS_Neighbor_alltoallv(k) in, k%beside, k%apart, element, out, k%beside, k%apart, element, ring
#define ARGUMENTS_Neighbor_alltoallw(k) in, k%beside, apart_bytes, elements, out, k%beside, apart_bytes, elements, ring

#define BLOCKING(call_of, name, arguments) \
    do turn = 1, turns(); call prepare(turn); \
      call call_of(arguments, error); call count_served(); \
      call note_result(name); end do; call tell(name)
#define NONBLOCKING(call_of, name, arguments) \
    do turn = 1, turns(); call prepare(turn); \
      call call_of(arguments, request, error); call count_served(); call MPI_Wait(request, MPI_STATUS_IGNORE, error); \
      call note_result(name); end do; call tell(name)
! Started twice, the second time on other values.
#define PERSISTENT(call_of, name, arguments) \
    do turn = 1, turns(); call prepare(turn); \
      call call_of(arguments, MPI_INFO_NULL, request, error); \
      do again = 1, merge(1, 2, index(name, trim(once)) == 1); \
        call MPI_Start(request, error); call count_served(); call MPI_Wait(request, MPI_STATUS_IGNORE, error); \
        call note_result(name); in = in + 1; end do; \
      call MPI_Request_free(request, error); end do; call tell(name)

module every_call
  use, intrinsic :: iso_c_binding
#include "binding.inc"
  integer, parameter :: real_kind = kind(1d0), most_ranks = 16, apart_by = 2
  integer, parameter :: lengths(4) = [1, 17, 300, 2001]
  integer, parameter :: room = most_ranks * (maxval(lengths) + 1 + apart_by)
  NUMBERS(small_numbers, integer, integer)
  NUMBERS(large_numbers, integer(MPI_COUNT_KIND), integer(MPI_ADDRESS_KIND))
  type(small_numbers), asynchronous :: small
  type(large_numbers), asynchronous :: large
  integer(MPI_ADDRESS_KIND), asynchronous :: apart_bytes(2)
  real(real_kind), asynchronous :: in(room), out(room)
  HANDLE(MPI_Comm) :: world, ring
  HANDLE(MPI_Datatype) :: element
  HANDLE(MPI_Datatype), asynchronous :: elements(most_ranks)
  integer :: rank, n_ranks, output, error, root, tries, n_served
  character(64) :: once

  abstract interface
    function name_of_algorithm() bind(c)
      import :: c_ptr
      type(c_ptr) :: name_of_algorithm
    end function
  end interface
  interface
    function dlsym(library, name) bind(c)
      import :: c_ptr, c_funptr, c_char
      type(c_ptr), value :: library
      character(kind=c_char), intent(in) :: name(*)
      type(c_funptr) :: dlsym
    end function
    function strcmp(one, other) bind(c)
      import :: c_ptr, c_int, c_char
      integer(c_int) :: strcmp
      type(c_ptr), value :: one
      character(kind=c_char), intent(in) :: other(*)
    end function
  end interface
  procedure(name_of_algorithm), pointer, save :: last_algorithm => null()

contains

#include "check.inc"
#include "results.inc"

  ! Each length from each root.
  integer function turns()
    turns = size(lengths) * n_ranks
  end function

  ! Around a ring.
  function neighbors()
    integer :: neighbors(2)
    neighbors = [modulo(rank - 1, n_ranks), mod(rank + 1, n_ranks)]
  end function

  subroutine prepare(turn)
    integer, intent(in) :: turn
    integer :: i, n, others(2)
    n = lengths(1 + (turn - 1) / n_ranks)
    root = mod(turn - 1, n_ranks)
    others = neighbors()
    small%n = n
    small%mine = n + mod(rank, 2)
    small%counts = [(n + mod(i, 2), i = 0, most_ranks - 1)]
    small%pairs = [(n + mod(rank + i, 2), i = 0, most_ranks - 1)]
    small%near = n + mod(others, 2)
    small%beside = n + mod(rank + others, 2)
    small%places = [(i * (n + 1 + apart_by), i = 0, most_ranks - 1)]
    small%places_bytes = small%places * 8
    small%apart = small%places(1:2)
    apart_bytes = small%places_bytes(1:2)
    large = large_numbers(small%n, small%mine, small%counts, small%pairs, small%near, small%beside, &
      small%places, small%places_bytes, small%apart)
    call fill(in)
    call fill(out)
    out = -out
  end subroutine

  subroutine count_served()
    tries = tries + 1
    if (.not. associated(last_algorithm)) return
    if (strcmp(last_algorithm(), 'native'//c_null_char) /= 0) n_served = n_served + 1
  end subroutine

  subroutine note_result(name)
    character(*), intent(in) :: name
    if (rank == 0 .and. index(name, 'xscan') > 0) return  ! left open
    call note(name, out)
  end subroutine

  subroutine tell(name)
    character(*), intent(in) :: name
    if (rank == 0) print '(a,1x,i0,1x,i0)', name, tries, n_served
    tries = 0
    n_served = 0
  end subroutine

  subroutine make_every_call()
    HANDLE(MPI_Request) :: request
    integer :: turn, again
#include "calls.inc"
  end subroutine

end module

program main
  use every_call
  implicit none
  character(512) :: folder
  character(16) :: name
  type(c_funptr) :: asked
  integer :: others(2)
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, n_ranks, error)
  call check(n_ranks <= most_ranks, 'there is room for all ranks')
  call get_command_argument(1, folder)
  once = '-'
  if (command_argument_count() > 1) call get_command_argument(2, once)
  write (name, '(i0)') rank
  open (newunit=output, file=trim(folder)//'/'//trim(name), status='replace', action='write')
  asked = dlsym(c_null_ptr, 'eco_last_algorithm'//c_null_char)
  if (c_associated(asked)) call c_f_procpointer(asked, last_algorithm)

  world = MPI_COMM_WORLD
  element = MPI_DOUBLE_PRECISION
  elements = element
  ! A graph: of grids mpi_f08 of MPICH 4.0 has no alltoallw.
  others = neighbors()
  call MPI_Dist_graph_create_adjacent(world, 2, others, MPI_UNWEIGHTED, 2, others, MPI_UNWEIGHTED, MPI_INFO_NULL, .false., &
    ring, error)
  ! A barrier arms nothing where no nonblocking call was before it.
  call fill(in)
  call MPI_Allreduce(in, out, 1, element, MPI_SUM, world, error)
  call MPI_Allreduce(in, out, 1, element, MPI_SUM, ring, error)
  call count_served()
  tries = 0
  n_served = 0
  call make_every_call()
  call MPI_Comm_free(ring, error)
  close (output)
  if (rank == 0) print '(a)', 'right'
  flush (6)
  call MPI_Finalize(error)
end program
