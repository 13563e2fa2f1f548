/* Every operation as ECO and as the library itself gives it, over random roots, sizes, types, operations and places; the
 * whole receive buffers are compared. Arguments: how many turns, the seed, and perhaps "alike".
 *
 * What a turn is made of is the same on all ranks, except what MPI leaves to each: in data movement every rank and side
 * picks a datatype of its own, and where the library has large counts every rank picks its binding. "alike": all ranks
 * pick the same, and one datatype for both sides, for a library whose own collectives want that. */
#include "check.h"

enum { kMostPairs = 25001, kMostRanks = 16, kRoom = 4 * kMostPairs * kMostRanks };
static const int kPairs[] = {0, 1, 2, 3, 17, 62, 63, 125, 256, 511, 1000, 4097, kMostPairs};

static unsigned common_state, own_state;
static int alike;
static unsigned next_of(unsigned* state, unsigned below) {
  *state = *state * 1664525u + 1013904223u;
  return (*state >> 8) % below;
}
static unsigned common(unsigned below) { return next_of(&common_state, below); }
static unsigned own(unsigned below) { return next_of(&own_state, below); }

/* n pairs of ints as one of several datatypes; all begin again `ints` ints after they began. */
typedef struct {
  MPI_Datatype type;
  int count, ints, freed;
} Layout;

static MPI_Datatype resized(MPI_Datatype raw, int ints) {
  MPI_Datatype type;
  MPI_Type_create_resized(raw, 0, (MPI_Aint)(ints * (int)sizeof(int)), &type);
  MPI_Type_free(&raw);
  MPI_Type_commit(&type);
  return type;
}

static Layout layout(int kind, int pairs) {
  MPI_Datatype raw;
  int one[2] = {1, 1}, where[2] = {2, 0};
  /* One element of nothing is no count of nothing: the libraries' own ranks then wait for each other. */
  switch (pairs > 0 ? kind : 0) {
    case 0:
      return (Layout){MPI_INT, 2 * pairs, 2 * pairs, 0};
    case 1: /* dense, derived */
      MPI_Type_contiguous(2, MPI_INT, &raw);
      MPI_Type_commit(&raw);
      return (Layout){raw, pairs, 2 * pairs, 1};
    case 2: /* x _ x _ */
      MPI_Type_vector(2, 1, 2, MPI_INT, &raw);
      return (Layout){resized(raw, 4), pairs, 4 * pairs, 1};
    case 3: /* the second one first */
      MPI_Type_indexed(2, one, where, MPI_INT, &raw);
      return (Layout){resized(raw, 3), pairs, 3 * pairs, 1};
    default: /* all of it one element */
      MPI_Type_vector(2 * pairs, 1, 2, MPI_INT, &raw);
      return (Layout){resized(raw, 4 * pairs), 1, 4 * pairs, 1};
  }
}

static int in[kRoom], out[kRoom], expected[kRoom], start[kRoom];

static void fill(int* data, int n, int salt) {
  for (int i = 0; i < n; ++i) data[i] = (i * 31 + salt * 101 + rank * 7) % 1009;
}

/* Chooses the binding: the same function with int or with large counts. */
#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
#define EITHER(name, ...) (own(2) ? MPI_##name(__VA_ARGS__) : MPI_##name##_c(__VA_ARGS__))
#else
#define EITHER(name, ...) MPI_##name(__VA_ARGS__)
#endif
/* Both ways, from the same start; then everything that was or was not written is compared. */
#define BOTH(buffer, name, served, stock)                                                                    \
  do {                                                                                                       \
    memcpy(start, buffer, sizeof(int) * (size_t)used);                                                       \
    CHECK((stock) == MPI_SUCCESS);                                                                           \
    memcpy(expected, buffer, sizeof(int) * (size_t)used);                                                    \
    memcpy(buffer, start, sizeof(int) * (size_t)used);                                                       \
    CHECK((served) == MPI_SUCCESS);                                                                          \
    if (memcmp(buffer, expected, sizeof(int) * (size_t)used)) {                                              \
      for (at = 0; buffer[at] == expected[at];) ++at;                                                        \
      fprintf(stderr,                                                                                        \
              name ": turn %d, rank %d of %d, root %d, pairs %d, in place %d: int %d is %d, not %d\n", turn, \
              me, n, root, pairs, in_place, at, buffer[at], expected[at]);                                   \
      MPI_Abort(MPI_COMM_WORLD, 8);                                                                          \
    }                                                                                                        \
  } while (0)

