/* Reductions of short elements: eight bytes of them are cut as a double is.
 *
 *   grains double | bytes       allreduces of one double, of eight bytes
 *   grains filled               reduce_scatters of ints whose longest block is whole doubles and the others are not */
#include "check.h"

enum { kCalls = 20, kLongest = 64 };

static void doubles(void) {
  for (int i = 0; i < kCalls; ++i) {
    double mine = rank + i, sum = 0;
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == n_ranks * (n_ranks - 1) / 2.0 + n_ranks * i);
  }
}

static void bytes(void) {
  for (int i = 0; i < kCalls; ++i) {
    unsigned char mine[8], all[8] = {0};
    for (int k = 0; k < 8; ++k) mine[k] = (unsigned char)(rank == k % n_ranks ? 1 + k + i : 0);
    MPI_Allreduce(mine, all, 8, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
    for (int k = 0; k < 8; ++k) CHECK(all[k] == 1 + k + i);
  }
}

static void filled(void) {
  int in[16 * kLongest + 1], counts[16], out[kLongest], n = 0, place = 0;
  CHECK(n_ranks <= 16);
  for (int r = 0; r < n_ranks; ++r) counts[r] = kLongest - r % 4, n += counts[r];
  for (int r = 0; r < rank; ++r) place += counts[r];
  for (int k = 0; k < n; ++k) in[k] = rank + k;
  in[n] = -1; /* nobody's */
  for (int i = 0; i < kCalls; ++i) {
    memset(out, 0, sizeof out);
    MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int k = 0; k < counts[rank]; ++k)
      CHECK(out[k] == n_ranks * (n_ranks - 1) / 2 + n_ranks * (place + k));
    for (int k = counts[rank]; k < kLongest; ++k) CHECK(out[k] == 0);
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  CHECK(argc == 2);
  if (!strcmp(argv[1], "double")) doubles();
  if (!strcmp(argv[1], "bytes")) bytes();
  if (!strcmp(argv[1], "filled")) filled();
  return end();
}
