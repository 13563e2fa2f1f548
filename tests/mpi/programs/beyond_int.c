/* Counts and places beyond int in calls with large counts that the library lacks and ECO's preload stands in for: each is
 * MPI_ERR_COUNT, which the communicator's error handler hears of once, before ECO serves its calls and after. What a count would
 * be if its upper half were cut off is a right one here. Prints "absent" where nobody has these calls. */
#include <limits.h>

#include "check.h"

#if defined(OPEN_MPI)
#define WEAK(name) __attribute__((weak)) int name();
WEAK(MPI_Bcast_c)
WEAK(MPI_Scatter_c)
WEAK(MPI_Gather_c)
WEAK(MPI_Allgather_c)
WEAK(MPI_Allgatherv_c)
WEAK(MPI_Gatherv_c)
WEAK(MPI_Scatterv_c)
WEAK(MPI_Alltoall_c)
WEAK(MPI_Alltoallv_c)
WEAK(MPI_Alltoallw_c)
WEAK(MPI_Reduce_c)
WEAK(MPI_Allreduce_c)
WEAK(MPI_Reduce_scatter_c)
WEAK(MPI_Reduce_scatter_block_c)
WEAK(MPI_Scan_c)
WEAK(MPI_Exscan_c)
WEAK(MPI_Ibcast_c)
WEAK(MPI_Iallgatherv_c)
WEAK(MPI_Iallreduce_c)
WEAK(MPI_Ireduce_scatter_c)
WEAK(MPI_Ialltoallw_c)

enum { kMostRanks = 16, kFew = 4 };
static int in[kMostRanks * kFew], out[kMostRanks * kFew], heard;

static void on_error(MPI_Comm* comm, int* code, ...) {
  (void)comm, (void)code;
  ++heard;
}

static int is_count_error(int code) {
  int class = MPI_SUCCESS;
  const int once = heard == 1;
  heard = 0;
  MPI_Error_class(code, &class);
  return class == MPI_ERR_COUNT && once;
}

