/* Collective calls whose number, sizes and communicators the test knows. */
#include "check.h"

enum { LONG = 1000, MOST = 64 };

/* Weak: under a library without large counts only ECO's preload has them. */
#define WEAK __attribute__((weak))
#define N const MPI_Count*
#define AT const MPI_Aint*
#define GATHERV const void*, MPI_Count, MPI_Datatype, void*, N, AT, MPI_Datatype, int, MPI_Comm
#define SCATTERV const void*, N, AT, MPI_Datatype, void*, MPI_Count, MPI_Datatype, int, MPI_Comm
#define ALLTOALLV const void*, N, AT, MPI_Datatype, void*, N, AT, MPI_Datatype, MPI_Comm
#define ALLTOALLW const void*, N, AT, const MPI_Datatype*, void*, N, AT, const MPI_Datatype*, MPI_Comm
#define ALLGATHERV const void*, MPI_Count, MPI_Datatype, void*, N, AT, MPI_Datatype, MPI_Comm
#define REDUCE_SCATTER const void*, void*, N, MPI_Datatype, MPI_Op, MPI_Comm
WEAK int MPI_Gatherv_c(GATHERV);
WEAK int MPI_Igatherv_c(GATHERV, MPI_Request*);
WEAK int MPI_Scatterv_c(SCATTERV);
WEAK int MPI_Iscatterv_c(SCATTERV, MPI_Request*);
WEAK int MPI_Alltoallv_c(ALLTOALLV);
WEAK int MPI_Ialltoallv_c(ALLTOALLV, MPI_Request*);
WEAK int MPI_Alltoallw_c(ALLTOALLW);
WEAK int MPI_Ialltoallw_c(ALLTOALLW, MPI_Request*);
WEAK int MPI_Iallgatherv_c(ALLGATHERV, MPI_Request*);
WEAK int MPI_Ireduce_scatter_c(REDUCE_SCATTER, MPI_Request*);

