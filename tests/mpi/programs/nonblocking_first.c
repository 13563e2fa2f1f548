/* Hazard 2: the first collective of a communicator is nonblocking and mixed with messages, which is legal in any order. */
#include "check.h"

int main(int argc, char** argv) {
  MPI_Comm comm;
  MPI_Request request;
  int token = 0, data;
  begin(&argc, &argv);
  CHECK(n_ranks >= 2);
  for (int turn = 0; turn < 5; ++turn) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    data = rank == 0 ? 5 : 0;
    if (rank == 1) MPI_Recv(&token, 1, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE);
    MPI_Ibcast(&data, 1, MPI_INT, 0, comm, &request);
    if (rank == 0) MPI_Ssend(&token, 1, MPI_INT, 1, 1, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(data == 5);
    if (rank == 1) MPI_Recv(&token, 1, MPI_INT, 0, 2, comm, MPI_STATUS_IGNORE);
    MPI_Ibarrier(comm, &request);
    if (rank == 0) MPI_Ssend(&token, 1, MPI_INT, 1, 2, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    /* A barrier may arm for it; then the blocking ones come while a nonblocking one is under way. */
    MPI_Barrier(comm);
    int sum, out = 0;
    MPI_Iallreduce(&rank, &out, 1, MPI_INT, MPI_SUM, comm, &request);
    for (int i = 0; i < 6; ++i) {
      MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
      CHECK(sum == n_ranks * (n_ranks - 1) / 2);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(out == n_ranks * (n_ranks - 1) / 2);
    MPI_Comm_free(&comm);
  }
  return end();
}
