/* A few operations, over and over, on communicators that cut across each other, blocking ones with others under way. Argument:
 * rounds. */
#include "check.h"

enum { kComms = 3, kMost = 6000, kMostRanks = 8 };

static int in[kMost * kMostRanks], out[kMost * kMostRanks], beside[kMost];

int main(int argc, char** argv) {
  MPI_Comm comms[kComms] = {MPI_COMM_WORLD};
  begin(&argc, &argv);
  CHECK(argc == 2 && n_ranks <= kMostRanks);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &comms[1]);
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2 % 2, rank, &comms[2]);
  for (int round = 0; round < atoi(argv[1]); ++round) {
    for (int c = 0; c < kComms; ++c) {
      int me, n;
      MPI_Request request;
      MPI_Comm_rank(comms[c], &me);
      MPI_Comm_size(comms[c], &n);
      const int root = (round / 40) % n, count = c == 0 ? kMost : 500, sum = n * (n - 1) / 2;
      for (int i = 0; i < count; ++i) beside[i] = me == root ? round + i : -1;
      MPI_Ibcast(beside, count, MPI_INT, root, comms[c], &request);
      for (int i = 0; i < count * n; ++i) in[i] = me * 1000 + round + i;
      MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, comms[c]);
      for (int i = 0; i < count; ++i) CHECK(out[i] == sum * 1000 + n * (round + i));
      MPI_Allgather(in, count, MPI_INT, out, count, MPI_INT, comms[c]);
      for (int i = 0; i < count * n; ++i) CHECK(out[i] == i / count * 1000 + round + i % count);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      for (int i = 0; i < count; ++i) CHECK(beside[i] == round + i);
      memset(out, 0, sizeof out);
      if (me == root) memcpy(out, in, (size_t)count * sizeof *in);
      MPI_Bcast(out, count, MPI_INT, root, comms[c]);
      for (int i = 0; i < count; ++i) CHECK(out[i] == root * 1000 + round + i);
      MPI_Alltoall(in, count, MPI_INT, out, count, MPI_INT, comms[c]);
      for (int i = 0; i < count * n; ++i) CHECK(out[i] == i / count * 1000 + round + me * count + i % count);
      MPI_Reduce(in, out, count, MPI_INT, MPI_SUM, root, comms[c]);
      for (int i = 0; i < count && me == root; ++i) CHECK(out[i] == sum * 1000 + n * (round + i));
    }
  }
  MPI_Comm_free(&comms[1]);
  MPI_Comm_free(&comms[2]);
  return end();
}