static void move(MPI_Comm comm, int turn) {
  int me, n, at;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &n);
  const int what = (int)common(5), root = (int)common((unsigned)n), in_place = (int)common(3) == 0;
  const int pairs = kPairs[common(n <= 4 ? sizeof kPairs / sizeof kPairs[0] : 11)];
  const int kind = (int)own(5);
  const Layout a = layout(kind, pairs), b = layout(alike ? kind : (int)own(5), pairs);
  const int used = 4 * pairs * n + 16;
  fill(in, used, turn);
  fill(out, used, turn + 500);
  const void* from = in;
  void* to = out;
  switch (what) {
    case 0:
      BOTH(out, "bcast", EITHER(Bcast, out, b.count, b.type, root, comm),
           PMPI_Bcast(out, b.count, b.type, root, comm));
      break;
    case 1:
      if (in_place && me == root) to = MPI_IN_PLACE;
      BOTH(out, "scatter", EITHER(Scatter, from, a.count, a.type, to, b.count, b.type, root, comm),
           PMPI_Scatter(from, a.count, a.type, to, b.count, b.type, root, comm));
      break;
    case 2:
      if (in_place && me == root) from = MPI_IN_PLACE;
      BOTH(out, "gather", EITHER(Gather, from, a.count, a.type, to, b.count, b.type, root, comm),
           PMPI_Gather(from, a.count, a.type, to, b.count, b.type, root, comm));
      break;
    case 3:
      if (in_place) from = MPI_IN_PLACE;
      BOTH(out, "allgather", EITHER(Allgather, from, a.count, a.type, to, b.count, b.type, comm),
           PMPI_Allgather(from, a.count, a.type, to, b.count, b.type, comm));
      break;
    case 4:
      if (in_place) from = MPI_IN_PLACE;
      BOTH(out, "alltoall", EITHER(Alltoall, from, a.count, a.type, to, b.count, b.type, comm),
           PMPI_Alltoall(from, a.count, a.type, to, b.count, b.type, comm));
      break;
  }
  MPI_Datatype types[2] = {a.type, b.type};
  if (a.freed) MPI_Type_free(&types[0]);
  if (b.freed) MPI_Type_free(&types[1]);
}

/* How many ints apart elements are, and the two ints of one. */
static int stride_of(MPI_Datatype type) {
  MPI_Aint lower, extent;
  MPI_Type_get_extent(type, &lower, &extent);
  return (int)extent / (int)sizeof(int);
}

/* x -> a x + b modulo a prime, applied one after the other: associative, and does not commute. */
enum { kPrime = 1009 };
static void compose(void* left, void* right, int* count, MPI_Datatype* type) {
  const int stride = stride_of(*type);
  const int* f = left;
  int* g = right;
  for (int i = 0; i < *count; ++i, f += stride, g += stride) {
    const int slope = f[0] * g[0] % kPrime, shift = (g[0] * f[1] + g[1]) % kPrime;
    g[0] = slope, g[1] = shift;
  }
}
static void add(void* left, void* right, int* count, MPI_Datatype* type) {
  const int ints = *count * stride_of(*type);
  for (int i = 0; i < ints; ++i) ((int*)right)[i] = (((int*)left)[i] + ((int*)right)[i]) % kPrime;
}

