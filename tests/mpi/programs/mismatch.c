/* The program's mistake, under MPI_ERRORS_RETURN: a rank takes fewer bytes than the root gives. It and its later calls get
 * an error; what it had still posted keeps nobody from freeing the communicator and ending. */
#include "check.h"

int main(int argc, char** argv) {
  static char data[5000];
  MPI_Comm comm;
  int sum;
  begin(&argc, &argv);
  /* Of the world and self too: MPICH tells them of what it finds while it waits. */
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  for (int i = 0; i < 5; ++i) CHECK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
  /* The sizes lie in different rows of the plan: one message meets the first of four receives. */
  const int code = MPI_Bcast(data, rank == 0 ? 5000 : 4000, MPI_CHAR, 0, comm);
  if (rank == 0) {
    CHECK(code == MPI_SUCCESS);
  } else {
    CHECK(code != MPI_SUCCESS);
    CHECK(MPI_Bcast(data, 100, MPI_CHAR, 0, comm) != MPI_SUCCESS);
  }
  MPI_Comm_free(&comm);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(sum == n_ranks * (n_ranks - 1) / 2);
  return end();
}