static void try_count(MPI_Count big) {
  void* const here = MPI_IN_PLACE;
  const MPI_Datatype none = MPI_DATATYPE_NULL;
  const MPI_Comm world = MPI_COMM_WORLD;
  MPI_Count few[kMostRanks], one_big[kMostRanks];
  MPI_Aint places[kMostRanks], one_far[kMostRanks];
  MPI_Datatype types[kMostRanks];
  MPI_Request request;
  for (int r = 0; r < n_ranks; ++r) {
    few[r] = one_big[r] = kFew;
    places[r] = one_far[r] = r * kFew;
    types[r] = MPI_INT;
  }
  one_big[n_ranks - 1] = big;
  one_far[n_ranks - 1] = (MPI_Aint)big;
  CHECK(is_count_error(MPI_Bcast_c(in, big, MPI_INT, 0, world)));
  CHECK(is_count_error(MPI_Scatter_c(in, big, MPI_INT, out, big, MPI_INT, 0, world)));
  CHECK(is_count_error(MPI_Gather_c(in, big, MPI_INT, out, big, MPI_INT, 0, world)));
  CHECK(is_count_error(MPI_Allgather_c(in, big, MPI_INT, out, big, MPI_INT, world)));
  CHECK(is_count_error(MPI_Alltoall_c(in, big, MPI_INT, out, big, MPI_INT, world)));
  CHECK(is_count_error(MPI_Reduce_c(in, out, big, MPI_INT, MPI_SUM, 0, world)));
  CHECK(is_count_error(MPI_Allreduce_c(in, out, big, MPI_INT, MPI_SUM, world)));
  CHECK(is_count_error(MPI_Reduce_scatter_block_c(in, out, big, MPI_INT, MPI_SUM, world)));
  CHECK(is_count_error(MPI_Scan_c(in, out, big, MPI_INT, MPI_SUM, world)));
  CHECK(is_count_error(MPI_Exscan_c(in, out, big, MPI_INT, MPI_SUM, world)));
  CHECK(is_count_error(MPI_Ibcast_c(in, big, MPI_INT, 0, world, &request)));
  CHECK(is_count_error(MPI_Iallreduce_c(in, out, big, MPI_INT, MPI_SUM, world, &request)));
  /* One of the counts, or of the places. */
  CHECK(is_count_error(MPI_Allgatherv_c(in, few[0], MPI_INT, out, one_big, places, MPI_INT, world)));
  CHECK(is_count_error(MPI_Allgatherv_c(in, few[0], MPI_INT, out, few, one_far, MPI_INT, world)));
  CHECK(is_count_error(MPI_Allgatherv_c(here, few[0], none, out, one_big, places, MPI_INT, world)));
  CHECK(
      is_count_error(MPI_Iallgatherv_c(in, few[0], MPI_INT, out, one_big, places, MPI_INT, world, &request)));
  CHECK(is_count_error(MPI_Iallgatherv_c(here, few[0], none, out, few, one_far, MPI_INT, world, &request)));
  CHECK(is_count_error(MPI_Alltoallv_c(in, one_big, places, MPI_INT, out, few, places, MPI_INT, world)));
  CHECK(is_count_error(MPI_Alltoallv_c(in, few, places, MPI_INT, out, few, one_far, MPI_INT, world)));
  CHECK(is_count_error(MPI_Alltoallv_c(here, NULL, NULL, none, out, one_big, places, MPI_INT, world)));
  CHECK(is_count_error(MPI_Alltoallw_c(in, few, one_far, types, out, few, places, types, world)));
  CHECK(
      is_count_error(MPI_Ialltoallw_c(in, few, places, types, out, one_big, places, types, world, &request)));
  CHECK(is_count_error(MPI_Reduce_scatter_c(in, out, one_big, MPI_INT, MPI_SUM, world)));
  CHECK(is_count_error(MPI_Ireduce_scatter_c(here, out, one_big, MPI_INT, MPI_SUM, world, &request)));
  /* Or that the root alone looks at. */
  CHECK(is_count_error(MPI_Gatherv_c(in, big, MPI_INT, out, one_big, places, MPI_INT, 0, world)));
  CHECK(is_count_error(MPI_Scatterv_c(in, one_big, places, MPI_INT, out, big, MPI_INT, 0, world)));
}

static void try_right_ones(void) {
  const MPI_Count few = kFew;
  MPI_Count counts[kMostRanks];
  MPI_Aint places[kMostRanks];
  for (int k = 0; k < kFew; ++k) in[k] = rank + k;
  CHECK(MPI_Allreduce_c(in, out, few, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS);
  for (int k = 0; k < kFew; ++k) CHECK(out[k] == n_ranks * (n_ranks - 1) / 2 + n_ranks * k);
  for (int r = 0; r < n_ranks; ++r) counts[r] = kFew, places[r] = (n_ranks - 1 - r) * kFew;
  CHECK(MPI_Allgatherv_c(in, few, MPI_INT, out, counts, places, MPI_INT, MPI_COMM_WORLD) == MPI_SUCCESS);
  for (int r = 0; r < n_ranks; ++r)
    for (int k = 0; k < kFew; ++k) CHECK(out[places[r] + k] == r + k);
  CHECK(heard == 0);
}

int main(int argc, char** argv) {
  MPI_Errhandler handler;
  begin(&argc, &argv);
  CHECK(n_ranks <= kMostRanks);
  if (MPI_Bcast_c == NULL) {
    if (rank == 0) printf("absent\n");
    MPI_Finalize();
    return 0;
  }
  MPI_Comm_create_errhandler(on_error, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  for (int turn = 0; turn < 2; ++turn) {
    try_count((MPI_Count)INT_MAX + 1);
    try_count(((MPI_Count)1 << 32) + kFew);
    try_count(-((MPI_Count)1 << 32) + kFew);
    try_right_ones();
  }
  MPI_Errhandler_free(&handler);
  return end();
}
#else
int main(int argc, char** argv) {
  begin(&argc, &argv);
  if (rank == 0) printf("its own\n");
  MPI_Finalize();
  return 0;
}
#endif
