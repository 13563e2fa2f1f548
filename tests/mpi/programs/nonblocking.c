/* Nonblocking collectives that ECO serves: in any number, beside everything else, with handles freed early.
 *
 *   nonblocking PART        one of the parts below, each on every rank */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

#include "check.h"

enum { kMost = 40000, kMany = 1500, kThreads = 3, kMostRanks = 8 };

static const char* (*last_algorithm)(void);

/* Not for lack of trying is this one native. */
static void must_be_served(void) {
  if (last_algorithm != NULL) CHECK(strcmp(last_algorithm(), "native") != 0);
}

/* A plan is used for nonblocking calls of what blocking ones have armed and learned. */
static void arm(MPI_Comm comm) {
  int in[64] = {0}, out[64], ones[kMostRanks];
  for (int i = 0; i < kMostRanks; ++i) ones[i] = 1;
  for (int turn = 0; turn < 2; ++turn) {
    MPI_Allreduce(in, out, 2, MPI_INT, MPI_SUM, comm);
    MPI_Bcast(in, 1, MPI_INT, 0, comm);
    MPI_Allgather(in, 1, MPI_INT, out, 1, MPI_INT, comm);
    MPI_Reduce_scatter(in, out, ones, MPI_INT, MPI_SUM, comm);
  }
  if (last_algorithm != NULL) last_algorithm(); /* of the calls that follow alone */
}

/* Two at once that no number of ranks divides, so that one has a part more than its plan's largest call, and channels for it:
 * whose messages are the other's, if tags are too few. */
static void remainders(void) {
  enum { kOdd = (1 << 17) - 1, kScanned = 1 << 14 };
  static unsigned char all[kOdd], out[kOdd], mine[kScanned], sums[kScanned];
  arm(MPI_COMM_WORLD);
  MPI_Reduce(all, out, 64, MPI_UNSIGNED_CHAR, MPI_BOR, 0, MPI_COMM_WORLD); /* learned */
  MPI_Scan(mine, sums, 64, MPI_UNSIGNED_CHAR, MPI_BOR, MPI_COMM_WORLD);
  for (int turn = 0; turn < 10; ++turn) {
    MPI_Request requests[2];
    for (int i = 0; i < kOdd; ++i) all[i] = (unsigned char)(1 << rank), out[i] = 0;
    for (int i = 0; i < kScanned; ++i) mine[i] = (unsigned char)(i + rank), sums[i] = 0;
    MPI_Ireduce(all, out, kOdd, MPI_UNSIGNED_CHAR, MPI_BOR, n_ranks - 1, MPI_COMM_WORLD, &requests[0]);
    must_be_served();
    MPI_Iscan(mine, sums, kScanned, MPI_UNSIGNED_CHAR, MPI_BXOR, MPI_COMM_WORLD, &requests[1]);
    must_be_served();
    int number = rank, numbers[kMostRanks];
    MPI_Allgather(&number, 1, MPI_INT, numbers, 1, MPI_INT, MPI_COMM_WORLD);
    for (int i = 1; i >= 0; --i) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    for (int i = 0; rank == n_ranks - 1 && i < kOdd; ++i) CHECK(out[i] == (1 << n_ranks) - 1);
    for (int i = 0; i < kScanned; ++i) {
      unsigned char sum = 0;
      for (int r = 0; r <= rank; ++r) sum ^= (unsigned char)(i + r);
      CHECK(sums[i] == sum);
    }
  }
}

