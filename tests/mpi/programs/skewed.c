/* Rank 2 comes late to every allreduce, and the second of each half to the halves' barriers. */
#include <unistd.h>

#include "check.h"

enum { LATE_US = 100000 };

int main(int argc, char** argv) {
  begin(&argc, &argv);
  double sums[125] = {0};
  for (int i = 0; i < 12; ++i) {
    if (rank == 2) usleep(LATE_US);
    MPI_Allreduce(MPI_IN_PLACE, sums, 125, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  for (int i = 0; i < 6; ++i) {
    if (rank >= 2) usleep(LATE_US);
    MPI_Barrier(half);
  }
  MPI_Comm_free(&half);
  return end();
}
