/* Small collectives, call by call: seconds of the slowest rank.
 *
 * small CALLS OUT SIZE...
 *
 * One line of OUT for each operation and size: operation, bytes, then the seconds of every call, each of them after a
 * barrier. Results are checked. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kUntimed = 10, kMost = 1 << 20 };

static int buffer[kMost], sum[kMost];

static void fail(const char* what) {
  fprintf(stderr, "%s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 9);
}

static double one_call(int is_broadcast, int count, int rank, int n) {
  for (int i = 0; i < count; ++i) buffer[i] = is_broadcast && rank != 0 ? 0 : i + 1;
  MPI_Barrier(MPI_COMM_WORLD);
  const double began = MPI_Wtime();
  if (is_broadcast)
    MPI_Bcast(buffer, count, MPI_INT, 0, MPI_COMM_WORLD);
  else
    MPI_Allreduce(buffer, sum, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  const double seconds = MPI_Wtime() - began;
  for (int i = 0; i < count; ++i) {
    if (is_broadcast ? buffer[i] != i + 1 : sum[i] != n * (i + 1)) fail("a wrong result");
  }
  return seconds;
}

int main(int argc, char** argv) {
  int rank, n;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  if (argc < 4) fail("small CALLS OUT SIZE...");
  const int calls = atoi(argv[1]);
  FILE* out = rank == 0 ? fopen(argv[2], "w") : NULL;
  double* const mine = malloc((size_t)calls * sizeof *mine);
  double* const slowest = malloc((size_t)calls * sizeof *slowest);
  if (mine == NULL || slowest == NULL || (rank == 0 && out == NULL)) fail("no memory, or no file");
  for (int is_broadcast = 0; is_broadcast < 2; ++is_broadcast) {
    for (int a = 3; a < argc; ++a) {
      const int count = atoi(argv[a]) / (int)sizeof(int);
      if (count < 1 || count > kMost) fail("a size is out of range");
      for (int i = -kUntimed; i < calls; ++i) {
        const double seconds = one_call(is_broadcast, count, rank, n);
        if (i >= 0) mine[i] = seconds;
      }
      MPI_Reduce(mine, slowest, calls, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
      if (rank != 0) continue;
      fprintf(out, "%s %s", is_broadcast ? "broadcast" : "allreduce", argv[a]);
      for (int i = 0; i < calls; ++i) fprintf(out, " %.9f", slowest[i]);
      fprintf(out, "\n");
    }
  }
  if (out != NULL && fclose(out) != 0) fail("the file could not be written");
  free(mine);
  free(slowest);
  MPI_Finalize();
  return 0;
}
