/* Says whether SIGUSR1 still has its default after a collective. */
#include <signal.h>

#include "check.h"

int main(int argc, char** argv) {
  struct sigaction action;
  int sum;
  begin(&argc, &argv);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  sigaction(SIGUSR1, NULL, &action);
  if (rank == 0) printf("default: %d\n", action.sa_handler == SIG_DFL);
  return end();
}
