/* What a short broadcast takes, one after the other.
 *
 *   small BYTES CALLS FILE
 *
 * The two ends of the group are the root in turn, so that no rank is ahead of the others. Rank 0 writes the seconds
 * a call took the slowest rank. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UNTIMED = 64 };

int main(int argc, char** argv) {
  int rank, n;
  double began_s = 0, took_s, slowest_s;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  if (argc != 4) {
    fprintf(stderr, "usage: small BYTES CALLS FILE\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const int bytes = atoi(argv[1]), calls = atoi(argv[2]);
  unsigned char* data = calloc((size_t)bytes, 1);
  if (data == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
  for (int call = 0; call < calls + UNTIMED; ++call) {
    if (call == UNTIMED) {
      MPI_Barrier(MPI_COMM_WORLD);
      began_s = MPI_Wtime();
    }
    const int root = call % 2 == 0 ? 0 : n - 1;
    if (rank == root) memset(data, call, (size_t)bytes);
    MPI_Bcast(data, bytes, MPI_BYTE, root, MPI_COMM_WORLD);
    if (data[bytes - 1] != (unsigned char)call) MPI_Abort(MPI_COMM_WORLD, 9);
  }
  took_s = (MPI_Wtime() - began_s) / calls;
  MPI_Reduce(&took_s, &slowest_s, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    FILE* out = fopen(argv[3], "w");
    if (out == NULL) MPI_Abort(MPI_COMM_WORLD, 4);
    fprintf(out, "{\"call_s\": %.12f}\n", slowest_s);
    fclose(out);
  }
  free(data);
  MPI_Finalize();
  return 0;
}
