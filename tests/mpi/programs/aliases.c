/* The root of a reduce gives the same memory twice: prints what the library makes of it, there and in the call that makes up. */
#include "check.h"

static void say(const char* what, int code) {
  int class = MPI_SUCCESS;
  MPI_Error_class(code, &class);
  if (rank == 0) printf("%s: %d\n", what, class);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int turn = 0; turn < 3; ++turn) {
    int data = rank + 1, sum = -1, code;
    MPI_Request request = MPI_REQUEST_NULL;
    code = MPI_Reduce(&data, rank == 0 ? &data : &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    say("reduce of aliases", code);
    if (code != MPI_SUCCESS) MPI_Reduce(&data, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    CHECK(rank != 0 || sum == n_ranks * (n_ranks + 1) / 2);
    sum = -1;
    code = MPI_Ireduce(&data, rank == 0 ? &data : &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD, &request);
    say("ireduce of aliases", code);
    if (code != MPI_SUCCESS) MPI_Ireduce(&data, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(rank != 0 || sum == n_ranks * (n_ranks + 1) / 2);
  }
  return end();
}
