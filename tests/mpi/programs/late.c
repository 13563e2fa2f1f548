/* Hazard 9: one rank comes late; the others wait as long as it takes (argument: seconds). With -DIBCAST to a call that they
 * hold a request for. */
#include <unistd.h>

#include "check.h"

static void broadcast(int* data) {
#if defined(IBCAST)
  MPI_Request request;
  MPI_Ibcast(data, 1, MPI_INT, n_ranks - 1, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
#else
  MPI_Bcast(data, 1, MPI_INT, n_ranks - 1, MPI_COMM_WORLD);
#endif
}

int main(int argc, char** argv) {
  int data = 0, sum;
  begin(&argc, &argv);
  CHECK(argc == 2);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Bcast(&sum, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (rank == n_ranks - 1) {
    unsigned left = (unsigned)atoi(argv[1]);
    while (left > 0) left = sleep(left); /* a signal ends a sleep early */
    data = 42;
  }
  broadcast(&data);
  CHECK(data == 42);
  return end();
}