static void reduce(MPI_Comm comm, int turn, MPI_Op composing, MPI_Op adding) {
  int me, n, at;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &n);
  MPI_Datatype pair;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  const struct {
    MPI_Datatype type;
    MPI_Op op;
    int ints; /* of an element, in memory */
  } kinds[] = {{MPI_INT, MPI_SUM, 1},          {MPI_INT, MPI_MAX, 1},   {MPI_UNSIGNED_LONG, MPI_BXOR, 2},
               {MPI_2INT, MPI_MINLOC, 2},      {pair, composing, 2},    {pair, adding, 2},
               {MPI_INT, adding, 1},           {MPI_LONG, MPI_SUM, 2},  {MPI_UNSIGNED_CHAR, MPI_BAND, 1},
               {MPI_FLOAT_INT, MPI_MAXLOC, 2}, {MPI_SHORT, MPI_PROD, 1}};
  const int what = (int)common(6), root = (int)common((unsigned)n), in_place = (int)common(3) == 0;
  const int kind = (int)common(sizeof kinds / sizeof kinds[0]);
  const int pairs = kPairs[common(n <= 4 ? sizeof kPairs / sizeof kPairs[0] : 11)];
  const MPI_Datatype type = kinds[kind].type;
  const MPI_Op op = kinds[kind].op;
  const int blocked = what >= 4;
  const int used = pairs * kinds[kind].ints * (blocked ? n : 1) + 16;
  fill(in, used, turn);
  fill(out, used, turn + 500);
  const void* from = in;
  if (in_place && (what != 0 || me == root)) from = MPI_IN_PLACE;
  switch (what) {
    case 0:
      BOTH(out, "reduce", EITHER(Reduce, from, out, pairs, type, op, root, comm),
           PMPI_Reduce(from, out, pairs, type, op, root, comm));
      break;
    case 1:
      BOTH(out, "allreduce", EITHER(Allreduce, from, out, pairs, type, op, comm),
           PMPI_Allreduce(from, out, pairs, type, op, comm));
      break;
    case 2:
      BOTH(out, "scan", EITHER(Scan, from, out, pairs, type, op, comm),
           PMPI_Scan(from, out, pairs, type, op, comm));
      break;
    case 3:
      BOTH(out, "exscan", EITHER(Exscan, from, out, pairs, type, op, comm),
           PMPI_Exscan(from, out, pairs, type, op, comm));
      if (me == 0) CHECK(!memcmp(out, start, sizeof(int) * (size_t)used));
      break;
    case 4:
      BOTH(out, "reduce_scatter_block", EITHER(Reduce_scatter_block, in, out, pairs, type, op, comm),
           PMPI_Reduce_scatter_block(in, out, pairs, type, op, comm));
      break;
    case 5: {
      int counts[kMostRanks];
      const int unequal = pairs > 1 && common(4) == 0;
      for (int r = 0; r < n; ++r) counts[r] = pairs;
      if (unequal) counts[0] += 1, counts[n - 1] -= 1;
      BOTH(out, "reduce_scatter", MPI_Reduce_scatter(in, out, counts, type, op, comm),
           PMPI_Reduce_scatter(in, out, counts, type, op, comm));
      break;
    }
  }
  if (blocked && in_place) {
    /* Only this rank's block counts; what else the buffer held may be gone. */
    const size_t bytes = sizeof(int) * (size_t)(pairs * kinds[kind].ints);
    fill(out, used, turn);
    memcpy(start, out, sizeof(int) * (size_t)used);
    PMPI_Reduce_scatter_block(MPI_IN_PLACE, out, pairs, type, op, comm);
    memcpy(expected, out, bytes);
    memcpy(out, start, sizeof(int) * (size_t)used);
    EITHER(Reduce_scatter_block, MPI_IN_PLACE, out, pairs, type, op, comm);
    CHECK(!memcmp(out, expected, bytes));
  }
  MPI_Type_free(&pair);
}

int main(int argc, char** argv) {
  MPI_Comm comms[3];
  MPI_Op composing, adding;
  begin(&argc, &argv);
  alike = argc == 4 && !strcmp(argv[3], "alike");
  CHECK(argc == 3 + alike && n_ranks <= kMostRanks);
  own_state = (unsigned)atoi(argv[2]) * 31u + (alike ? 0u : (unsigned)rank * 7919u) + 1u;
  MPI_Op_create(compose, 0, &composing);
  MPI_Op_create(add, 1, &adding);
  /* The world, the world backwards, and without its last rank. */
  comms[0] = MPI_COMM_WORLD;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[1]);
  MPI_Comm_split(MPI_COMM_WORLD, rank == n_ranks - 1 && n_ranks > 1, rank, &comms[2]);
  for (int turn = 0; turn < atoi(argv[1]); ++turn) {
    /* Afresh every turn: the parts of the third, of different sizes, draw differently often. */
    common_state = ((unsigned)atoi(argv[2]) * 131071u + (unsigned)turn) * 2654435761u;
    const unsigned which = common(8);
    MPI_Comm comm = comms[which < 2 ? which + 1 : 0];
    if (common(2))
      move(comm, turn);
    else
      reduce(comm, turn, composing, adding);
    if (turn % 16 == 0) MPI_Barrier(comms[turn % 3]);
  }
  MPI_Op_free(&composing);
  MPI_Op_free(&adding);
  MPI_Comm_free(&comms[1]);
  MPI_Comm_free(&comms[2]);
  return end();
}
