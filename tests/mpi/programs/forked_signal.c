/* SIGUSR1 reaches a process that the program forked after a collective: it ends, or not, as without ECO. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

int main(int argc, char** argv) {
  int sum;
  begin(&argc, &argv);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) {
    const pid_t child = fork();
    int status = 0;
    if (child == 0) {
      raise(SIGUSR1);
      _exit(0);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    printf("child: signal %d\n", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return end();
}