/* Far more at once than there are tags for, of two kinds and many sizes, completed in another order. */
static void many(void) {
  static int data[kMany][301], sums[kMany];
  static MPI_Request requests[kMany], reversed[kMany];
  arm(MPI_COMM_WORLD);
  for (int i = 0; i < kMany; ++i) {
    const int root = i % n_ranks, count = 1 + i % 301;
    for (int k = 0; k < count; ++k) data[i][k] = rank == root ? i + k : -1;
    if (i % 3 != 0) {
      MPI_Ibcast(data[i], count, MPI_INT, root, MPI_COMM_WORLD, &requests[i]);
    } else {
      data[i][0] = i + rank;
      MPI_Iallreduce(&data[i][0], &sums[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[i]);
    }
    must_be_served();
    if (i == kMany / 2 && rank == n_ranks - 1) usleep(200000); /* the others run ahead */
  }
  for (int i = 0; i < kMany; ++i) reversed[i] = requests[kMany - 1 - i];
  for (int left = kMany; left > 0;) {
    int done, indices[kMany];
    if (left % 2)
      MPI_Waitsome(kMany, reversed, &done, indices, MPI_STATUSES_IGNORE);
    else
      MPI_Testsome(kMany, reversed, &done, indices, MPI_STATUSES_IGNORE);
    if (done > 0) left -= done;
  }
  for (int i = 0; i < kMany; ++i) {
    if (i % 3 == 0) CHECK(sums[i] == n_ranks * i + n_ranks * (n_ranks - 1) / 2);
    for (int k = 0; i % 3 != 0 && k < 1 + i % 301; ++k) CHECK(data[i][k] == i + k);
  }
}

/* Whoever is in between sits in a receive until the last one has its data. */
static void progress(void) {
  static int data[kMost];
  MPI_Request request;
  arm(MPI_COMM_WORLD);
  for (int turn = 0; turn < 10; ++turn) {
    int token = turn;
    for (int k = 0; k < kMost; ++k) data[k] = rank == 0 ? k + turn : -1;
    MPI_Ibcast(data, kMost, MPI_INT, 0, MPI_COMM_WORLD, &request);
    must_be_served();
    if (rank == n_ranks - 1) {
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      for (int to = 0; to < n_ranks - 1; ++to) MPI_Ssend(&token, 1, MPI_INT, to, 3, MPI_COMM_WORLD);
    } else {
      MPI_Recv(&token, 1, MPI_INT, n_ranks - 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    for (int k = 0; k < kMost; ++k) CHECK(data[k] == k + turn);
  }
}

/* Blocking collectives, messages of the program's own, and a communicator that is armed meanwhile. */
static void beside(void) {
  static int data[kMost], sums[kMost], ones[kMost];
  arm(MPI_COMM_WORLD);
  for (int k = 0; k < kMost; ++k) ones[k] = 1;
  for (int turn = 0; turn < 10; ++turn) {
    MPI_Request requests[4];
    MPI_Status statuses[4];
    MPI_Comm other;
    int got = -1, flag = 0, small = rank, sum = 0;
    for (int k = 0; k < kMost; ++k) data[k] = rank == turn % n_ranks ? k - turn : -1, sums[k] = -1;
    MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Ibcast(data, kMost, MPI_INT, turn % n_ranks, MPI_COMM_WORLD, &requests[1]);
    must_be_served();
    MPI_Iallreduce(ones, sums, kMost, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[2]);
    must_be_served();
    MPI_Allreduce(&small, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == n_ranks * (n_ranks - 1) / 2);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &other);
    MPI_Allreduce(&small, &sum, 1, MPI_INT, MPI_SUM, other);
    MPI_Comm_free(&other);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Isend(&rank, 1, MPI_INT, (rank + 1) % n_ranks, 9, MPI_COMM_WORLD, &requests[3]);
    MPI_Request_get_status(requests[2], &flag, &statuses[0]);
    MPI_Waitall(4, requests, statuses);
    for (int i = 0; i < 4; ++i) CHECK(requests[i] == MPI_REQUEST_NULL);
    CHECK(got == (rank + n_ranks - 1) % n_ranks && statuses[0].MPI_SOURCE == got && statuses[0].MPI_TAG == 9);
    for (int k = 0; k < kMost; ++k) CHECK(data[k] == k - turn && sums[k] == n_ranks);
  }
}

/* Communicator and datatype are gone before the call has ended. */
static void freed(void) {
  static int data[2 * kMost];
  for (int turn = 0; turn < 20; ++turn) {
    MPI_Comm comm;
    MPI_Datatype type;
    MPI_Request request;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    arm(comm);
    for (int k = 0; k < 2 * kMost; ++k) data[k] = k % 2 ? -7 : rank == turn % n_ranks ? k + turn : -1;
    MPI_Type_vector(kMost, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Ibcast(data, 1, type, turn % n_ranks, comm, &request);
    must_be_served();
    MPI_Type_free(&type);
    MPI_Comm_free(&comm);
    if (rank == turn % n_ranks) usleep(1000);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int k = 0; k < 2 * kMost; ++k) CHECK(data[k] == (k % 2 ? -7 : k + turn));
  }
}

/* Counts for every rank, in arrays that are overwritten as soon as a call that ECO serves has returned: it has its own. */
enum { kBlock = 3000 };
typedef struct {
  int counts[kMostRanks], places[kMostRanks], from[kMostRanks * kBlock], to[kMostRanks * kBlock];
  MPI_Request request;
} Uneven;

/* Blocks of nearly one length, which are padded, with a hole behind each. */
static int lengths(Uneven* u, int turn) {
  const int longest = 20 + turn * 97 % (kBlock - 20);
  for (int i = 0; i < n_ranks; ++i) {
    u->counts[i] = longest - (i + turn) % 3;
    u->places[i] = i * kBlock;
  }
  return u->counts[rank];
}

static void scribble(Uneven* u) {
  if (last_algorithm == NULL) return;
  for (int i = 0; i < n_ranks; ++i) u->counts[i] = u->places[i] = -12345;
}

/* Odd turns in place; the datatype of the others is freed at once. */
static void gather_uneven(Uneven* u, int turn, MPI_Comm comm) {
  MPI_Datatype type;
  const int mine = lengths(u, turn), at = u->places[rank];
  for (int k = 0; k < n_ranks * kBlock; ++k) u->to[k] = -1;
  for (int k = 0; k < mine; ++k) (turn % 2 ? u->to + at : u->from)[k] = rank * 100000 + turn + k;
  MPI_Type_contiguous(1, MPI_INT, &type);
  MPI_Type_commit(&type);
  if (turn % 2)
    MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, u->to, u->counts, u->places, type, comm, &u->request);
  else
    MPI_Iallgatherv(u->from, mine, MPI_INT, u->to, u->counts, u->places, type, comm, &u->request);
  must_be_served();
  MPI_Type_free(&type);
  scribble(u);
}
static void check_gathered(const Uneven* u, int turn) {
  Uneven expected;
  lengths(&expected, turn);
  for (int i = 0; i < n_ranks; ++i)
    for (int k = 0; k < kBlock; ++k)
      CHECK(u->to[i * kBlock + k] == (k < expected.counts[i] ? i * 100000 + turn + k : -1));
}

static void reduce_uneven(Uneven* u, int turn, MPI_Comm comm) {
  lengths(u, turn);
  for (int i = 0, k = 0; i < n_ranks; ++i)
    for (int j = 0; j < u->counts[i]; ++j, ++k) {
      u->from[k] = i * 1000 + j + rank;
      u->to[k] = turn % 2 ? u->from[k] : -1;
    }
  MPI_Ireduce_scatter(turn % 2 ? MPI_IN_PLACE : u->from, u->to, u->counts, MPI_INT, MPI_SUM, comm,
                      &u->request);
  must_be_served();
  scribble(u);
}
static void check_reduced(const Uneven* u, int turn) {
  Uneven expected;
  const int mine = lengths(&expected, turn);
  for (int j = 0; j < mine; ++j) CHECK(u->to[j] == n_ranks * (rank * 1000 + j) + n_ranks * (n_ranks - 1) / 2);
  if (turn % 2 == 0) CHECK(u->to[mine] == -1);
}

/* Several of both kinds at once, completed together, beside blocking calls; at last the communicator is gone before they
 * have ended. */
static void uneven(void) {
  enum { kAtOnce = 6 };
  static Uneven work[kAtOnce];
  for (int turn = 0; turn < 12; ++turn) {
    MPI_Request requests[kAtOnce];
    MPI_Comm comm;
    int sum = 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    arm(comm);
    for (int i = 0; i < kAtOnce; ++i) {
      (i % 2 ? reduce_uneven : gather_uneven)(&work[i], turn + i, comm);
      requests[i] = work[i].request;
      if (i == kAtOnce / 2) {
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
        CHECK(sum == n_ranks * (n_ranks - 1) / 2);
      }
    }
    if (turn % n_ranks == rank) usleep(2000);
    MPI_Comm_free(&comm);
    MPI_Waitall(kAtOnce, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < kAtOnce; ++i) (i % 2 ? check_reduced : check_gathered)(&work[i], turn + i);
  }
}

/* Blocks that would be padded too much, and a count that MPI objects to, are the library's. */
static void uneven_alone(void) {
  static Uneven u;
  MPI_Request request = MPI_REQUEST_NULL;
  arm(MPI_COMM_WORLD);
  for (int i = 0; i < n_ranks; ++i) u.counts[i] = i == 0 ? 100 : 1, u.places[i] = i == 0 ? 0 : 100 + i;
  for (int k = 0; k < u.counts[rank]; ++k) u.from[k] = rank + k;
  MPI_Iallgatherv(u.from, u.counts[rank], MPI_INT, u.to, u.counts, u.places, MPI_INT, MPI_COMM_WORLD,
                  &request);
  if (last_algorithm != NULL) CHECK(!strcmp(last_algorithm(), "native"));
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < n_ranks; ++i)
    for (int k = 0; k < u.counts[i]; ++k) CHECK(u.to[u.places[i] + k] == i + k);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  u.counts[n_ranks - 1] = -3;
  CHECK(MPI_Ireduce_scatter(u.from, u.to, u.counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request) !=
        MPI_SUCCESS);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* Large counts: many under way, first of the library's, then of ECO's, and memory for their arrays is not used up: what is
 * lost in every call grows in all eighths of the turns, what a library keeps for messages of a rank that ran ahead in some.
 * Weak, since under a library that has none only ECO's preload has them. */
__attribute__((weak)) int MPI_Iallgatherv_c(const void*, MPI_Count, MPI_Datatype, void*, const MPI_Count*,
                                            const MPI_Aint*, MPI_Datatype, MPI_Comm, MPI_Request*);
static void large(void) {
  enum { kAtOnce = 50, kTurns = 400, kSome = kTurns / 8 };
  static int data[kAtOnce][kMostRanks];
  MPI_Request requests[kAtOnce];
  MPI_Count counts[kMostRanks];
  MPI_Aint places[kMostRanks];
  size_t before = 0, least_grown = SIZE_MAX;
  if (MPI_Iallgatherv_c == NULL) return;
  for (int i = 0; i < n_ranks; ++i) counts[i] = 1, places[i] = n_ranks - 1 - i;
  for (int turn = 0; turn < 2 * kTurns; ++turn) {
    if (turn == kTurns) arm(MPI_COMM_WORLD);
    if (turn % kTurns == 0) before = mallinfo2().uordblks, least_grown = SIZE_MAX;
    for (int i = 0; i < kAtOnce; ++i) {
      data[i][n_ranks - 1 - rank] = rank + turn + i;
      MPI_Iallgatherv_c(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data[i], counts, places, MPI_INT, MPI_COMM_WORLD,
                        &requests[i]);
      if (turn >= kTurns) must_be_served();
    }
    MPI_Waitall(kAtOnce, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < kAtOnce; ++i)
      for (int k = 0; k < n_ranks; ++k) CHECK(data[i][n_ranks - 1 - k] == k + turn + i);
    if (turn % kSome == kSome - 1) {
      const size_t now = mallinfo2().uordblks, grown = now > before ? now - before : 0;
      if (grown < least_grown) least_grown = grown;
      before = now;
    }
    if (turn % kTurns == kTurns - 1) CHECK(least_grown < kAtOnce * kSome * 16);
  }
}

/* An operation of the program's own may be freed at once: these calls are the library's. And one that
 * was not planned is looked for by the next blocking call; the plan of this test has nothing for it. */
static void last_second(void* left, void* right, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) ((int*)right)[i] += ((int*)left)[i];
}
static void left_alone(void) {
  int sum = 0, gathered[16], turn;
  MPI_Op own;
  MPI_Request request;
  arm(MPI_COMM_WORLD);
  MPI_Op_create(last_second, 1, &own);
  MPI_Iallreduce(&rank, &sum, 1, MPI_INT, own, MPI_COMM_WORLD, &request);
  if (last_algorithm != NULL) CHECK(!strcmp(last_algorithm(), "native"));
  MPI_Op_free(&own);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(sum == n_ranks * (n_ranks - 1) / 2);
  for (turn = 0; turn < 2; ++turn) {
    if (last_algorithm != NULL) last_algorithm();
    MPI_Igather(&rank, 1, MPI_INT, gathered, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
    if (last_algorithm != NULL) CHECK(!strcmp(last_algorithm(), "native"));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; rank == 0 && i < n_ranks; ++i) CHECK(gathered[i] == i);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
}

/* On a communicator that no other blocking call has than barriers: the first arms, for what was begun before it and may still be
 * under way, and the next ones learn what else there is. */
static void barriers(void) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (int turn = 0; turn < 6; ++turn) {
    MPI_Request requests[2];
    int data = rank == 0 ? 40 + turn : 0, sum = 0;
    MPI_Ibcast(&data, 1, MPI_INT, 0, comm, &requests[0]);
    if (turn > 0) must_be_served();
    if (turn == 0) MPI_Barrier(comm);
    MPI_Iallreduce(&turn, &sum, 1, MPI_INT, MPI_SUM, comm, &requests[1]);
    if (turn > 1) must_be_served();
    if (rank == turn % n_ranks) usleep(2000);
    if (turn % 2 != 0) MPI_Barrier(comm);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK(data == 40 + turn && sum == turn * n_ranks);
  }
  MPI_Comm_free(&comm);
}

