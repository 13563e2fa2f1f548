/* Hazard 9: one rank comes late; the others wait as long as it takes (arguments: seconds, and a file that each rank makes
 * before it waits, or nothing). With -DIBCAST to a call that they hold a request for. */
#include <stdio.h>
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
  CHECK(argc == 2 || argc == 3);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Bcast(&sum, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (argc == 3) fclose(fopen(argv[2], "w"));
  if (rank == n_ranks - 1) {
    unsigned left = (unsigned)atoi(argv[1]);
    while (left > 0) left = sleep(left); /* a signal ends a sleep early */
    data = 42;
  }
  broadcast(&data);
  CHECK(data == 42);
  return end();
}
