/* Broadcasts to which some ranks come late.
 *
 *   late BYTES UNTIMED CALLS FILE [RANK:SECONDS ...]
 *
 * All ranks wait for a common instant of the machine's clock, so they must be on one machine, as in the lab; those that
 * are named wait so much longer and then call. Rank 0 writes when each rank was out of each call, in seconds after the
 * instant. What arrives is checked. The first calls are not written: connections are made, ECO arms and sees who is
 * late. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../instant.h"

int main(int argc, char** argv) {
  int rank, n;
  double late_s = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  if (argc < 5) {
    fprintf(stderr, "usage: late BYTES UNTIMED CALLS FILE [RANK:SECONDS ...]\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const int bytes = atoi(argv[1]), untimed = atoi(argv[2]), calls = atoi(argv[3]);
  for (int i = 5; i < argc; ++i) {
    const char* colon = strchr(argv[i], ':');
    if (colon != NULL && atoi(argv[i]) == rank) late_s = atof(colon + 1);
  }
  unsigned char* data = malloc((size_t)bytes);
  double* ends = malloc(sizeof(double) * (size_t)n);
  if (data == NULL || ends == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
  FILE* out = NULL;
  if (rank == 0 && (out = fopen(argv[4], "w")) == NULL) MPI_Abort(MPI_COMM_WORLD, 4);
  if (rank == 0) fprintf(out, "{\"ends_s\": [");
  for (int call = 0; call < calls + untimed; ++call) {
    double start_s = 0, end_s;
    memset(data, rank == 0 ? call + 1 : 0, (size_t)bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    /* Once all are here; what a broadcast of one number takes on a slow network is far below. */
    start_s = now_s() + 0.1;
    MPI_Allreduce(MPI_IN_PLACE, &start_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    sleep_until(start_s + late_s);
    MPI_Bcast(data, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    end_s = now_s() - start_s;
    MPI_Gather(&end_s, 1, MPI_DOUBLE, ends, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (int i = 0; i < bytes; ++i) {
      if (data[i] == (unsigned char)(call + 1)) continue;
      fprintf(stderr, "rank %d: a wrong byte at %d\n", rank, i);
      MPI_Abort(MPI_COMM_WORLD, 9);
    }
    for (int i = 0; i < n && rank == 0 && call >= untimed; ++i)
      fprintf(out, "%s%s%.9f%s", i == 0 && call > untimed ? ", " : "", i == 0 ? "[" : ", ", ends[i],
              i == n - 1 ? "]" : "");
  }
  if (rank == 0) {
    fprintf(out, "]}\n");
    fclose(out);
  }
  free(data);
  free(ends);
  MPI_Finalize();
  return 0;
}
