/* MPI_Neighbor_allgather and MPI_Neighbor_alltoall on topologies of every kind, byte by byte against the library's own
 * (PMPI_), with what lies around and between the blocks. Says of each topology how many calls were ECO's.
 *
 *   neighbors SEED [NAME]  the same seed: the same graphs and calls on all ranks; of this topology alone */
#include <dlfcn.h>

#include "check.h"

enum { MOST = 64, ROOM = 1 << 19, PAD = 64 };
static unsigned char in[ROOM], mine[ROOM], theirs[ROOM];
static const char* (*last_algorithm)(void);
static unsigned long long seed, state;
static const char* only; /* topology, or NULL */

static int draw(int below) {
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (int)((state >> 33) % (unsigned long long)below);
}

static int is_served(void) { return last_algorithm != NULL && strcmp(last_algorithm(), "native") != 0; }

static MPI_Datatype types[3]; /* an int; an int and a hole; two ints, the second first */

/* One call both ways. in_type and out_type may differ, of the same number of ints. */
static int same(MPI_Comm comm, int alltoall, int count, MPI_Datatype in_type, MPI_Datatype out_type,
                int large) {
  int in_count = count, out_count = count, in_size, out_size, was;
  MPI_Type_size(in_type, &in_size);
  MPI_Type_size(out_type, &out_size);
  in_count = count * 8 / in_size, out_count = count * 8 / out_size;
  for (int i = 0; i < ROOM; ++i)
    in[i] = (unsigned char)((unsigned)i * 37u + (unsigned)rank * 101u + (unsigned)count);
  memset(mine, 0xA5, ROOM);
  memset(theirs, 0xA5, ROOM);
#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
  if (large) {
    if (alltoall)
      MPI_Neighbor_alltoall_c(in, in_count, in_type, mine + PAD, out_count, out_type, comm);
    else
      MPI_Neighbor_allgather_c(in, in_count, in_type, mine + PAD, out_count, out_type, comm);
  } else
#endif
      if (alltoall)
    MPI_Neighbor_alltoall(in, in_count, in_type, mine + PAD, out_count, out_type, comm);
  else
    MPI_Neighbor_allgather(in, in_count, in_type, mine + PAD, out_count, out_type, comm);
  (void)large;
  was = is_served();
  if (alltoall)
    PMPI_Neighbor_alltoall(in, in_count, in_type, theirs + PAD, out_count, out_type, comm);
  else
    PMPI_Neighbor_allgather(in, in_count, in_type, theirs + PAD, out_count, out_type, comm);
  if (memcmp(mine, theirs, ROOM) != 0) {
    int at = 0;
    while (mine[at] == theirs[at]) ++at;
    fprintf(stderr, "rank %d: %s of %d: byte %d is %d, not %d\n", rank, alltoall ? "alltoall" : "allgather",
            count, at - PAD, mine[at], theirs[at]);
    MPI_Abort(MPI_COMM_WORLD, 9);
  }
  return was;
}

static const int counts[] = {1, 3, 0, 40, 400, 1000};

static void all_calls(MPI_Comm comm, const char* name) {
  int n[2] = {0, 0}, least[2], most[2];
  if (only != NULL && strcmp(only, name) != 0) return;
  state = seed; /* not every rank is in every grid */
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 6; ++i) {
      for (int alltoall = 0; alltoall < 2; ++alltoall) {
        n[alltoall] += same(comm, alltoall, counts[i], types[draw(3)], types[draw(3)], round);
        /* Ranks may differ in their types. */
        n[alltoall] +=
            same(comm, alltoall, counts[i], types[(rank + i) % 3], types[(rank + round) % 3], !round);
      }
    }
  }
  PMPI_Allreduce(n, least, 2, MPI_INT, MPI_MIN, comm);
  PMPI_Allreduce(n, most, 2, MPI_INT, MPI_MAX, comm);
  CHECK(least[0] == most[0] && least[1] == most[1]);
  PMPI_Comm_rank(comm, &n[0]);
  if (n[0] == 0) printf("%s %d %d\n", name, most[0], most[1]);
}

static void grid(const char* name, int n_dims, const int* dims, const int* periods) {
  MPI_Comm made;
  MPI_Cart_create(MPI_COMM_WORLD, n_dims, dims, periods, 0, &made);
  if (made == MPI_COMM_NULL) return;
  all_calls(made, name);
  MPI_Comm_free(&made);
}

