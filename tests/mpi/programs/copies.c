/* When copies of MPI_COMM_WORLD are armed: not those that are used a little and freed (their number is the first argument),
 * but one that is used for long, and before the second argument's number of calls. World itself is armed in its first
 * call, under a plan by hand, after which the third argument's seconds pass. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>

#include "check.h"

/* One allreduce; was it served? The same on all ranks. */
static int served(MPI_Comm comm) {
  const char* (*last_algorithm)(void) = (const char* (*)(void))dlsym(RTLD_DEFAULT, "eco_last_algorithm");
  int sum, one = 1;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
  CHECK(sum == n_ranks);
  return last_algorithm && strcmp(last_algorithm(), "native") != 0;
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  CHECK(argc == 4);
  CHECK(served(MPI_COMM_WORLD));
  sleep((unsigned)atoi(argv[3]));
  for (int i = 0; i < atoi(argv[1]); ++i) {
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    for (int k = 0; k < 50; ++k) CHECK(!served(copy));
    MPI_Comm_free(&copy);
  }
  MPI_Comm copy;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  int calls = 0;
  while (calls < atoi(argv[2]) && !served(copy)) ++calls;
  CHECK(served(copy));
  MPI_Comm_free(&copy);
  return end();
}
