/* Collective calls whose number, sizes and communicators the test knows. */
#include "check.h"

enum { LONG = 1000 };

int main(int argc, char** argv) {
  begin(&argc, &argv);
  int* data = calloc(LONG, sizeof(int));
  double *in = calloc(LONG, sizeof(double)), *out = calloc(LONG, sizeof(double));
  CHECK(data != NULL && in != NULL && out != NULL);
  for (int i = 0; i < 5; ++i) MPI_Bcast(data, 100, MPI_INT, i % n_ranks, MPI_COMM_WORLD);
  MPI_Bcast(data, 0, MPI_INT, 0, MPI_COMM_WORLD);
  for (int i = 0; i < 7; ++i) MPI_Allreduce(in, out, LONG, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < 3; ++i) MPI_Barrier(MPI_COMM_WORLD);
  MPI_Request request;
  for (int i = 0; i < 4; ++i) {
    MPI_Ibcast(data, 200, MPI_INT, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  for (int i = 0; i < 2; ++i) MPI_Scan(&rank, data, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);

  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  for (int i = 0; i < 4; ++i) MPI_Allreduce(&rank, data, 1, MPI_INT, MPI_SUM, half);
  MPI_Barrier(half);
  MPI_Comm between;
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 0, &between);
  MPI_Allreduce(&rank, data, 1, MPI_INT, MPI_SUM, between);
  MPI_Comm_free(&between);
  MPI_Comm_free(&half);
  /* One rank alone. */
  if (rank == 1) {
    for (int i = 0; i < 6; ++i) MPI_Allreduce(&rank, data, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
  }
  free(data);
  free(in);
  free(out);
  return end();
}
