/* Every collective call in every form that the library has, against the library itself (PMPI_...), on arguments drawn at
 * random: communicators, counts (zero too), datatypes with gaps, roots, in place, inter-communicators.
 *
 *   calls TURNS [SEED]
 *
 * calls.inc is written by test_calls.py from the library's own mpi.h, one line per call: CALL(form, Base, base, suffix). A
 * call that is in there and has no ARGUMENTS_ below does not compile. One line per call on rank 0: name, tries, how many
 * of them ECO served ("MPI_Bcast 24 21"). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

#include "check.h"

enum { kMostRanks = 16, kMostElements = 3010, kMostBytes = kMostRanks * kMostElements * 16 };

static char in[kMostBytes], out[kMostBytes], expected[kMostBytes];

/* One call's arguments. `from` and `to` are MPI_IN_PLACE where this call is in place and all ranks may say so,
 * `from_root` and `to_root` where the root may. Arrays end in _c for the calls with large counts. */
typedef struct {
  MPI_Comm comm, ring;
  int me, n, root, is_inter, in_place, count, mine;
  void *from, *from_root, *to_root;
  MPI_Datatype type, element;
  MPI_Op op;
  int counts[kMostRanks], displs[kMostRanks], row[kMostRanks], row_at[kMostRanks], column[kMostRanks],
      column_at[kMostRanks], row_bytes[kMostRanks], column_bytes[kMostRanks];
  int near[2], near_at[2], beside[2], beside_at[2];
  MPI_Count counts_c[kMostRanks], row_c[kMostRanks], column_c[kMostRanks], near_c[2], beside_c[2];
  MPI_Aint displs_c[kMostRanks], row_at_c[kMostRanks], column_at_c[kMostRanks], row_bytes_c[kMostRanks],
      column_bytes_c[kMostRanks], near_at_c[2], beside_at_c[2], beside_bytes[2];
  MPI_Datatype types[kMostRanks];
} Case;

#define N(S) (COUNT##S) c->count
#define MINE(S) (COUNT##S) c->mine
#define COUNT int
#define COUNT_c MPI_Count

#define ARGUMENTS_Barrier(S) c->comm
#define ARGUMENTS_Bcast(S) out, N(S), c->type, c->root, c->comm
#define ARGUMENTS_Gather(S) c->from_root, N(S), c->type, out, N(S), c->type, c->root, c->comm
#define ARGUMENTS_Gatherv(S) \
  c->from_root, MINE(S), c->type, out, c->counts##S, c->displs##S, c->type, c->root, c->comm
#define ARGUMENTS_Scatter(S) in, N(S), c->type, c->to_root, N(S), c->type, c->root, c->comm
#define ARGUMENTS_Scatterv(S) \
  in, c->counts##S, c->displs##S, c->type, c->to_root, MINE(S), c->type, c->root, c->comm
#define ARGUMENTS_Allgather(S) c->from, N(S), c->type, out, N(S), c->type, c->comm
#define ARGUMENTS_Allgatherv(S) c->from, MINE(S), c->type, out, c->counts##S, c->displs##S, c->type, c->comm
#define ARGUMENTS_Alltoall(S) c->from, N(S), c->type, out, N(S), c->type, c->comm
#define ARGUMENTS_Alltoallv(S) \
  c->from, c->row##S, c->row_at##S, c->type, out, c->column##S, c->column_at##S, c->type, c->comm
#define ARGUMENTS_Alltoallw(S) \
  c->from, c->row##S, c->row_bytes##S, c->types, out, c->column##S, c->column_bytes##S, c->types, c->comm
#define ARGUMENTS_Reduce(S) c->from_root, out, N(S), c->element, c->op, c->root, c->comm
#define ARGUMENTS_Allreduce(S) c->from, out, N(S), c->element, c->op, c->comm
#define ARGUMENTS_Reduce_scatter(S) c->from, out, c->counts##S, c->element, c->op, c->comm
#define ARGUMENTS_Reduce_scatter_block(S) c->from, out, N(S), c->element, c->op, c->comm
#define ARGUMENTS_Scan(S) c->from, out, N(S), c->element, c->op, c->comm
#define ARGUMENTS_Exscan(S) c->from, out, N(S), c->element, c->op, c->comm
#define ARGUMENTS_Neighbor_allgather(S) in, N(S), c->type, out, N(S), c->type, c->ring
#define ARGUMENTS_Neighbor_allgatherv(S) \
  in, MINE(S), c->type, out, c->near##S, c->near_at##S, c->type, c->ring