/* Rank 0 begins one more than the others, which the library refuses: none of them has been called 32 times in the first barrier,
 * all have in the second. */
static void refused(void) {
  MPI_Datatype uncommitted;
  MPI_Request request;
  int data[2] = {0, 0};
  MPI_Type_contiguous(2, MPI_INT, &uncommitted);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (rank == 0) CHECK(MPI_Ibcast(data, 1, uncommitted, 0, MPI_COMM_WORLD, &request) != MPI_SUCCESS);
  for (int i = 0; i < 31; ++i) {
    if (i == 30) MPI_Barrier(MPI_COMM_WORLD);
    data[0] = rank == 0 ? i : -1;
    MPI_Ibcast(data, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(data[0] == i);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Type_free(&uncommitted);
}

/* Each thread has a communicator of its own. */
static void* in_thread(void* argument) {
  MPI_Comm comm = *(MPI_Comm*)argument;
  int* data = malloc(sizeof(int) * kMost);
  for (int turn = 0; turn < 30; ++turn) {
    MPI_Request requests[2];
    int sum = 0, count = turn % 3 ? 50 : kMost;
    for (int k = 0; k < count; ++k) data[k] = rank == turn % n_ranks ? k + turn : -1;
    MPI_Ibcast(data, count, MPI_INT, turn % n_ranks, comm, &requests[0]);
    must_be_served();
    MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm, &requests[1]);
    must_be_served();
    if (turn % 2)
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    else
      for (int flag = 0; !flag;) MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
    CHECK(sum == n_ranks * (n_ranks - 1) / 2);
    for (int k = 0; k < count; ++k) CHECK(data[k] == k + turn);
  }
  free(data);
  return NULL;
}
static void threads(void) {
  MPI_Comm comms[kThreads];
  pthread_t ids[kThreads];
  for (int i = 0; i < kThreads; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]), arm(comms[i]);
  for (int i = 0; i < kThreads; ++i) pthread_create(&ids[i], NULL, in_thread, &comms[i]);
  for (int i = 0; i < kThreads; ++i) pthread_join(ids[i], NULL);
  for (int i = 0; i < kThreads; ++i) MPI_Comm_free(&comms[i]);
}

int main(int argc, char** argv) {
  const struct {
    const char* name;
    void (*run)(void);
  } parts[] = {
      {"many", many},       {"progress", progress},         {"beside", beside},         {"freed", freed},
      {"uneven", uneven},   {"uneven_alone", uneven_alone}, {"left_alone", left_alone}, {"large", large},
      {"threads", threads}, {"remainders", remainders},     {"barriers", barriers},     {"refused", refused}};
  int provided, found = 0;
  CHECK(argc == 2);
  MPI_Init_thread(&argc, &argv, strcmp(argv[1], "threads") ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE,
                  &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
  last_algorithm = (const char* (*)(void))dlsym(RTLD_DEFAULT, "eco_last_algorithm");
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; ++i) {
    if (!strcmp(parts[i].name, argv[1])) parts[i].run(), found = 1;
  }
  CHECK(found);
  return end();
}
