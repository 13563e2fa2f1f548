/* How often the program's error handler is called by one wrong call, and with which class. */
#include "check.h"

static int calls;

static void count(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  (void)code;
  ++calls;
}

static void say(const char* what, int code) {
  int class = MPI_SUCCESS;
  MPI_Error_class(code, &class);
  if (rank == 0) printf("%s: class %d, %d calls\n", what, class, calls);
  calls = 0;
}

int main(int argc, char** argv) {
  MPI_Errhandler handler;
  int data = 1, out;
  begin(&argc, &argv);
  MPI_Comm_create_errhandler(count, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
  MPI_Allreduce(&data, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  say("bcast root n", MPI_Bcast(&data, 1, MPI_INT, n_ranks, MPI_COMM_WORLD));
  say("bcast comm null", MPI_Bcast(&data, 1, MPI_INT, 0, MPI_COMM_NULL));
  say("barrier comm null", MPI_Barrier(MPI_COMM_NULL));
  MPI_Request request;
  say("ibcast root n", MPI_Ibcast(&data, 1, MPI_INT, n_ranks, MPI_COMM_WORLD, &request));
  say("ibcast comm null", MPI_Ibcast(&data, 1, MPI_INT, 0, MPI_COMM_NULL, &request));
#if !defined(OPEN_MPI) /* whose handles are pointers: a freed one leads anywhere */
  MPI_Comm copy, freed;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  freed = copy;
  MPI_Comm_free(&copy);
  say("bcast comm freed", MPI_Bcast(&data, 1, MPI_INT, 0, freed));
  say("allreduce comm freed", MPI_Allreduce(&data, &out, 1, MPI_INT, MPI_SUM, freed));
  say("barrier comm freed", MPI_Barrier(freed));
#endif
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&handler);
  return end();
}
