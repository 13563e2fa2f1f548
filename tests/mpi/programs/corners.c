/* What is rare and legal, in parts: addresses from MPI_BOTTOM, Sessions, more than 2 GiB, memory that must not grow.
 *
 *   corners bottom | sessions | sessions_alone | huge | growth TURNS */
#define _GNU_SOURCE
#include <limits.h>
#include <malloc.h>

#include "check.h"

enum { kInts = 600 };

/* `n` ints at this address, from MPI_BOTTOM on; two of them one behind the other say nothing of the next. */
static MPI_Datatype at_address(int* where, int n) {
  MPI_Aint address;
  MPI_Datatype type, whole = MPI_INT;
  MPI_Get_address(where, &address);
  MPI_Type_create_struct(1, &n, &address, &whole, &type);
  MPI_Type_commit(&type);
  return type;
}

static void bottom(void) {
  static int mine[kInts], all[16 * kInts], one[kInts];
  int counts[16], places[16], big = 0;
  MPI_Datatype here = at_address(mine, kInts), there = at_address(one, kInts);
  MPI_Request request;
  CHECK(n_ranks <= 16);
  for (int root = 0; root < n_ranks; ++root) {
    for (int k = 0; k < kInts; ++k) mine[k] = rank == root ? k + root : -1;
    MPI_Bcast(MPI_BOTTOM, 1, here, root, MPI_COMM_WORLD);
    for (int k = 0; k < kInts; ++k) CHECK(mine[k] == k + root);
    for (int k = 0; k < kInts; ++k) mine[k] = rank * 1000 + k;
    MPI_Gather(MPI_BOTTOM, 1, here, all, kInts, MPI_INT, root, MPI_COMM_WORLD);
    for (int k = 0; rank == root && k < kInts * n_ranks; ++k) CHECK(all[k] == k / kInts * 1000 + k % kInts);
    for (int k = 0; k < kInts * n_ranks; ++k) all[k] = rank == root ? k + 7 : -1;
    MPI_Scatter(all, kInts, MPI_INT, MPI_BOTTOM, 1, there, root, MPI_COMM_WORLD);
    for (int k = 0; k < kInts; ++k) CHECK(one[k] == rank * kInts + k + 7);
    MPI_Ibcast(MPI_BOTTOM, 1, there, root, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int k = 0; k < kInts; ++k) CHECK(one[k] == root * kInts + k + 7);
  }
  MPI_Allgather(MPI_BOTTOM, 1, here, all, kInts, MPI_INT, MPI_COMM_WORLD);
  for (int k = 0; k < kInts * n_ranks; ++k) CHECK(all[k] == k / kInts * 1000 + k % kInts);
  for (int r = 0; r < n_ranks; ++r) {
    counts[r] = r == 0 ? kInts - 1 : kInts;
    places[r] = big;
    big += counts[r] + 1;
  }
  MPI_Datatype less = at_address(mine, counts[rank]);
  memset(all, 0, sizeof all);
  MPI_Allgatherv(MPI_BOTTOM, 1, less, all, counts, places, MPI_INT, MPI_COMM_WORLD);
  for (int r = 0; r < n_ranks; ++r) {
    for (int k = 0; k < counts[r]; ++k) CHECK(all[places[r] + k] == r * 1000 + k);
    CHECK(all[places[r] + counts[r]] == 0);
  }
  MPI_Type_free(&here);
  MPI_Type_free(&there);
  MPI_Type_free(&less);
}

#if MPI_VERSION >= 4 || (defined(OPEN_MPI) && OMPI_MAJOR_VERSION >= 5)
static void in_session(void) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  int me, n, sum = 0;
  CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session) == MPI_SUCCESS);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "eco-test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &n);
  for (int turn = 0; turn < 5; ++turn) {
    MPI_Request request;
    MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK(sum == n * (n - 1) / 2);
    MPI_Iallreduce(&me, &sum, 1, MPI_INT, MPI_SUM, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(sum == n * (n - 1) / 2);
    MPI_Barrier(comm);
  }
  if (me == 0) printf("right\n");
  fflush(stdout);
  MPI_Comm_free(&comm);
  MPI_Group_free(&group);
  MPI_Session_finalize(&session);
}
#else
static void in_session(void) {}
#endif

/* Bytes that no int counts, once by the type and, where the library has it, once by the count. */
static void huge(void) {
  const size_t half = (size_t)1 << 30, more = 2 * half + 11;
  char* data = malloc(more);
  MPI_Datatype block;
  CHECK(data != NULL);
  MPI_Type_contiguous((int)half, MPI_BYTE, &block);
  MPI_Type_commit(&block);
  memset(data, rank == 1 ? 5 : 0, more);
  MPI_Bcast(data, 2, block, 1, MPI_COMM_WORLD);
  CHECK(data[0] == 5 && data[2 * half - 1] == 5);
#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
  memset(data, rank == 0 ? 6 : 0, more);
  MPI_Bcast_c(data, (MPI_Count)more, MPI_BYTE, 0, MPI_COMM_WORLD);
  CHECK(data[0] == 6 && data[more - 1] == 6);
#endif
  MPI_Type_free(&block);
  free(data);
}

/* Heap in use after many communicators that were made, used and freed, less that after a few. */
static void growth(int turns) {
  struct mallinfo2 early = {0};
  for (int turn = 0; turn < turns; ++turn) {
    MPI_Comm comm;
    MPI_Request request;
    int sum = 0, all[64] = {0}, counts[16], places[16];
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int r = 0; r < n_ranks; ++r) counts[r] = 1, places[r] = 2 * r;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    MPI_Bcast(&sum, 1, MPI_INT, 0, comm);
    MPI_Allgatherv(&rank, 1, MPI_INT, all, counts, places, MPI_INT, comm);
    MPI_Ibcast(&sum, 1, MPI_INT, 0, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&comm);
    CHECK(sum == n_ranks * (n_ranks - 1) / 2 && all[2 * (n_ranks - 1)] == n_ranks - 1);
    if (turn == turns / 4) early = mallinfo2();
  }
  const struct mallinfo2 late = mallinfo2();
  if (rank == 0) printf("grown %zd\n", (ssize_t)(late.uordblks - early.uordblks));
}

int main(int argc, char** argv) {
  CHECK(argc >= 2);
  if (!strcmp(argv[1], "sessions_alone")) {
    in_session();
    return 0;
  }
  begin(&argc, &argv);
  if (!strcmp(argv[1], "bottom")) bottom();
  if (!strcmp(argv[1], "sessions")) in_session();
  if (!strcmp(argv[1], "huge")) huge();
  if (!strcmp(argv[1], "growth")) growth(atoi(argv[2]));
  return end();
}
