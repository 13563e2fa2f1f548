/* Nanoseconds of one small collective call: the least of many batches, on rank 0. With one rank the library has next to
 * nothing to do, so what ECO adds to a call that passes shows undiluted; with two it is seen beside a real call. */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

static double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char** argv) {
  enum { kBatches = 60, kCalls = 2000 };
  double in = 1, out, least[3] = {1e9, 1e9, 1e9};
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int batch = 0; batch < kBatches; ++batch) {
    for (int what = 0; what < 3; ++what) {
      PMPI_Barrier(MPI_COMM_WORLD); /* or a slower rank's last batch is paid for in this one */
      const double began = now_s();
      for (int call = 0; call < kCalls; ++call) {
        if (what == 0) MPI_Bcast(&in, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        if (what == 1) MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        if (what == 2) MPI_Barrier(MPI_COMM_WORLD);
      }
      PMPI_Barrier(MPI_COMM_WORLD); /* a root is done with its broadcasts before the others are */
      const double each = (now_s() - began) / kCalls;
      if (each < least[what]) least[what] = each;
    }
  }
  if (rank == 0) printf("%.1f %.1f %.1f\n", 1e9 * least[0], 1e9 * least[1], 1e9 * least[2]);
  MPI_Finalize();
  return 0;
}
