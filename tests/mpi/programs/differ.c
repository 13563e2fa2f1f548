/* Mistakes that ECO_CHECK=communication finds before they hang or give wrong bytes: one rank's call is not the others'.
 *
 *   differ WHAT       rank 1's mistake; what would be right comes first
 *   differ errors     under MPI_ERRORS_RETURN: every rank gets an error, here and in its later calls */
#include "check.h"

enum { kBytes = 1024 };
static char data[kBytes * 16], out[kBytes * 16];
static int other; /* this rank is the one that is mistaken */
static MPI_Comm world;

static void root(void) { MPI_Bcast(data, kBytes, MPI_CHAR, other, world); }

static void count(void) { MPI_Bcast(data, other ? kBytes / 2 : kBytes, MPI_CHAR, 0, world); }

static void operation(void) { MPI_Allreduce(data, out, 2, MPI_INT, other ? MPI_MAX : MPI_SUM, world); }

static void type(void) { MPI_Allreduce(data, out, 2, other ? MPI_FLOAT : MPI_INT, MPI_SUM, world); }

static void collective(void) {
  if (other)
    MPI_Allgather(data, 8, MPI_CHAR, out, 8, MPI_CHAR, world);
  else
    MPI_Bcast(data, kBytes, MPI_CHAR, 0, world);
}

static void form(void) {
  MPI_Request request;
  if (!other) {
    MPI_Bcast(data, kBytes, MPI_CHAR, 0, world);
    return;
  }
  MPI_Ibcast(data, kBytes, MPI_CHAR, 0, world, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Rank 1 gives more than the root has room for. */
static void truncation(void) {
  MPI_Gather(data, other ? 2 * kBytes : kBytes, MPI_CHAR, out, kBytes, MPI_CHAR, 0, world);
}

static void sides(void) {
  MPI_Allgather(data, other ? kBytes / 2 : kBytes, MPI_CHAR, out, kBytes, MPI_CHAR, world);
}

static void counts(void) {
  int lengths[16], places[16];
  for (int i = 0; i < n_ranks; ++i) {
    lengths[i] = 8 * (i + 1);
    places[i] = kBytes * i;
  }
  /* The sum is the same. */
  if (other) lengths[0] += 8, lengths[1] -= 8;
  MPI_Allgatherv(data, lengths[rank], MPI_CHAR, out, lengths, places, MPI_CHAR, world);
}

static void arguments(void) { MPI_Bcast(data, other ? -1 : kBytes, MPI_CHAR, 0, world); }

static void varying(void) {
  int lengths[16], places[16];
  for (int i = 0; i < n_ranks; ++i) {
    lengths[i] = 8;
    places[i] = 8 * i;
  }
  MPI_Gatherv(data, 8, MPI_CHAR, out, lengths, places, MPI_CHAR, other, world);
}

static void all_to_all(void) {
  int lengths[16], places[16];
  for (int i = 0; i < n_ranks; ++i) {
    lengths[i] = 8;
    places[i] = 8 * i;
  }
  if (other)
    MPI_Scatterv(data, lengths, places, MPI_CHAR, out, 8, MPI_CHAR, 0, world);
  else
    MPI_Alltoallv(data, lengths, places, MPI_CHAR, out, lengths, places, MPI_CHAR, world);
}

static void topology(void) {
  const int size = n_ranks, closed = 1;
  MPI_Comm ring;
  MPI_Cart_create(world, 1, &size, &closed, !other, &ring);
}

/* It ends instead. */
static void missing(void) {
  if (!other) MPI_Barrier(world);
}

/* Of two nonblocking calls, and waits for both: nobody comes to another call. */
static void order(void) {
  MPI_Request requests[2];
  for (int i = 0; i < 2; ++i) {
    if (i == other)
      MPI_Ibcast(data, kBytes, MPI_CHAR, 0, world, &requests[i]);
    else
      MPI_Iallreduce(out, out + kBytes, 2, MPI_INT, MPI_SUM, world, &requests[i]);
  }
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void subgroup(void) {
  MPI_Comm pair;
  const int in_pair = rank < 2;
  MPI_Comm_split(MPI_COMM_WORLD, in_pair, -rank, &pair);
  MPI_Bcast(data, other ? 8 : 16, MPI_CHAR, 0, pair);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void errors(void) {
  MPI_Request request;
  MPI_Comm comm;
  int class = MPI_SUCCESS;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  CHECK(MPI_Bcast(data, kBytes, MPI_CHAR, 0, comm) == MPI_SUCCESS);
  MPI_Error_class(MPI_Bcast(data, other ? 8 : 16, MPI_CHAR, 0, comm), &class);
  CHECK(class == MPI_ERR_OTHER);
  CHECK(MPI_Bcast(data, kBytes, MPI_CHAR, 0, comm) != MPI_SUCCESS);
  CHECK(MPI_Ibcast(data, kBytes, MPI_CHAR, 0, comm, &request) != MPI_SUCCESS);
  CHECK(MPI_Barrier(comm) != MPI_SUCCESS);
  /* Nothing else is lost. */
  CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
  MPI_Comm_free(&comm);
}

static const struct {
  const char* name;
  void (*run)(void);
} kMistakes[] = {{"root", root},         {"count", count},           {"operation", operation},
                 {"type", type},         {"collective", collective}, {"form", form},
                 {"sides", sides},       {"truncation", truncation}, {"counts", counts},
                 {"missing", missing},   {"arguments", arguments},   {"order", order},
                 {"varying", varying},   {"all_to_all", all_to_all}, {"topology", topology},
                 {"subgroup", subgroup}, {"errors", errors}};

int main(int argc, char** argv) {
  int found = 0;
  begin(&argc, &argv);
  CHECK(argc == 2);
  world = MPI_COMM_WORLD;
  for (size_t i = 0; i < sizeof kMistakes / sizeof *kMistakes; ++i) {
    if (strcmp(argv[1], kMistakes[i].name)) continue;
    found = 1;
    MPI_Bcast(data, kBytes, MPI_CHAR, 0, MPI_COMM_WORLD);
    MPI_Allreduce(data, out, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    other = rank == 1;
    kMistakes[i].run();
  }
  CHECK(found);
  return end();
}
