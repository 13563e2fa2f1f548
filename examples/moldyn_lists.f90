! Molecular dynamics with replicated data, communicating as CHARMM did: that of moldyn.c, with the same numbers.
!
!   make -C examples moldyn_lists MPIFC=mpif90.openmpi && mpirun.openmpi -n 8 examples/moldyn_lists
!   mpirun.openmpi -n 8 examples/moldyn_lists 6 40            (cells along an edge, steps)
!
! Every rank holds all coordinates and integrates its own block of atoms. A step gathers the blocks to all
! (MPI_Allgather), computes the forces of this rank's pairs, and sums forces and energies up for all (MPI_Allreduce).
! Rank 0 finds the pairs, and broadcasts the lists (MPI_Bcast) whenever atoms have moved too far for them; each rank then
! takes rows with its share of the pairs.
!
! What it prints is the same on any number of ranks but for the last digits: forces are added in another order.
module particles
  use, intrinsic :: iso_fortran_env, only: real64, int64
  implicit none
  ! Reduced units. The force is shifted, so that it ends in nothing where it is cut off and energy is conserved.
  real(real64), parameter :: density = 0.8442_real64, temperature = 1.2_real64, cutoff = 2.5_real64
  real(real64), parameter :: skin = 0.4_real64, time_step = 0.004_real64
  real(real64), parameter :: most_change = 1.0e-3_real64  ! of the energy of an atom
  integer :: n                                            ! atoms
  real(real64) :: box                                     ! its edge

contains

  ! Lehmer's generator: the same numbers in any language.
  real(real64) function uniform(state)
    integer(int64), intent(inout) :: state
    state = mod(state * 16807_int64, 2147483647_int64)
    uniform = real(state, real64) / 2147483647.0_real64
  end function uniform

  subroutine lattice(x, cells)
    real(real64), intent(out) :: x(3, *)
    integer, intent(in) :: cells
    real(real64), parameter :: corner(3, 4) = reshape([0.0_real64, 0.0_real64, 0.0_real64, &
        0.5_real64, 0.5_real64, 0.0_real64, 0.5_real64, 0.0_real64, 0.5_real64, &
        0.0_real64, 0.5_real64, 0.5_real64], [3, 4])
    integer :: c, k
    do c = 0, cells**3 - 1
      do k = 1, 4
        x(:, 4 * c + k) = ([c / cells / cells, mod(c / cells, cells), mod(c, cells)] + corner(:, k)) * box / cells
      end do
    end do
  end subroutine lattice

  subroutine velocities(v)
    real(real64), intent(out) :: v(3, *)
    real(real64) :: mean(3)
    integer(int64) :: state
    integer :: i, d, k
    state = 1996
    do i = 1, n
      do d = 1, 3
        v(d, i) = -6
        do k = 1, 12
          v(d, i) = v(d, i) + uniform(state)
        end do
      end do
    end do
    mean = sum(v(:, 1:n), dim=2) / n
    do i = 1, n
      v(:, i) = v(:, i) - mean
    end do
    v(:, 1:n) = v(:, 1:n) * sqrt(3 * n * temperature / sum(v(:, 1:n)**2))
  end subroutine velocities

  function between(x, i, j) result(apart)
    real(real64), intent(in) :: x(3, *)
    integer, intent(in) :: i, j
    real(real64) :: apart(3)
    apart = x(:, i) - x(:, j)
    apart = apart - box * anint(apart / box)
  end function between

  ! Finds all pairs: the partners of atom i are partner(start(i)) to partner(start(i + 1) - 1). Of every pair one of the
  ! two has the other: the half of all atoms that follow it.
  subroutine list(x, start, partner)
    real(real64), intent(in) :: x(3, *)
    integer, intent(out) :: start(:), partner(:)
    integer :: i, j, step, n_pairs
    n_pairs = 0
    do i = 1, n
      start(i) = n_pairs + 1
      do step = 1, n / 2
        j = mod(i - 1 + step, n) + 1
        if (2 * step == n .and. j < i) cycle
        if (sum(between(x, i, j)**2) >= (cutoff + skin)**2) cycle
        n_pairs = n_pairs + 1
        partner(n_pairs) = j
      end do
    end do
    start(n + 1) = n_pairs + 1
  end subroutine list

  ! All ranks hold the same coordinates, so all decide alike.
  logical function is_outdated(x, listed_x)
    real(real64), intent(in) :: x(:, :), listed_x(:, :)
    is_outdated = maxval(sum((x(:, 1:n) - listed_x)**2, dim=1)) > (skin / 2)**2
  end function is_outdated

  ! The forces of the rows first to last, and their energy.
  subroutine forces(x, start, partner, first, last, f, energy)
    real(real64), intent(in) :: x(3, *)
    integer, intent(in) :: start(:), partner(:), first, last
    real(real64), intent(out) :: f(:, :), energy
    real(real64) :: apart(3), square, r, r6, slope, height, pull
    integer :: i, j, k
    r6 = cutoff**(-6)
    slope = 24 * r6 * (2 * r6 - 1) / cutoff
    height = 4 * r6 * (r6 - 1)
    f = 0
    energy = 0
    do i = first, last
      do k = start(i), start(i + 1) - 1
        j = partner(k)
        apart = between(x, i, j)
        square = sum(apart**2)
        if (square >= cutoff**2) cycle
        r = sqrt(square)
        r6 = 1 / square**3
        pull = (24 * r6 * (2 * r6 - 1) / r - slope) / r
        energy = energy + 4 * r6 * (r6 - 1) - height + slope * (r - cutoff)
        f(:, i) = f(:, i) + pull * apart
        f(:, j) = f(:, j) - pull * apart
      end do
    end do
  end subroutine forces

  ! The first row whose pairs begin at or after this share of all, so that ranks have as many pairs each.
  integer function row_of_share(start, part, parts)
    integer, intent(in) :: start(:), part, parts
    integer(int64) :: wanted
    wanted = int(start(n + 1) - 1, int64) * part / parts
    row_of_share = count(start(1:n) - 1 < wanted) + 1
  end function row_of_share

