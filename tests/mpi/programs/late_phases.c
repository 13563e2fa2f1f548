/* Broadcasts to which one rank comes late, and then as many as wanted to which nobody does.
 * Arguments: calls with a late rank, calls without, how late in microseconds. */
#include <unistd.h>

#include "check.h"

int main(int argc, char** argv) {
  static unsigned char data[3000];
  begin(&argc, &argv);
  CHECK(argc == 4);
  const int late_calls = atoi(argv[1]), calls = late_calls + atoi(argv[2]);
  const unsigned late_us = (unsigned)atoi(argv[3]);
  for (int call = 0; call < calls; ++call) {
    const int bytes = call % 2 == 0 ? (int)sizeof data : 100;
    if (call < late_calls && rank == 1) usleep(late_us);
    memset(data, rank == 0 ? call + 1 : 0, (size_t)bytes);
    MPI_Bcast(data, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    for (int i = 0; i < bytes; ++i) CHECK(data[i] == (unsigned char)(call + 1));
  }
  return end();
}
