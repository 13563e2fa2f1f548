/* The program's mistake in a nonblocking call, as mismatch.c's in a blocking one: the communicator's error handler hears of
 * it, whoever waits for the request gets an error, and so does every later call on this communicator. */
#include "check.h"

static int told;

static void on_error(MPI_Comm* comm, int* code, ...) {
  (void)comm, (void)code;
  ++told;
}

int main(int argc, char** argv) {
  static char data[5000];
  MPI_Comm comm;
  MPI_Errhandler counting;
  MPI_Request request;
  int sum, class = MPI_SUCCESS;
  begin(&argc, &argv);
  /* Of the world and self too: MPICH tells them of what it finds while it waits. */
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_create_errhandler(on_error, &counting);
  MPI_Comm_set_errhandler(comm, counting);
  for (int i = 0; i < 5; ++i) CHECK(MPI_Bcast(data, 5000, MPI_CHAR, 0, comm) == MPI_SUCCESS);
  /* The sizes lie in different rows of the plan: one message meets the first of four receives. */
  CHECK(MPI_Ibcast(data, rank == 0 ? 5000 : 4000, MPI_CHAR, 0, comm, &request) == MPI_SUCCESS);
  const int code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(request == MPI_REQUEST_NULL);
  if (rank == 0) {
    CHECK(code == MPI_SUCCESS && told == 0);
  } else {
    MPI_Error_class(code, &class);
    CHECK(class == MPI_ERR_TRUNCATE);
    CHECK(told == 1);
    CHECK(MPI_Bcast(data, 100, MPI_CHAR, 0, comm) != MPI_SUCCESS);
    CHECK(told == 2);
    CHECK(MPI_Ibcast(data, 100, MPI_CHAR, 0, comm, &request) != MPI_SUCCESS);
    CHECK(told == 3);
  }
  MPI_Errhandler_free(&counting);
  MPI_Comm_free(&comm);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(sum == n_ranks * (n_ranks - 1) / 2);
  return end();
}
