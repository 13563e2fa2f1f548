/* Hazard 11: sums of doubles that depend on the order: all ranks must hold the same bits, every time. */
#include "check.h"

static unsigned long digest(const double* values, int count) {
  unsigned long sum = 1469598103934665603ul;
  const unsigned char* bytes = (const unsigned char*)values;
  for (size_t i = 0; i < (size_t)count * sizeof(double); ++i) sum = (sum ^ bytes[i]) * 1099511628211ul;
  return sum;
}

int main(int argc, char** argv) {
  enum { kMost = 20011 };
  static double in[kMost], out[kMost];
  begin(&argc, &argv);
  const int counts[] = {1, 2, 5, 100, 1000, kMost};
  for (int c = 0; c < 6; ++c) {
    unsigned long first = 0;
    srand(11u + (unsigned)rank);
    for (int i = 0; i < counts[c]; ++i) in[i] = (rand() - 1e9) * (i % 3 ? 1e-9 : 1e7) / 3.0;
    for (int turn = 0; turn < 3; ++turn) {
      MPI_Allreduce(in, out, counts[c], MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
      unsigned long mine = digest(out, counts[c]), least, most;
      MPI_Reduce(&mine, &least, 1, MPI_UNSIGNED_LONG, MPI_MIN, 0, MPI_COMM_WORLD);
      MPI_Reduce(&mine, &most, 1, MPI_UNSIGNED_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
      if (rank == 0) CHECK(least == most);
      if (turn == 0) first = mine;
      CHECK(mine == first);
    }
  }
  return end();
}
