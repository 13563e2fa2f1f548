/* A program that takes SIGUSR1 for itself after its first collective, and still has it after MPI_Finalize. */
#include <signal.h>

#include "check.h"

static volatile sig_atomic_t heard;

static void on_signal(int number) {
  (void)number;
  heard = 1;
}

int main(int argc, char** argv) {
  int sum;
  begin(&argc, &argv);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  signal(SIGUSR1, on_signal);
  end();
  raise(SIGUSR1);
  return heard ? 0 : 1;
}
