/* Hazard 4: many segments to the same peers, ranks that come at different times, every byte looked at. */
#include <unistd.h>

#include "check.h"

int main(int argc, char** argv) {
  enum { kMost = 300001 };
  static unsigned data[kMost], out[kMost];
  begin(&argc, &argv);
  srand(7u + (unsigned)rank);
  for (int turn = 0; turn < 40; ++turn) {
    const int count = 1 + (turn * 7919) % kMost, root = turn % n_ranks;
    usleep((unsigned)(rand() % 2000));
    for (int i = 0; i < count; ++i) data[i] = rank == root ? (unsigned)(i * 2654435761u + (unsigned)turn) : 0;
    MPI_Bcast(data, count, MPI_UNSIGNED, root, MPI_COMM_WORLD);
    for (int i = 0; i < count; ++i) CHECK(data[i] == (unsigned)(i * 2654435761u + (unsigned)turn));
    for (int i = 0; i < count; ++i) data[i] = (unsigned)i * ((unsigned)rank + 1);
    MPI_Allreduce(data, out, count, MPI_UNSIGNED, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count; ++i) CHECK(out[i] == (unsigned)i * (unsigned)(n_ranks * (n_ranks + 1) / 2));
  }
  return end();
}
