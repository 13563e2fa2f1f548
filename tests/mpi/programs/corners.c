/* What is rare and legal, in parts: addresses from MPI_BOTTOM, Sessions, more than 2 GiB, lengths just at ECO's limits and
 * just beyond, memory that must not grow.
 *
 *   corners bottom | sessions | sessions_alone | huge | growth TURNS
 *   corners limits | allgather_limit | allreduce_limit | allreduce_beyond */
#define _GNU_SOURCE
#include <limits.h>
#include <malloc.h>
#include <stdint.h>

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

/* As many bytes as an int counts, and more, once by the type and, where the library has it, once by the count. */
static void huge(void) {
  const size_t half = (size_t)1 << 30, more = 2 * half + 11;
  char* data = malloc(more);
  MPI_Datatype block;
  CHECK(data != NULL);
  MPI_Type_contiguous((int)half, MPI_BYTE, &block);
  MPI_Type_commit(&block);
  memset(data, rank == 0 ? 4 : 0, more);
  MPI_Bcast(data, INT_MAX, MPI_BYTE, 0, MPI_COMM_WORLD);
  CHECK(data[0] == 4 && data[INT_MAX - 1] == 4 && (rank == 0 || data[INT_MAX] == 0));
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

/* Bytes by eights that are nowhere the same, nor for another `salt`. */
static uint64_t word(size_t i, int salt) { return (i + 1) * UINT64_C(0x9E3779B97F4A7C15) + (uint64_t)salt; }

static void fill(char* data, size_t bytes, int salt) {
  for (size_t i = 0; i < bytes / 8; ++i) {
    const uint64_t one = word(i, salt);
    memcpy(data + 8 * i, &one, 8);
  }
  const uint64_t last = word(bytes / 8, salt);
  memcpy(data + bytes / 8 * 8, &last, bytes % 8);
}

static int is_filled(const char* data, size_t bytes, int salt) {
  uint64_t differ = 0;
  for (size_t i = 0; i < bytes / 8; ++i) {
    uint64_t one;
    memcpy(&one, data + 8 * i, 8);
    differ |= one ^ word(i, salt);
  }
  const uint64_t last = word(bytes / 8, salt);
  return differ == 0 && !memcmp(data + bytes / 8 * 8, &last, bytes % 8);
}

/* In place, by exclusive or: rank 0 has the data, the others a byte each. */
static void allreduce_bytes(char* data, size_t bytes, int count, MPI_Datatype type) {
  if (rank == 0)
    fill(data, bytes, 3);
  else
    memset(data, rank, bytes);
  CHECK(MPI_Allreduce(MPI_IN_PLACE, data, count, type, MPI_BXOR, MPI_COMM_WORLD) == MPI_SUCCESS);
  int rest = 0;
  for (int r = 1; r < n_ranks; ++r) rest ^= r;
  for (size_t i = 0; i < bytes; ++i) data[i] ^= (char)rest;
  CHECK(is_filled(data, bytes, 3));
}

/* Calls as long as those below alone arm nothing, whatever the plan. */
static void arm(void) {
  int n = 0, one = 1;
  CHECK(MPI_Allreduce(&one, &n, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS && n == n_ranks);
}

/* 256 MiB in all and one more byte; one rank's bytes lie with gaps. An allreduce's limit is elsewhere. */
static void limits(void) {
  enum { kPiece = 1024, kGap = 8, kMost = 1 << 28 };
  const size_t pieces = kMost / kPiece;
  char* data = malloc(pieces * (kPiece + kGap));
  MPI_Datatype piece, spread;
  CHECK(data != NULL);
  arm();
  MPI_Type_contiguous(kPiece, MPI_BYTE, &piece);
  MPI_Type_create_resized(piece, 0, kPiece + kGap, &spread);
  MPI_Type_commit(&spread);
  for (int more = 0; more < 2; ++more) {
    const int bytes = kMost + more;
    if (rank == 1)
      fill(data, (size_t)bytes, 1);
    else
      memset(data, 0, (size_t)bytes);
    CHECK(MPI_Bcast(data, bytes, MPI_BYTE, 1, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(is_filled(data, (size_t)bytes, 1));

    const size_t block = (size_t)kMost / (size_t)n_ranks + (size_t)more;
    char* all = malloc(block * (size_t)n_ranks);
    CHECK(all != NULL);
    fill(data, block, rank);
    CHECK(MPI_Allgather(data, (int)block, MPI_BYTE, all, (int)block, MPI_BYTE, MPI_COMM_WORLD) ==
          MPI_SUCCESS);
    for (int r = 0; r < n_ranks; ++r) CHECK(is_filled(all + block * (size_t)r, block, r));
    free(all);

    allreduce_bytes(data, (size_t)bytes, bytes, MPI_BYTE);
  }
  /* Packed on the last rank, which is as large a second buffer. */
  memset(data, rank, pieces * (kPiece + kGap));
  if (rank == 0) fill(data, kMost, 2);
  if (rank == n_ranks - 1)
    CHECK(MPI_Bcast(data, (int)pieces, spread, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
  else
    CHECK(MPI_Bcast(data, kMost, MPI_BYTE, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
  if (rank == n_ranks - 1) {
    for (size_t i = 0; i < pieces; ++i) {
      const char* gap = data + i * (kPiece + kGap) + kPiece;
      for (int k = 0; k < kGap; ++k) CHECK(gap[k] == rank);
    }
    for (size_t i = 1; i < pieces; ++i) memmove(data + i * kPiece, data + i * (kPiece + kGap), kPiece);
  }
  CHECK(is_filled(data, kMost, 2));
  MPI_Type_free(&spread);
  MPI_Type_free(&piece);
  free(data);
}

/* In all just below 2 GiB, and more than that. */
static void allgather_limit(void) {
  const size_t half = (size_t)1 << 30;
  char* data = malloc((half + 1) * (size_t)n_ranks);
  CHECK(data != NULL && n_ranks == 2);
  arm();
  for (size_t block = half - 1; block <= half + 1; block += 2) {
    memset(data, 0, block * 2);
    fill(data + block * (size_t)rank, block, rank);
    CHECK(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, (int)block, MPI_BYTE, MPI_COMM_WORLD) ==
          MPI_SUCCESS);
    for (int r = 0; r < n_ranks; ++r) CHECK(is_filled(data + block * (size_t)r, block, r));
  }
  free(data);
}

/* As many bytes as an int counts, or one more. */
static void allreduce_limit(int more) {
  const size_t bytes = (size_t)INT_MAX + (size_t)more;
  char* data = malloc(bytes);
  CHECK(data != NULL);
  arm();
  if (more == 0)
    allreduce_bytes(data, bytes, INT_MAX, MPI_BYTE);
  else
    allreduce_bytes(data, bytes, (int)(bytes / sizeof(uint64_t)), MPI_UINT64_T);
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
  if (!strcmp(argv[1], "limits")) limits();
  if (!strcmp(argv[1], "allgather_limit")) allgather_limit();
  if (!strcmp(argv[1], "allreduce_limit")) allreduce_limit(0);
  if (!strcmp(argv[1], "allreduce_beyond")) allreduce_limit(1);
  if (!strcmp(argv[1], "growth")) growth(atoi(argv[2]));
  return end();
}
