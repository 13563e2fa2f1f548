/* Short collectives one after the other, as a loop of a program has them: what a call takes.
 *
 * loop CALLS BYTES[,BYTES...] OUT
 *
 * One line of OUT for each operation and length: operation, bytes, seconds of a call on rank 0. Bytes are those of the whole
 * message: an allgather or all-to-all has a block of BYTES / ranks. Results of the last call are checked. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kOps = 4, kMostBytes = 1 << 20 };
static const char* const kNames[kOps] = {"barrier", "allreduce", "allgather", "alltoall"};
static char in[kMostBytes], out[kMostBytes];

static void call(int op, int bytes, int n) {
  const int block = bytes / n > 0 ? bytes / n : 1;
  if (op == 0) MPI_Barrier(MPI_COMM_WORLD);
  if (op == 1) MPI_Allreduce(in, out, bytes, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
  if (op == 2) MPI_Allgather(in, block, MPI_BYTE, out, block, MPI_BYTE, MPI_COMM_WORLD);
  if (op == 3) MPI_Alltoall(in, block, MPI_BYTE, out, block, MPI_BYTE, MPI_COMM_WORLD);
}

static int is_right(int op, int bytes, int n) {
  const int block = bytes / n > 0 ? bytes / n : 1;
  int any = 0;
  for (int r = 0; r < n; ++r) any |= r + 1;
  for (int i = 0; op > 0 && i < (op == 1 ? bytes : block * n); ++i) {
    if (out[i] != (char)(op == 1 ? any : i / block + 1)) return 0;
  }
  return 1;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, n = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  if (argc != 4) MPI_Abort(MPI_COMM_WORLD, 2);
  const int calls = atoi(argv[1]);
  memset(in, rank + 1, sizeof in);
  FILE* file = rank == 0 ? fopen(argv[3], "w") : NULL;
  for (char* next = strtok(argv[2], ","); next != NULL; next = strtok(NULL, ",")) {
    for (int op = 0; op < kOps; ++op) {
      const int bytes = atoi(next);
      if (bytes < 1 || bytes > kMostBytes || n > kMostBytes) MPI_Abort(MPI_COMM_WORLD, 2);
      for (int i = 0; i < calls / 4; ++i) call(op, bytes, n); /* connections stand, ECO is armed */
      memset(out, 0, sizeof out);
      const double began = MPI_Wtime();
      for (int i = 0; i < calls; ++i) call(op, bytes, n);
      const double took = (MPI_Wtime() - began) / calls;
      if (!is_right(op, bytes, n)) {
        fprintf(stderr, "rank %d: a wrong %s of %d bytes\n", rank, kNames[op], bytes);
        MPI_Abort(MPI_COMM_WORLD, 9);
      }
      if (file != NULL) fprintf(file, "%s %d %.9f\n", kNames[op], bytes, took);
    }
  }
  if (file != NULL) fclose(file);
  return MPI_Finalize();
}
