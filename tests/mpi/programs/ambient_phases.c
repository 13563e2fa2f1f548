/* Broadcasts of 256 KiB from rank 0 for so many seconds, and the median of each second's calls. Argument: seconds. */
#include "check.h"

enum { kBytes = 256 << 10, kMost = 10000 };

static unsigned char data[kBytes];

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  static double took[kMost];
  int n = 0, second = 0;
  begin(&argc, &argv);
  CHECK(argc == 2);
  const double began = MPI_Wtime();
  for (unsigned char call = 1, goes_on = 1; goes_on; ++call) {
    memset(data, rank == 0 ? call : 0, sizeof data);
    data[0] = MPI_Wtime() - began < atof(argv[1]);
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    MPI_Bcast(data, kBytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    const double mine = MPI_Wtime() - start;
    double longest = mine;
    MPI_Reduce(&mine, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    goes_on = data[0];
    for (int i = 1; i < kBytes; ++i) CHECK(data[i] == call);
    if (n < kMost) took[n++] = longest;
    if (rank == 0 && ((int)(MPI_Wtime() - began) > second || !goes_on)) {
      qsort(took, (size_t)n, sizeof *took, by_value);
      printf("%d %d %.4f\n", second, n, took[n / 2]);
      second = (int)(MPI_Wtime() - began);
      n = 0;
    }
  }
  return end();
}
