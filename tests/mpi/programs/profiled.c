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
  /* Every rank's counts are its own: 10 numbers to and from each. */
  enum { MOST = 64 };
  int counts[MOST], places[MOST], bytes[MOST];
  MPI_Datatype types[MOST];
  CHECK(n_ranks <= MOST && 20 * n_ranks <= LONG);
  for (int i = 0; i < n_ranks; ++i) {
    counts[i] = 10;
    places[i] = 10 * i;
    bytes[i] = places[i] * (int)sizeof(int);
    types[i] = MPI_INT;
  }
  int* other = data + 10 * n_ranks;
  for (int i = 0; i < 2; ++i)
    MPI_Alltoallv(data, counts, places, MPI_INT, other, counts, places, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < 3; ++i)
    MPI_Alltoallw(data, counts, bytes, types, other, counts, bytes, types, MPI_COMM_WORLD);
  MPI_Gatherv(rank == 1 ? MPI_IN_PLACE : data, 10, MPI_INT, other, counts, places, MPI_INT, 1,
              MPI_COMM_WORLD);
  MPI_Scatterv(data, counts, places, MPI_INT, rank == 1 ? MPI_IN_PLACE : other, 10, MPI_INT, 1,
               MPI_COMM_WORLD);

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
