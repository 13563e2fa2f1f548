/* Nonblocking calls that differ on several communicators at once, which the library does not mind: the error handler of
 * each communicator is told, once. */
#include <unistd.h>

#include "check.h"

enum { MADE = 4 };
static MPI_Comm made[MADE];
static int told[MADE];

static void count_told(MPI_Comm* comm, int* code, ...) {
  (void)code;
  for (int i = 0; i < MADE; ++i) told[i] += made[i] == *comm;
}

static int all_told(void) {
  for (int i = 0; i < MADE; ++i) {
    if (told[i] == 0) return 0;
  }
  return 1;
}

int main(int argc, char** argv) {
  MPI_Request requests[MADE];
  MPI_Errhandler handler;
  int one = 1, sums[MADE];
  begin(&argc, &argv);
  MPI_Comm_create_errhandler(count_told, &handler);
  for (int i = 0; i < MADE; ++i) {
    MPI_Comm_dup(MPI_COMM_WORLD, &made[i]);
    MPI_Comm_set_errhandler(made[i], handler);
    MPI_Barrier(made[i]);
  }
  for (int i = 0; i < MADE; ++i) {
    MPI_Iallreduce(&one, &sums[i], 1, MPI_INT, rank == 1 ? MPI_MAX : MPI_SUM, made[i], &requests[i]);
  }
  MPI_Waitall(MADE, requests, MPI_STATUSES_IGNORE);
  for (int looks = 0; looks < 5000 && !all_told(); ++looks) {
    int there;
    MPI_Iprobe(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    usleep(1000);
  }
  for (int i = 0; i < MADE; ++i) {
    CHECK(told[i] == 1);
    MPI_Comm_free(&made[i]);
  }
  MPI_Errhandler_free(&handler);
  return end();
}