end module particles

program moldyn_lists
  use mpi
  use particles
  implicit none
  real(real64), allocatable :: x(:, :), v(:, :), f(:, :), first_x(:, :), listed_x(:, :)
  real(real64) :: energies(2), first_energy, energy, change, mean_square, start_s, whole_s, set_up_s, communicated_s
  integer, allocatable :: start(:), partner(:)
  integer :: rank, n_ranks, ierror, cells, steps, block, begin, end, step, first, last

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, n_ranks, ierror)
  cells = argument(1, 6)
  steps = argument(2, 40)
  if (cells < 4 .or. steps < 1) then
    if (rank == 0) print '(a)', 'usage: moldyn_lists [CELLS [STEPS]]; CELLS is 4 or more'
    call MPI_Finalize(ierror)
    stop 2
  end if

  n = 4 * cells**3
  block = (n + n_ranks - 1) / n_ranks
  box = (n / density)**(1.0_real64 / 3)
  allocate(x(3, block * n_ranks), v(3, n), f(3, n), first_x(3, n), listed_x(3, n))
  allocate(start(n + 1), partner(n * (n / 2)))
  x = 0
  communicated_s = 0
  set_up_s = 0
  if (rank == 0) then
    call lattice(x, cells)
    call velocities(v)
  end if
  whole_s = MPI_Wtime()
  start_s = MPI_Wtime()
  call MPI_Bcast(x, 3 * n, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, ierror)
  call MPI_Bcast(v, 3 * n, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, ierror)
  communicated_s = communicated_s + MPI_Wtime() - start_s
  begin = min(rank * block, n) + 1
  end = min((rank + 1) * block, n)
  first_x = x(:, 1:n)
  listed_x = first_x
  first_energy = 0
  change = 0
  ! Step 0 computes what there is, and belongs to setting up; the others move, and their time is taken.
  do step = 0, steps
    if (step > 0) then
      v(:, begin:end) = v(:, begin:end) + 0.5_real64 * time_step * f(:, begin:end)
      x(:, begin:end) = x(:, begin:end) + time_step * v(:, begin:end)
    end if
    start_s = MPI_Wtime()
    call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, x, 3 * block, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierror)
    communicated_s = communicated_s + MPI_Wtime() - start_s
    if (step == 0 .or. is_outdated(x, listed_x)) call find_and_share_lists()
    call forces(x, start, partner, first, last, f, energies(1))
    start_s = MPI_Wtime()
    call MPI_Allreduce(MPI_IN_PLACE, f, 3 * n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierror)
    communicated_s = communicated_s + MPI_Wtime() - start_s
    if (step > 0) v(:, begin:end) = v(:, begin:end) + 0.5_real64 * time_step * f(:, begin:end)
    energies(2) = 0.5_real64 * sum(v(:, begin:end)**2)
    start_s = MPI_Wtime()
    call MPI_Allreduce(MPI_IN_PLACE, energies, 2, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierror)
    communicated_s = communicated_s + MPI_Wtime() - start_s
    energy = sum(energies) / n
    if (step == 0) first_energy = energy
    change = max(change, abs(energy - first_energy))
    if (step == 0) then
      set_up_s = MPI_Wtime() - whole_s
      whole_s = whole_s + set_up_s
      communicated_s = 0
    end if
  end do
  whole_s = MPI_Wtime() - whole_s
  mean_square = sum((x(:, 1:n) - first_x)**2) / n

  call MPI_Allreduce(MPI_IN_PLACE, communicated_s, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierror)
  if (rank == 0) then
    print '(i0, a, i0, a, i0, a, f0.8, a, es7.1, a, f0.8)', n, ' atoms on ', n_ranks, ' ranks, ', steps, &
        ' steps: energy of an atom ', energy, ', changed by at most ', change, '; mean square way ', mean_square
    print '(a, f0.6, a, f0.6, a, f0.6, a)', 'communication ', communicated_s / n_ranks, ' s, of ', whole_s, &
        ' s; set up in ', set_up_s, ' s'
    if (.not. change < most_change) then
      print '(a)', 'moldyn_lists: energy is not conserved'
      call MPI_Abort(MPI_COMM_WORLD, 3, ierror)
    end if
  end if
  call MPI_Finalize(ierror)

contains

  integer function argument(number, default)
    integer, intent(in) :: number, default
    character(len=32) :: text
    integer :: state
    argument = default
    if (command_argument_count() < number) return
    call get_command_argument(number, text)
    read (text, *, iostat=state) argument
    if (state /= 0) argument = -1
  end function argument

  subroutine find_and_share_lists()
    if (rank == 0) call list(x, start, partner)
    start_s = MPI_Wtime()
    call MPI_Bcast(start, n + 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
    call MPI_Bcast(partner, start(n + 1) - 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
    communicated_s = communicated_s + MPI_Wtime() - start_s
    listed_x = x(:, 1:n)
    first = row_of_share(start, rank, n_ranks)
    last = row_of_share(start, rank + 1, n_ranks) - 1
  end subroutine find_and_share_lists

end program moldyn_lists
