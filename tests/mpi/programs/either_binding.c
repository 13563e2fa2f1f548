/* One collective after another; initialised in C or, with -DFORTRAN, as a Fortran compiler spells it. */
#include "check.h"

#ifdef FORTRAN
void mpi_init_(int* error);
void mpi_finalize_(int* error);
#endif

int main(int argc, char** argv) {
  int error = 0;
#ifdef FORTRAN
  (void)argc;
  (void)argv;
  mpi_init_(&error);
#else
  error = MPI_Init(&argc, &argv);
#endif
  CHECK(error == 0);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
  for (int turn = 0; turn < 10; ++turn) {
    int data = rank + turn, sum = 0;
    MPI_Allreduce(&data, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == n_ranks * (n_ranks - 1) / 2 + n_ranks * turn);
  }
  if (rank == 0) printf("right\n");
  fflush(stdout);
#ifdef FORTRAN
  mpi_finalize_(&error);
#else
  error = MPI_Finalize();
#endif
  return error;
}