#define ARGUMENTS_Neighbor_alltoall(S) in, N(S), c->type, out, N(S), c->type, c->ring
#define ARGUMENTS_Neighbor_alltoallv(S) \
  in, c->beside##S, c->beside_at##S, c->type, out, c->beside##S, c->beside_at##S, c->type, c->ring
#define ARGUMENTS_Neighbor_alltoallw(S) \
  in, c->beside##S, c->beside_bytes, c->types, out, c->beside##S, c->beside_bytes, c->types, c->ring

static const char* (*last_algorithm)(void);
static int tries, served;

static void note(void) {
  ++tries;
  if (last_algorithm != NULL && strcmp(last_algorithm(), "native") != 0) ++served;
}

static void fill(void) {
  /* Small numbers, so that sums of doubles are exact and products of the program's own operation stay small. */
  for (int i = 0; i < kMostBytes / 4; ++i) {
    ((int*)in)[i] = (i * 7 + rank * 13 + 1) % 101;
    ((int*)out)[i] = (i * 5 + rank * 3 + 2) % 103;
  }
}

static void compare(const Case* c, const char* name, int is_block, int is_exscan) {
  /* What the standard leaves open: the rest of the buffer of a reduce-scatter in place, rank 0's of an exscan. */
  size_t bytes = kMostBytes, at = 0;
  if (is_exscan && c->me == 0) return;
  if (is_block && c->in_place) {
    MPI_Aint lower, extent;
    MPI_Type_get_extent(c->element, &lower, &extent);
    bytes = (size_t)extent * (size_t)(is_block == 2 ? c->mine : c->count);
  }
  if (!memcmp(out, expected, bytes)) return;
  while (out[at] == expected[at]) ++at;
  fprintf(stderr,
          "%s: rank %d of %d, root %d, count %d, in place %d, %s communicator: byte %zu is %d, not %d\n",
          name, c->me, c->n, c->root, c->count, c->in_place, c->is_inter ? "inter-" : "intra-", at, out[at],
          expected[at]);
  MPI_Abort(MPI_COMM_WORLD, 8);
}

