/* Every call that makes a topology, with and without leave to reorder, on the world and on communicators derived from it:
 * what the program can ask of the new communicator is what it was made with, whoever plays which node. Says how many
 * processes changed their rank, and what errors were. */
#include "check.h"

enum { MOST = 64 };
static int moved, copies, errors;

static void count_error(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  (void)code;
  ++errors;
}

static int count_copy(MPI_Comm comm, int keyval, void* extra, void* in, void* out, int* flag) {
  (void)comm, (void)keyval, (void)extra, (void)in, (void)out;
  ++copies;
  *flag = 1;
  return MPI_SUCCESS;
}

/* What holds of every new communicator of n nodes; false for a process that is not in it. */
static int is_made_well(MPI_Comm parent, MPI_Comm made, int n_nodes, int reorder, int topology) {
  int size, at, of, is_in = made != MPI_COMM_NULL, n_in = 0, status = MPI_UNDEFINED;
  int was[MOST], seen[MOST];
  MPI_Errhandler handler, parents;
  MPI_Allreduce(&is_in, &n_in, 1, MPI_INT, MPI_SUM, parent);
  CHECK(n_in == n_nodes);
  MPI_Comm_rank(parent, &of);
  if (!reorder) {
    CHECK(is_in == (of < n_nodes));
  }
  if (!is_in) return 0;
  MPI_Comm_size(made, &size);
  MPI_Comm_rank(made, &at);
  CHECK(size == n_nodes);
  CHECK(reorder || at == of);
  MPI_Topo_test(made, &status);
  CHECK(status == topology);
  if (at != of) ++moved;
  memset(seen, 0, sizeof seen);
  MPI_Allgather(&of, 1, MPI_INT, was, 1, MPI_INT, made);
  for (int node = 0; node < size; ++node) CHECK(was[node] >= 0 && was[node] < MOST && !seen[was[node]]++);
  MPI_Comm_get_errhandler(made, &handler);
  MPI_Comm_get_errhandler(parent, &parents);
  CHECK(handler == parents);
  MPI_Errhandler_free(&handler);
  MPI_Errhandler_free(&parents);
  return 1;
}

static void free_if_any(MPI_Comm* comm) {
  if (*comm != MPI_COMM_NULL) MPI_Comm_free(comm);
}

static void cart(MPI_Comm parent, int n_dims, const int* dims, const int* periods, int reorder) {
  int n = 1, kept_dims[4], kept_periods[4], coords[4], mine[4], at, same;
  MPI_Comm made;
  for (int d = 0; d < n_dims; ++d) n *= dims[d];
  MPI_Cart_create(parent, n_dims, dims, periods, reorder, &made);
  if (!is_made_well(parent, made, n, reorder, MPI_CART)) return;
  MPI_Cart_get(made, n_dims, kept_dims, kept_periods, coords);
  MPI_Comm_rank(made, &at);
  MPI_Cart_coords(made, at, n_dims, mine);
  MPI_Cart_rank(made, mine, &same);
  CHECK(same == at);
  for (int d = 0, rest = n, left = at; d < n_dims; ++d) {
    int low, high, token = at, from_low = -2;
    CHECK(kept_dims[d] == dims[d] && !kept_periods[d] == !periods[d] && coords[d] == mine[d]);
    rest /= dims[d];
    CHECK(coords[d] == left / rest);
    left %= rest;
    MPI_Cart_shift(made, d, 1, &low, &high);
    MPI_Sendrecv(&token, 1, MPI_INT, high, 5, &from_low, 1, MPI_INT, low, 5, made, MPI_STATUS_IGNORE);
    CHECK(from_low == (low == MPI_PROC_NULL ? -2 : low));
  }
  MPI_Comm_free(&made);
}

/* A star in the middle of a line: node 0 with all, and each with the next. */
static void graph(MPI_Comm parent, int n, int reorder) {
  int index[MOST], edges[4 * MOST], kept[4 * MOST], n_nodes, n_edges, at, n_neighbours, first;
  MPI_Comm made;
  int e = 0;
  for (int node = 0; node < n; ++node) {
    for (int to = node == 0 ? n - 1 : 0; node == 0 && to > 0; --to) edges[e++] = to;
    if (node > 0) edges[e++] = 0;
    if (node > 0 && node + 1 < n) edges[e++] = node + 1;
    if (node > 1) edges[e++] = node - 1;
    index[node] = e;
  }
  MPI_Graph_create(parent, n, index, edges, reorder, &made);
  if (!is_made_well(parent, made, n, reorder, MPI_GRAPH)) return;
  MPI_Graphdims_get(made, &n_nodes, &n_edges);
  CHECK(n_nodes == n && n_edges == e);
  MPI_Comm_rank(made, &at);
  first = at > 0 ? index[at - 1] : 0;
  MPI_Graph_neighbors_count(made, at, &n_neighbours);
  CHECK(n_neighbours == index[at] - first);
  MPI_Graph_neighbors(made, at, n_neighbours, kept);
  for (int i = 0; i < n_neighbours; ++i) CHECK(kept[i] == edges[first + i]);
  MPI_Comm_free(&made);
}

