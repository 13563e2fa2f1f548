/* Hazard 9: one rank comes late; the others wait as long as it takes (argument: seconds). */
#include <unistd.h>

#include "check.h"

int main(int argc, char** argv) {
  int data = 0, sum;
  begin(&argc, &argv);
  CHECK(argc == 2);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == n_ranks - 1) {
    unsigned left = (unsigned)atoi(argv[1]);
    while (left > 0) left = sleep(left); /* a signal ends a sleep early */
    data = 42;
  }
  MPI_Bcast(&data, 1, MPI_INT, n_ranks - 1, MPI_COMM_WORLD);
  CHECK(data == 42);
  return end();
}
