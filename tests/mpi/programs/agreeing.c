/* agreeing TURNS: broadcasts, sums and gathers of whole numbers of several sizes, every byte checked. */
#include "check.h"

enum { kMost = 20000 };

int main(int argc, char** argv) {
  static int in[kMost], out[kMost];
  const int counts[] = {1, 30, 1000, kMost};
  begin(&argc, &argv);
  const int turns = atoi(argv[1]);
  for (int turn = 0; turn < turns; ++turn) {
    for (int c = 0; c < 4; ++c) {
      const int count = counts[c], root = turn % n_ranks;
      for (int i = 0; i < count; ++i) in[i] = rank == root ? i * 3 + turn : -1;
      MPI_Bcast(in, count, MPI_INT, root, MPI_COMM_WORLD);
      for (int i = 0; i < count; ++i) CHECK(in[i] == i * 3 + turn);
      for (int i = 0; i < count; ++i) in[i] = i + rank;
      MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
      for (int i = 0; i < count; ++i) CHECK(out[i] == n_ranks * i + n_ranks * (n_ranks - 1) / 2);
      const int block = count / n_ranks;
      MPI_Allgather(in, block, MPI_INT, out, block, MPI_INT, MPI_COMM_WORLD);
      for (int i = 0; i < block * n_ranks; ++i) CHECK(out[i] == i % block + i / block);
    }
  }
  return end();
}