/* Node v sends to v + 3, v + 1 and v + 2 (in this order, modulo n), every third node to nobody. */
static int targets_of(int v, int n, int* nodes, int* weights) {
  const int steps[] = {3, 1, 2};
  if (v % 3 == 2) return 0;
  for (int i = 0; i < 3; ++i) {
    nodes[i] = (v + steps[i]) % n;
    weights[i] = 10 * v + i + 1;
  }
  return 3;
}

static int sources_of(int v, int n, int* nodes, int* weights) {
  int to[3], weight[3], k = 0;
  for (int u = n - 1; u >= 0; --u) {
    const int degree = targets_of(u, n, to, weight);
    for (int i = 0; i < degree; ++i) {
      if (to[i] != v) continue;
      nodes[k] = u;
      weights[k++] = weight[i];
    }
  }
  return k;
}

static int has(const int* nodes, const int* weights, int n, int node, int weight, int weighted) {
  for (int i = 0; i < n; ++i) {
    if (nodes[i] == node && (!weighted || weights[i] == weight)) return 1;
  }
  return 0;
}

/* The neighbourhood that a process has is that of its node; in the given order where the process gave it. */
static void check_neighbours(MPI_Comm parent, MPI_Comm made, int reorder, int weighted, int in_order) {
  int n, at, n_in, n_out, is_weighted, i;
  int in[MOST], out[MOST], in_weights[MOST], out_weights[MOST];
  int want_in[MOST], want_out[MOST], want_in_weights[MOST], want_out_weights[MOST];
  int sent[MOST], got[MOST];
  MPI_Comm_size(parent, &n);
  CHECK(is_made_well(parent, made, n, reorder, MPI_DIST_GRAPH));
  MPI_Comm_rank(made, &at);
  MPI_Dist_graph_neighbors_count(made, &n_in, &n_out, &is_weighted);
  CHECK(n_in == sources_of(at, n, want_in, want_in_weights));
  CHECK(n_out == targets_of(at, n, want_out, want_out_weights));
  CHECK(!is_weighted == !weighted);
  MPI_Dist_graph_neighbors(made, n_in, in, in_weights, n_out, out, out_weights);
  for (i = 0; i < n_in; ++i) {
    CHECK(has(in, in_weights, n_in, want_in[i], want_in_weights[i], weighted));
    CHECK(!in_order || in[i] == want_in[i]);
  }
  for (i = 0; i < n_out; ++i) {
    CHECK(has(out, out_weights, n_out, want_out[i], want_out_weights[i], weighted));
    CHECK(!in_order || out[i] == want_out[i]);
  }
  for (i = 0; i < n_out; ++i) sent[i] = 100 * at + out[i];
  MPI_Neighbor_alltoall(sent, 1, MPI_INT, got, 1, MPI_INT, made);
  for (i = 0; i < n_in; ++i) CHECK(got[i] == 100 * in[i] + at);
}

static void adjacent(MPI_Comm parent, int reorder, int weighted) {
  int n, me, in[MOST], out[MOST], in_weights[MOST], out_weights[MOST];
  MPI_Comm made;
  MPI_Info info;
  MPI_Comm_size(parent, &n);
  MPI_Comm_rank(parent, &me);
  MPI_Info_create(&info);
  MPI_Info_set(info, "some", "hint");
  const int n_in = sources_of(me, n, in, in_weights);
  const int n_out = targets_of(me, n, out, out_weights);
  const int* of_in = n_in > 0 ? in_weights : MPI_WEIGHTS_EMPTY;
  const int* of_out = n_out > 0 ? out_weights : MPI_WEIGHTS_EMPTY;
  MPI_Dist_graph_create_adjacent(parent, n_in, in, weighted ? of_in : MPI_UNWEIGHTED, n_out, out,
                                 weighted ? of_out : MPI_UNWEIGHTED, info, reorder, &made);
  MPI_Info_free(&info);
  check_neighbours(parent, made, reorder, weighted, 1);
  MPI_Comm_free(&made);
}

/* All said by the last process, or by each what the one before it sends. */
static void distributed(MPI_Comm parent, int reorder, int weighted, int by_one) {
  int n, me, k = 0, e = 0, sources[MOST], degrees[MOST], to[3 * MOST], weights[3 * MOST];
  MPI_Comm made;
  MPI_Comm_size(parent, &n);
  MPI_Comm_rank(parent, &me);
  for (int v = 0; v < n; ++v) {
    if (by_one ? me != n - 1 : v != (me + n - 1) % n) continue;
    sources[k] = v;
    degrees[k] = targets_of(v, n, to + e, weights + e);
    e += degrees[k++];
  }
  const int* of_mine = e > 0 ? weights : MPI_WEIGHTS_EMPTY;
  MPI_Dist_graph_create(parent, k, sources, degrees, to, weighted ? of_mine : MPI_UNWEIGHTED, MPI_INFO_NULL,
                        reorder, &made);
  check_neighbours(parent, made, reorder, weighted, 0);
  MPI_Comm_free(&made);
}

