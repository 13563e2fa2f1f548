/* The exchange of nodes with their neighbours, through a communicator with a topology that the library may reorder.
 *
 *   exchange AxB closed|open|dense sends|allgather|alltoall BYTES CALLS FILE
 *
 * In each call every node sends BYTES to both neighbours in every dimension of the grid (dense: to all nodes but one, of a
 * distributed graph of so many nodes) and waits for theirs: by messages of its own or by one neighbourhood collective.
 * All sleep to a common
 * instant of the machine's clock, and a call took until the last node had all: so the ranks must be on one machine, as in
 * the lab. Node 0 writes the seconds of every call, and the host of every node. What arrives is checked. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../instant.h"

enum { MOST_DIMS = 4, MOST = 64, NAME = 64, UNTIMED = 3 };

/* The one node that this one does not tell in a dense graph. */
static int left_out(int node, int n) { return (node + 1 + node * 5 % (n - 1)) % n; }

static MPI_Comm dense_graph(int n) {
  int rank, n_in = 0, n_out = 0, sources[MOST], targets[MOST];
  MPI_Comm made;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int other = 0; other < n; ++other) {
    if (other == rank) continue;
    if (other != left_out(rank, n)) targets[n_out++] = other;
    if (rank != left_out(other, n)) sources[n_in++] = other;
  }
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, n_in, sources, MPI_UNWEIGHTED, n_out, targets,
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 1, &made);
  return made;
}

static void* room(size_t bytes) {
  void* memory = malloc(bytes);
  if (memory == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
  return memory;
}

int main(int argc, char** argv) {
  int dims[MOST_DIMS], closed[MOST_DIMS], n_dims = 0, at, n, n_nodes = 1, n_in = 0, n_out = 0;
  int sources[MOST], targets[MOST]; /* in the order of their blocks, with nobody at a border */
  MPI_Request requests[2 * MOST];
  MPI_Comm grid;
  MPI_Init(&argc, &argv);
  if (argc != 7) {
    fprintf(stderr, "usage: exchange AxB closed|open|dense sends|allgather|alltoall BYTES CALLS FILE\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  for (char* word = strtok(argv[1], "x"); word != NULL && n_dims < MOST_DIMS; word = strtok(NULL, "x")) {
    closed[n_dims] = strcmp(argv[2], "closed") == 0;
    dims[n_dims++] = atoi(word);
    n_nodes *= dims[n_dims - 1];
  }
  const int is_dense = strcmp(argv[2], "dense") == 0, gathers = strcmp(argv[3], "allgather") == 0;
  const int sends = strcmp(argv[3], "sends") == 0, bytes = atoi(argv[4]), calls = atoi(argv[5]);
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  if (n > MOST || (is_dense && n != n_nodes)) MPI_Abort(MPI_COMM_WORLD, 2);
  if (is_dense)
    grid = dense_graph(n);
  else
    MPI_Cart_create(MPI_COMM_WORLD, n_dims, dims, closed, 1, &grid);
  if (grid != MPI_COMM_NULL) {
    MPI_Comm_rank(grid, &at);
    MPI_Comm_size(grid, &n);
    if (is_dense) {
      int weighted, weights[MOST], other_weights[MOST];
      MPI_Dist_graph_neighbors_count(grid, &n_in, &n_out, &weighted);
      MPI_Dist_graph_neighbors(grid, n_in, sources, weights, n_out, targets, other_weights);
    }
    for (int d = 0; d < n_dims && !is_dense; ++d) {
      MPI_Cart_shift(grid, d, 1, &sources[n_in], &sources[n_in + 1]);
      targets[n_out++] = sources[n_in++];
      targets[n_out++] = sources[n_in++];
    }
    unsigned char* out = room((size_t)bytes * MOST);
    unsigned char* in = room((size_t)bytes * MOST);
    double* seconds = room(sizeof(double) * (size_t)(calls + UNTIMED));
    for (int call = 0; call < calls + UNTIMED; ++call) {
      double start_s = now_s(), end_s, last_s;
      memset(out, at + call, (size_t)bytes * MOST);
      MPI_Barrier(grid);
      /* Once all are here; what a broadcast takes on a slow network is far below. */
      start_s = now_s() + 0.1;
      MPI_Bcast(&start_s, 1, MPI_DOUBLE, 0, grid);
      sleep_until(start_s);
      if (sends) {
        for (int i = 0; i < n_in; ++i)
          MPI_Irecv(in + (size_t)i * (size_t)bytes, bytes, MPI_BYTE, sources[i], 0, grid, &requests[i]);
        for (int i = 0; i < n_out; ++i)
          MPI_Isend(out, bytes, MPI_BYTE, targets[i], 0, grid, &requests[n_in + i]);
        MPI_Waitall(n_in + n_out, requests, MPI_STATUSES_IGNORE);
      } else if (gathers) {
        MPI_Neighbor_allgather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, grid);
      } else {
        MPI_Neighbor_alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, grid);
      }
      end_s = now_s();
      MPI_Reduce(&end_s, &last_s, 1, MPI_DOUBLE, MPI_MAX, 0, grid);
      if (at == 0) seconds[call] = last_s - start_s;
      for (int i = 0; i < n_in; ++i) {
        for (int b = 0; b < bytes && sources[i] != MPI_PROC_NULL; b += 997) {
          if (in[(size_t)i * (size_t)bytes + (size_t)b] == (unsigned char)(sources[i] + call)) continue;
          fprintf(stderr, "node %d: wrong bytes from node %d\n", at, sources[i]);
          MPI_Abort(MPI_COMM_WORLD, 4);
        }
      }
    }
    char name[NAME] = "";
    char* names = room((size_t)n * NAME);
    gethostname(name, NAME - 1);
    MPI_Gather(name, NAME, MPI_CHAR, names, NAME, MPI_CHAR, 0, grid);
    if (at == 0) {
      FILE* file = fopen(argv[6], "w");
      if (file == NULL) MPI_Abort(MPI_COMM_WORLD, 5);
      fprintf(file, "{\"hosts\": [");
      for (int node = 0; node < n; ++node)
        fprintf(file, "%s\"%s\"", node > 0 ? ", " : "", names + node * NAME);
      fprintf(file, "],\n \"seconds\": [");
      for (int call = UNTIMED; call < calls + UNTIMED; ++call)
        fprintf(file, "%s%.9f", call > UNTIMED ? ", " : "", seconds[call]);
      fprintf(file, "]}\n");
      if (fclose(file) != 0) MPI_Abort(MPI_COMM_WORLD, 5);
    }
    MPI_Comm_free(&grid);
    free(names);
    free(seconds);
    free(in);
    free(out);
  }
  MPI_Finalize();
  return 0;
}
