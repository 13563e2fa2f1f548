! either_binding.c from Fortran: the two agree call by call. Compiled as fortran.F90.
program main
#include "binding.inc"
  integer :: rank, n_ranks, turn, total, error, ignored
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, n_ranks, error)
  do turn = 0, 9
    call MPI_Allreduce(rank + turn, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    if (total /= n_ranks * (n_ranks - 1) / 2 + n_ranks * turn) call MPI_Abort(MPI_COMM_WORLD, 9, ignored)
  end do
  if (rank == 0) print '(a)', 'right'
  flush (6)
  call MPI_Finalize(error)
end program
