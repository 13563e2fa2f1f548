/* The last rank has no memory for what ECO wants when it arms the world; the others wait, so it ends the job. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>

#include "check.h"

int main(int argc, char** argv) {
  int data = 1, sum, class;
  begin(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (rank == n_ranks - 1) {
    size_t* none_of = dlsym(RTLD_DEFAULT, "eco_test_none_of");
    CHECK(none_of != NULL);
    *none_of = (size_t)n_ranks * sizeof(int);
  }
  MPI_Error_class(MPI_Allreduce(&data, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), &class);
  fprintf(stderr, "class is MPI_ERR_OTHER: %d\n", class == MPI_ERR_OTHER);
  sleep(1); /* a launcher that ends a job may lose the last lines */
  MPI_Abort(MPI_COMM_WORLD, 7);
  return 0;
}
