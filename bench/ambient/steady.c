/* One collective in a loop until somebody stops it, as a program that computes little: seconds and instants of each call.
 * Arguments: broadcast|allreduce BYTES FOLDER. Rank 0 makes FOLDER/began when calls are timed, ends when there is
 * FOLDER/stop, and writes FOLDER/ends: the instant of CLOCK_MONOTONIC at which all were out of each call. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../instant.h"

enum { kUntimed = 3, kMost = 1000000 };

static double ends_s[kMost];

int main(int argc, char** argv) {
  int rank, n_ranks, n = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
  if (argc != 4) MPI_Abort(MPI_COMM_WORLD, 2);
  const int is_broadcast = strcmp(argv[1], "broadcast") == 0;
  const size_t words = (size_t)atol(argv[2]) / sizeof(int32_t);
  char began[4096], stop[4096], ends[4096];
  snprintf(began, sizeof began, "%s/began", argv[3]);
  snprintf(stop, sizeof stop, "%s/stop", argv[3]);
  snprintf(ends, sizeof ends, "%s/ends", argv[3]);
  int32_t* in = malloc(words * sizeof *in);
  int32_t* out = malloc(words * sizeof *out);
  /* The first word says whether it goes on: rank 0's, or the sum of which rank 0's is the only one not zero. */
  for (int call = 0, goes_on = 1; goes_on && n < kMost; ++call) {
    for (size_t i = 1; i < words; ++i) in[i] = rank + call + (int32_t)(i % 1000);
    in[0] = rank == 0 && access(stop, F_OK) != 0;
    if (is_broadcast) {
      if (rank == 0) memcpy(out, in, words * sizeof *in);
      MPI_Bcast(out, (int)words, MPI_INT32_T, 0, MPI_COMM_WORLD);
    } else {
      MPI_Allreduce(in, out, (int)words, MPI_INT32_T, MPI_SUM, MPI_COMM_WORLD);
    }
    goes_on = out[0];
    const int32_t factor = is_broadcast ? 1 : n_ranks;
    const int32_t ranks = is_broadcast ? 0 : n_ranks * (n_ranks - 1) / 2;
    for (size_t i = 1; i < words; ++i) {
      if (out[i] != ranks + factor * (call + (int32_t)(i % 1000))) {
        fprintf(stderr, "rank %d: call %d: word %zu is %d\n", rank, call, i, out[i]);
        MPI_Abort(MPI_COMM_WORLD, 3);
      }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != 0 || call < kUntimed) continue;
    ends_s[n++] = now_s();
    if (n == 1) fclose(fopen(began, "w"));
  }
  if (rank == 0) {
    FILE* file = fopen(ends, "w");
    for (int i = 0; i < n; ++i) fprintf(file, "%.6f\n", ends_s[i]);
    fclose(file);
  }
  MPI_Finalize();
  return 0;
}