static void everything(MPI_Comm parent) {
  int n;
  MPI_Comm_size(parent, &n);
  const int ring[] = {n}, half[] = {(n + 1) / 2}, grid[] = {2, n / 2}, cube[] = {2, 1, n / 2}, one[] = {1, 1};
  const int open[] = {0, 0, 0}, closed[] = {1, 1, 1}, mixed[] = {0, 7, 1};
  for (int reorder = 0; reorder < 2; ++reorder) {
    cart(parent, 1, ring, closed, reorder);
    cart(parent, 1, ring, open, reorder);
    cart(parent, 1, half, closed, reorder);
    cart(parent, 2, grid, mixed, reorder);
    cart(parent, 3, cube, closed, reorder);
    cart(parent, 2, one, open, reorder);
    graph(parent, n, reorder);
    graph(parent, n - 1, reorder);
    for (int weighted = 0; weighted < 2; ++weighted) {
      adjacent(parent, reorder, weighted);
      distributed(parent, reorder, weighted, 0);
      distributed(parent, reorder, weighted, 1);
    }
  }
}

static void say(const char* what, int code) {
  int class = MPI_SUCCESS;
  MPI_Error_class(code, &class);
  if (rank == 0) printf("%s: class %d, %d handled\n", what, class, errors);
  errors = 0;
}

static void wrong_arguments(void) {
  const int dims[] = {2, 2}, large[] = {n_ranks, 2}, negative[] = {-1, 2}, closed[] = {1, 1};
  const int index[] = {1, 2}, beyond[] = {1, 7 * MOST}, edges[] = {1, 0};
  const int node = n_ranks, weight = 1, degree = 1;
  MPI_Comm made, inter, half;
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(count_error, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
  for (int reorder = 0; reorder < 2; ++reorder) {
    say("cart too large", MPI_Cart_create(MPI_COMM_WORLD, 2, large, closed, reorder, &made));
    say("cart negative", MPI_Cart_create(MPI_COMM_WORLD, 2, negative, closed, reorder, &made));
    say("cart no dims", MPI_Cart_create(MPI_COMM_WORLD, 2, NULL, closed, reorder, &made));
    say("cart comm null", MPI_Cart_create(MPI_COMM_NULL, 2, dims, closed, reorder, &made));
    say("graph edge", MPI_Graph_create(MPI_COMM_WORLD, 2, index, beyond, reorder, &made));
    say("graph comm null", MPI_Graph_create(MPI_COMM_NULL, 2, index, edges, reorder, &made));
    say("adjacent comm null", MPI_Dist_graph_create_adjacent(MPI_COMM_NULL, 1, &degree, &weight, 1, &degree,
                                                             &weight, MPI_INFO_NULL, reorder, &made));
    say("adjacent node", MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &node, &weight, 1, &node, &weight,
                                                        MPI_INFO_NULL, reorder, &made));
  }
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 3, &inter);
  MPI_Comm_set_errhandler(inter, handler);
  for (int reorder = 0; reorder < 2; ++reorder) {
    say("cart inter", MPI_Cart_create(inter, 2, dims, closed, reorder, &made));
    say("graph inter", MPI_Graph_create(inter, 2, index, edges, reorder, &made));
  }
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&handler);
}

int main(int argc, char** argv) {
  int keyval, all_moved, one = 1;
  MPI_Comm backwards, some, nested;
  MPI_Errhandler handler;
  begin(&argc, &argv);
  MPI_Comm_create_keyval(count_copy, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
  MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, &one);
  MPI_Comm_create_errhandler(count_error, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  if (argc > 1 && strcmp(argv[1], "often") == 0) {
    const int dims[] = {n_ranks}, closed[] = {1};
    for (int i = 0; i < atoi(argv[2]); ++i) cart(MPI_COMM_WORLD, 1, dims, closed, 1);
  } else {
    everything(MPI_COMM_WORLD);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &backwards);
    everything(backwards);
    MPI_Comm_split(MPI_COMM_WORLD, rank == 1 ? MPI_UNDEFINED : 0, rank, &some);
    if (some != MPI_COMM_NULL) everything(some);
    const int dims[] = {n_ranks}, closed[] = {1};
    MPI_Cart_create(backwards, 1, dims, closed, 1, &nested);
    /* No more than this: Open MPI 5 takes a distributed graph on a grid for a grid. */
    for (int reorder = 0; reorder < 2; ++reorder) cart(nested, 1, dims, closed, reorder);
    MPI_Comm_free(&nested);
    free_if_any(&some);
    MPI_Comm_free(&backwards);
  }
  MPI_Allreduce(&moved, &all_moved, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(errors == 0);
#if !defined(OPEN_MPI) /* whose distributed graphs are duplicates */
  CHECK(copies == 0);
#endif
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&handler);
  MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval);
  MPI_Comm_free_keyval(&keyval);
  if (argc > 1 && strcmp(argv[1], "wrong") == 0) wrong_arguments();
  if (rank == 0) fprintf(stderr, "moved %d\n", all_moved);
  return end();
}