static void grids(void) {
  const int n = n_ranks, none[3] = {0, 0, 0}, all[3] = {1, 1, 1};
  int dims[3] = {n, 1, 1};
  grid("line", 1, dims, none);
  grid("ring", 1, dims, all);
  dims[0] = 2, dims[1] = n / 2;
  grid("halo", 2, dims, none);
  grid("torus", 2, dims, all); /* a closed dimension of two: the same neighbour on both sides */
  dims[0] = n, dims[1] = 1;
  grid("selves", 2, dims, all); /* a closed dimension of one: oneself on both sides */
  grid("edges", 2, dims, none); /* nobody on both sides */
}

/* Everyone's neighbours are those at some distances to both sides: the same lists for both directions. */
static void graph(void) {
  int index[MOST], edges[MOST * 4], at = 0;
  MPI_Comm made;
  for (int node = 0; node < n_ranks; ++node) {
    edges[at++] = (node + 1) % n_ranks;
    edges[at++] = (node + n_ranks - 1) % n_ranks;
    if (n_ranks % 2 == 0) edges[at++] = (node + n_ranks / 2) % n_ranks;
    index[node] = at;
  }
  MPI_Graph_create(MPI_COMM_WORLD, n_ranks, index, edges, 0, &made);
  all_calls(made, "graph");
  MPI_Comm_free(&made);
}

/* Random edges, as often as they come; with `alone` nobody has the last rank as a neighbour. */
static void random_graph(const char* name, int n_edges, int alone) {
  int from[MOST * 8], to[MOST * 8], sources[MOST * 8], targets[MOST * 8], n_in = 0, n_out = 0;
  MPI_Comm made;
  const int among = alone ? n_ranks - 1 : n_ranks;
  state = seed + (unsigned long long)n_edges;
  for (int i = 0; i < n_edges; ++i) {
    from[i] = i < among ? i : draw(among);
    to[i] = i < among && among > 1 ? (i + 1) % among : draw(among);
  }
  for (int i = 0; i < n_edges; ++i) {
    if (to[i] == rank) sources[n_in++] = from[i];
    if (from[i] == rank) targets[n_out++] = to[i];
  }
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, n_in, sources, MPI_UNWEIGHTED, n_out, targets,
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made);
  all_calls(made, name);
  MPI_Comm_free(&made);
}

/* From everyone to the first rank alone, which tells nobody. */
static void star(void) {
  int root = 0, degree = 1;
  MPI_Comm made;
  MPI_Dist_graph_create(MPI_COMM_WORLD, rank == 0 ? 0 : 1, &rank, &degree, &root, MPI_UNWEIGHTED,
                        MPI_INFO_NULL, 0, &made);
  all_calls(made, "star");
  MPI_Comm_free(&made);
}

/* Blocks whose length differs from edge to edge: libraries take them as long as both ends of an edge agree. */
static void uneven(void) {
  const int partner = rank ^ 1, has_one = partner < n_ranks, count = 1 + rank / 2;
  MPI_Comm made;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, has_one, &partner, MPI_UNWEIGHTED, has_one, &partner,
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made);
  for (int i = 0; i < 3; ++i) CHECK(!same(made, i % 2, count, MPI_INT, MPI_INT, 0));
  MPI_Comm_free(&made);
}

int main(int argc, char** argv) {
  int one[2] = {1, 1}, back[2] = {1, 0};
  MPI_Datatype two;
  begin(&argc, &argv);
  seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
  only = argc > 2 ? argv[2] : NULL;
  *(void**)&last_algorithm = dlsym(RTLD_DEFAULT, "eco_last_algorithm");
  types[0] = MPI_INT;
  MPI_Type_create_resized(MPI_INT, 0, 12, &types[1]);
  MPI_Type_commit(&types[1]);
  MPI_Type_indexed(2, one, back, MPI_INT, &two);
  MPI_Type_create_resized(two, 0, 8, &types[2]);
  MPI_Type_free(&two);
  MPI_Type_commit(&types[2]);
  grids();
  graph();
  random_graph("sparse", 2 * n_ranks, 0);
  random_graph("dense", 6 * n_ranks, 0);
  random_graph("alone", 3 * n_ranks, 1);
  star();
  uneven();
  MPI_Type_free(&types[1]);
  MPI_Type_free(&types[2]);
  return end();
}