/* The other forms of calls that have a count for every rank: 10 numbers of each, in their order. */
static void other_forms(const int* in, int* out, const int* counts, const int* places, const int* bytes,
                        const MPI_Datatype* types) {
  MPI_Count counts_c[MOST];
  MPI_Aint places_c[MOST], bytes_c[MOST];
  MPI_Request r[12];
  int n = 0;
  const int is_root = rank == 1;
  int(*to)[20 * MOST] = malloc(sizeof r / sizeof r[0] * sizeof *to); /* each its own */
  for (int i = 0; i < n_ranks; ++i) counts_c[i] = counts[i], places_c[i] = places[i], bytes_c[i] = bytes[i];
  /* Where they are not significant, arrays are nonsense. */
  const MPI_Count* root_counts = is_root ? counts_c : (const MPI_Count*)8;
  const MPI_Aint* root_places = is_root ? places_c : (const MPI_Aint*)8;
  MPI_Gatherv_c(in, 10, MPI_INT, out, root_counts, root_places, MPI_INT, 1, MPI_COMM_WORLD);
  MPI_Scatterv_c(in, root_counts, root_places, MPI_INT, out, 10, MPI_INT, 1, MPI_COMM_WORLD);
  MPI_Alltoallv_c(in, counts_c, places_c, MPI_INT, out, counts_c, places_c, MPI_INT, MPI_COMM_WORLD);
  MPI_Alltoallv_c(MPI_IN_PLACE, root_counts, root_places, MPI_INT, out, counts_c, places_c, MPI_INT,
                  MPI_COMM_WORLD);
  MPI_Alltoallw_c(in, counts_c, bytes_c, types, out, counts_c, bytes_c, types, MPI_COMM_WORLD);
  MPI_Allgatherv(in, 10, MPI_INT, to[n], counts, places, MPI_INT, MPI_COMM_WORLD);
  MPI_Reduce_scatter(in, to[n], counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);

  MPI_Igatherv(in, 10, MPI_INT, to[n], counts, places, MPI_INT, 1, MPI_COMM_WORLD, &r[n]), ++n;
  MPI_Igatherv_c(in, 10, MPI_INT, to[n], root_counts, root_places, MPI_INT, 1, MPI_COMM_WORLD, &r[n]), ++n;
  MPI_Iscatterv(in, counts, places, MPI_INT, to[n], 10, MPI_INT, 1, MPI_COMM_WORLD, &r[n]), ++n;
  MPI_Iscatterv_c(in, root_counts, root_places, MPI_INT, to[n], 10, MPI_INT, 1, MPI_COMM_WORLD, &r[n]), ++n;
  MPI_Ialltoallv(in, counts, places, MPI_INT, to[n], counts, places, MPI_INT, MPI_COMM_WORLD, &r[n]), ++n;
  MPI_Ialltoallv_c(in, counts_c, places_c, MPI_INT, to[n], counts_c, places_c, MPI_INT, MPI_COMM_WORLD,
                   &r[n]),
      ++n;
  MPI_Ialltoallw(in, counts, bytes, types, to[n], counts, bytes, types, MPI_COMM_WORLD, &r[n]), ++n;
  MPI_Ialltoallw_c(in, counts_c, bytes_c, types, to[n], counts_c, bytes_c, types, MPI_COMM_WORLD, &r[n]), ++n;
  MPI_Iallgatherv(in, 10, MPI_INT, to[n], counts, places, MPI_INT, MPI_COMM_WORLD, &r[n]), ++n;
  MPI_Iallgatherv_c(in, 10, MPI_INT, to[n], counts_c, places_c, MPI_INT, MPI_COMM_WORLD, &r[n]), ++n;
  MPI_Ireduce_scatter(in, to[n], counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r[n]), ++n;
  MPI_Ireduce_scatter_c(in, to[n], counts_c, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r[n]), ++n;
  MPI_Waitall(n, r, MPI_STATUSES_IGNORE);
  /* All ranks' numbers are the same: 0, 1, 2 ... */
  for (int i = 0; i < n_ranks; ++i)
    for (int k = 0; k < 10; ++k) {
      const int at = 10 * i + k;
      if (is_root) CHECK(to[0][at] == k && to[1][at] == k);
      CHECK(to[4][at] == 10 * rank + k && to[5][at] == 10 * rank + k);
      CHECK(to[6][at] == 10 * rank + k && to[7][at] == 10 * rank + k);
      CHECK(to[8][at] == k && to[9][at] == k);
      CHECK(to[2][k] == 10 * rank + k && to[3][k] == 10 * rank + k);
      CHECK(to[10][k] == n_ranks * (10 * rank + k) && to[11][k] == n_ranks * (10 * rank + k));
    }
  free(to);

  MPI_Comm ring;
  const int periodic = 1;
  int all[2], heard[6][20];
  for (int i = 0; i < 2; ++i) MPI_Ibarrier(MPI_COMM_WORLD, &r[i]);
  MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
  MPI_Cart_create(MPI_COMM_WORLD, 1, &n_ranks, &periodic, 0, &ring);
  MPI_Ineighbor_allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, ring, &r[0]);
  MPI_Wait(&r[0], MPI_STATUS_IGNORE);
  /* 10 numbers to either neighbour; all ranks' numbers are the same. */
  const int two[2] = {10, 10}, at[2] = {0, 10};
  const MPI_Aint at_bytes[2] = {0, 10 * sizeof(int)};
  const MPI_Datatype ints[2] = {MPI_INT, MPI_INT};
  MPI_Neighbor_allgatherv(in, 10, MPI_INT, heard[0], two, at, MPI_INT, ring);
  MPI_Ineighbor_allgatherv(in, 10, MPI_INT, heard[1], two, at, MPI_INT, ring, &r[0]);
  MPI_Neighbor_alltoallv(in, two, at, MPI_INT, heard[2], two, at, MPI_INT, ring);
  MPI_Ineighbor_alltoallv(in, two, at, MPI_INT, heard[3], two, at, MPI_INT, ring, &r[1]);
  MPI_Neighbor_alltoallw(in, two, at_bytes, ints, heard[4], two, at_bytes, ints, ring);
  MPI_Ineighbor_alltoallw(in, two, at_bytes, ints, heard[5], two, at_bytes, ints, ring, &r[2]);
  MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
  for (int k = 0; k < 20; ++k)
    for (int i = 0; i < 6; ++i) CHECK(heard[i][k] == (i < 2 ? k % 10 : (k + 10) % 20));
  MPI_Comm_free(&ring);
}

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
  int* numbers = malloc(20 * MOST * sizeof(int));
  for (int i = 0; i < 20 * MOST; ++i) numbers[i] = i;
  other_forms(numbers, other, counts, places, bytes, types);
  free(numbers);

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