/* Each way that a program may wait. */
static void complete(MPI_Request* request, int way) {
  int flag = 0, index;
  MPI_Status status;
  switch (way % 4) {
    case 0:
      CHECK(MPI_Wait(request, &status) == MPI_SUCCESS);
      break;
    case 1:
      while (!flag) CHECK(MPI_Test(request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS);
      break;
    case 2:
      CHECK(MPI_Waitall(1, request, &status) == MPI_SUCCESS);
      break;
    default:
      CHECK(MPI_Waitany(1, request, &index, &status) == MPI_SUCCESS);
      CHECK(index == 0);
  }
}

/* Of each form: the library's own call, then the program's, from the same memory. */
#define BOTH(name, is_block, is_exscan, stock, eco) \
  do {                                              \
    fill();                                         \
    stock;                                          \
    memcpy(expected, out, kMostBytes);              \
    fill();                                         \
    eco;                                            \
    compare(c, name, is_block, is_exscan);          \
  } while (0)

#define BLOCK(Base) (!strcmp(#Base, "Reduce_scatter") ? 2 : !strcmp(#Base, "Reduce_scatter_block"))
#define EXSCAN(Base) (!strcmp(#Base, "Exscan"))

#define TRY_blocking(Base, base, S)                                   \
  static void blocking_##Base##S(Case* c, int way) {                  \
    (void)way;                                                        \
    BOTH("MPI_" #Base #S, BLOCK(Base), EXSCAN(Base),                  \
         CHECK(PMPI_##Base##S(ARGUMENTS_##Base(S)) == MPI_SUCCESS), { \
           CHECK(MPI_##Base##S(ARGUMENTS_##Base(S)) == MPI_SUCCESS);  \
           note();                                                    \
         });                                                          \
  }
/* A call that the library lacks and ECO's preload stands in for: mpi4py looks for these by weak symbols. */
#define TRY_narrowed(Base, base, S)                                                                         \
  __attribute__((weak)) int MPI_##Base##S();                                                                \
  static void narrowed_##Base##S(Case* c, int way) {                                                        \
    (void)way;                                                                                              \
    if (MPI_##Base##S == NULL) return;                                                                      \
    BOTH("MPI_" #Base #S, BLOCK(Base), EXSCAN(Base), CHECK(PMPI_##Base(ARGUMENTS_##Base()) == MPI_SUCCESS), \
         {                                                                                                  \
           CHECK(MPI_##Base##S(ARGUMENTS_##Base(S)) == MPI_SUCCESS);                                        \
           note();                                                                                          \
         });                                                                                                \
  }
/* `stock` is the library's own call, for which no entry with these counts may exist. */
#define HELD_BY_A_REQUEST(form, Base, base, S, is_there, stock)                \
  static void form##_##Base##S(Case* c, int way) {                             \
    MPI_Request request;                                                       \
    if (!(is_there)) return;                                                   \
    BOTH(                                                                      \
        "MPI_I" #base #S, BLOCK(Base), EXSCAN(Base),                           \
        {                                                                      \
          CHECK(stock == MPI_SUCCESS);                                         \
          PMPI_Wait(&request, MPI_STATUS_IGNORE);                              \
        },                                                                     \
        {                                                                      \
          CHECK(MPI_I##base##S(ARGUMENTS_##Base(S), &request) == MPI_SUCCESS); \
          note();                                                              \
          complete(&request, way);                                             \
          CHECK(request == MPI_REQUEST_NULL);                                  \
        });                                                                    \
  }
#define TRY_nonblocking(Base, base, S) \
  HELD_BY_A_REQUEST(nonblocking, Base, base, S, 1, PMPI_I##base##S(ARGUMENTS_##Base(S), &request))
#define TRY_narrowed_nonblocking(Base, base, S)                                  \
  __attribute__((weak)) int MPI_I##base##S();                                    \
  HELD_BY_A_REQUEST(narrowed_nonblocking, Base, base, S, MPI_I##base##S != NULL, \
                    PMPI_I##base(ARGUMENTS_##Base(), &request))
/* Started twice; of the first turn the second's memory is overwritten. */
#define TRY_persistent(Base, base, S)                                                                \
  static void persistent_##Base##S(Case* c, int way) {                                               \
    MPI_Request request;                                                                             \
    BOTH(                                                                                            \
        "MPI_" #Base "_init" #S, BLOCK(Base), EXSCAN(Base),                                          \
        {                                                                                            \
          CHECK(PMPI_##Base##_init##S(ARGUMENTS_##Base(S), MPI_INFO_NULL, &request) == MPI_SUCCESS); \
          PMPI_Start(&request);                                                                      \
          PMPI_Wait(&request, MPI_STATUS_IGNORE);                                                    \
          PMPI_Request_free(&request);                                                               \
        },                                                                                           \
        {                                                                                            \
          CHECK(MPI_##Base##_init##S(ARGUMENTS_##Base(S), MPI_INFO_NULL, &request) == MPI_SUCCESS);  \
          for (int turn = 0; turn < 2; ++turn) {                                                     \
            fill();                                                                                  \
            if (turn == 0)                                                                           \
              CHECK(MPI_Start(&request) == MPI_SUCCESS);                                             \
            else                                                                                     \
              CHECK(MPI_Startall(1, &request) == MPI_SUCCESS);                                       \
            if (turn == 1) note();                                                                   \
            complete(&request, way + turn);                                                          \
            CHECK(request != MPI_REQUEST_NULL);                                                      \
          }                                                                                          \
          MPI_Request_free(&request);                                                                \
        });                                                                                          \
  }
#define CALL(form, Base, base, S) TRY_##form(Base, base, S)
#include "calls.inc"
#undef CALL

#define NAME_blocking(Base, base, S) "MPI_" #Base #S
#define NAME_narrowed(Base, base, S) "MPI_" #Base #S
#define NAME_narrowed_nonblocking(Base, base, S) "MPI_I" #base #S
#define NAME_nonblocking(Base, base, S) "MPI_I" #base #S
#define NAME_persistent(Base, base, S) "MPI_" #Base "_init" #S
#define CALL(form, Base, base, S) {NAME_##form(Base, base, S), #Base, &form##_##Base##S},
static const struct {
  const char *name, *base;
  void (*run)(Case*, int);
} kCalls[] = {
#include "calls.inc"
};
#undef CALL

/* The same on all ranks. */
static unsigned state;
static int draw(int below) {
  state = state * 1103515245u + 12345u;
  return (int)(state >> 16) % below;
}

/* x -> a x + b modulo a prime, one after the other: associative, and does not commute. */
static void compose(void* left, void* right, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) {
    const int *f = (int*)left + 2 * i, a = f[0], b = f[1];
    int* g = (int*)right + 2 * i;
    g[1] = (g[0] * b + g[1]) % 1009;
    g[0] = a * g[0] % 1009;
  }
}

/* The communicators of a rank, and its rings for the neighbourhood calls. */
static MPI_Comm comms[3], rings[2];
static int is_there[3];
static MPI_Datatype apart, pair, swapped;
static MPI_Op composing;

static void make(void) {
  const int periodic = 1;
  int one[2] = {1, 1}, back[2] = {1, 0};
  MPI_Datatype two;
  comms[0] = MPI_COMM_WORLD;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[1]);
  is_there[0] = is_there[1] = 1;
  comms[2] = MPI_COMM_NULL;
  if (n_ranks % 2 == 0) {
    MPI_Comm half;
    const int upper = rank >= n_ranks / 2;
    MPI_Comm_split(MPI_COMM_WORLD, upper, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, upper ? 0 : n_ranks / 2, 5, &comms[2]);
    MPI_Comm_free(&half);
    is_there[2] = 1;
  }
  for (int i = 0; i < 2; ++i) MPI_Cart_create(comms[i], 1, &n_ranks, &periodic, 0, &rings[i]);
  MPI_Type_create_resized(MPI_INT, 0, 12, &apart); /* an int, and room for two */
  MPI_Type_commit(&apart);
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  MPI_Type_indexed(2, one, back, MPI_INT, &two); /* the second first */
  MPI_Type_create_resized(two, 0, 8, &swapped);
  MPI_Type_free(&two);
  MPI_Type_commit(&swapped);
  MPI_Op_create(compose, 0, &composing);
}

static void unmake(void) {
  for (int i = 0; i < 2; ++i) MPI_Comm_free(&rings[i]);
  for (int i = 1; i < 3; ++i)
    if (comms[i] != MPI_COMM_NULL) MPI_Comm_free(&comms[i]);
  MPI_Type_free(&apart);
  MPI_Type_free(&pair);
  MPI_Type_free(&swapped);
  MPI_Op_free(&composing);
}

/* Of rank i for rank j, or from everybody where there is one only. */
static int uneven(int way, int count, int i, int n) {
  switch (way) {
    case 0:
      return count;
    case 1:
      return count + i % 2;
    default:
      return i == 0 ? 0 : count * (i + 1) / n;
  }
}

static void draw_case(Case* c, const char* base) {
  static const int kCounts[] = {0, 1, 5, 17, 300, 301, 3000};
  const struct {
    MPI_Datatype type;
    MPI_Op op;
  } reductions[] = {{MPI_INT, MPI_SUM},          {MPI_2INT, MPI_MINLOC},       {MPI_DOUBLE, MPI_MAX},
                    {pair, composing},           {MPI_DOUBLE_INT, MPI_MAXLOC}, {MPI_UNSIGNED_LONG, MPI_BXOR},
                    {MPI_SHORT_INT, MPI_MINLOC}, {MPI_BYTE, MPI_BOR}};
  const MPI_Datatype types[] = {MPI_INT, MPI_INT, MPI_DOUBLE, apart, pair, swapped};
  const int is_scan = strstr(base, "scan") != NULL || strstr(base, "Scan") != NULL;
  const int is_ring = strncmp(base, "Neighbor", 8) == 0;
  int which = draw(4), at = 0, column = 0, kind = draw(8);
  if (which == 3 || (which == 2 && (!is_there[2] || is_scan || is_ring))) which = 0;
  memset(c, 0, sizeof *c);
  c->comm = comms[which];
  c->ring = rings[which < 2 ? which : 0];
  MPI_Comm_rank(is_ring ? c->ring : c->comm, &c->me);
  MPI_Comm_size(is_ring ? c->ring : c->comm, &c->n);
  c->count = kCounts[draw(7)];
  c->type = types[draw(6)];
  c->element = reductions[kind].type;
  c->op = reductions[kind].op;
  c->root = draw(c->n);
  const int way = draw(3);
  c->in_place = draw(3) == 0 && which != 2;
  const int is_root = c->root == c->me;
  if (which == 2) {
    c->is_inter = 1;
    if (rank < n_ranks / 2) c->root = is_root ? MPI_ROOT : MPI_PROC_NULL;
  }
  c->from = c->in_place ? MPI_IN_PLACE : in;
  c->from_root = c->in_place && is_root ? MPI_IN_PLACE : in;
  c->to_root = c->in_place && is_root ? MPI_IN_PLACE : out;
  c->mine = uneven(way, c->count, c->me, c->n);
  MPI_Aint lower, extent;
  MPI_Type_get_extent(c->type, &lower, &extent);
  /* Places with holes; the blocks lie in the order of the ranks or against it. */
  const int turned = draw(2);
  for (int i = 0; i < c->n; ++i) {
    const int j = turned ? c->n - 1 - i : i;
    c->counts[j] = uneven(way, c->count, j, c->n);
    c->displs[j] = at;
    at += c->counts[j] + (way == 2 ? 3 : 0);
    /* Both ways alike where the memory is. */
    c->row[j] =
        c->in_place ? uneven(way, c->count, (c->me + j) % 2, 2) : uneven(way, c->count, c->me, c->n) + j % 2;
    c->column[j] = c->in_place ? c->row[j] : uneven(way, c->count, j, c->n) + c->me % 2;
    c->row_at[j] = i * (c->count + 3);
    c->column_at[j] = column;
    column += c->column[j];
    c->types[j] = c->type;
  }
  for (int j = 0; j < c->n; ++j) {
    c->counts_c[j] = c->counts[j], c->displs_c[j] = c->displs[j];
    c->row_c[j] = c->row[j], c->row_at_c[j] = c->row_at[j];
    c->column_c[j] = c->column[j], c->column_at_c[j] = c->column_at[j];
    c->row_bytes[j] = c->row_at[j] * (int)extent, c->row_bytes_c[j] = c->row_bytes[j];
    c->column_bytes[j] = c->column_at[j] * (int)extent, c->column_bytes_c[j] = c->column_bytes[j];
  }
  /* From the neighbour below and the one above. */
  for (int k = 0; k < 2; ++k) {
    const int other = (c->me + (k == 0 ? c->n - 1 : 1)) % c->n;
    c->near[k] = uneven(way, c->count, other, c->n);
    c->beside[k] = uneven(way, c->count, (c->me + other) % 2, 2);
    c->near_at[k] = c->beside_at[k] = k * (c->count + 3);
    c->near_c[k] = c->near[k], c->near_at_c[k] = c->near_at[k];
    c->beside_c[k] = c->beside[k], c->beside_at_c[k] = c->beside_at[k];
    c->beside_bytes[k] = c->beside_at[k] * extent;
  }
}

int main(int argc, char** argv) {
  Case* c = malloc(sizeof *c);
  begin(&argc, &argv);
  CHECK(argc >= 2 && n_ranks <= kMostRanks && c != NULL);
  last_algorithm = (const char* (*)(void))dlsym(RTLD_DEFAULT, "eco_last_algorithm");
  make();
  for (size_t i = 0; i < sizeof kCalls / sizeof kCalls[0]; ++i) {
    tries = served = 0;
    state = (unsigned)(argc > 2 ? atoi(argv[2]) : 1) * 7919u + (unsigned)i;
    for (int turn = 0; turn < atoi(argv[1]); ++turn) {
      draw_case(c, kCalls[i].base);
      kCalls[i].run(c, turn);
    }
    if (rank == 0 && tries > 0) printf("%s %d %d\n", kCalls[i].name, tries, served);
  }
  unmake();
  free(c);
  return end();
}
