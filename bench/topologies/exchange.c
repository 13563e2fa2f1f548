/* The exchange of a grid's nodes with their neighbours, through a Cartesian communicator that the library may reorder.
 *
 *   exchange AxB closed|open BYTES CALLS FILE
 *
 * In each call every node sends BYTES to both neighbours in every dimension and waits for theirs. All sleep to a common
 * instant of the machine's clock, and a call took until the last node had all: so the ranks must be on one machine, as in
 * the lab. Node 0 writes the seconds of every call, and the host of every node. What arrives is checked. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST_DIMS = 4, NAME = 64, UNTIMED = 3 };

static double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void sleep_until(double instant_s) {
  struct timespec at;
  at.tv_sec = (time_t)instant_s;
  at.tv_nsec = (long)((instant_s - (double)at.tv_sec) * 1e9);
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) != 0) {
  }
}

static void* room(size_t bytes) {
  void* memory = malloc(bytes);
  if (memory == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
  return memory;
}

int main(int argc, char** argv) {
  int dims[MOST_DIMS], closed[MOST_DIMS], n_dims = 0, at, n, n_neighbours = 0;
  int neighbours[2 * MOST_DIMS];
  MPI_Request requests[4 * MOST_DIMS];
  MPI_Comm grid;
  MPI_Init(&argc, &argv);
  if (argc != 6) {
    fprintf(stderr, "usage: exchange AxB closed|open BYTES CALLS FILE\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  for (char* word = strtok(argv[1], "x"); word != NULL && n_dims < MOST_DIMS; word = strtok(NULL, "x")) {
    closed[n_dims] = strcmp(argv[2], "closed") == 0;
    dims[n_dims++] = atoi(word);
  }
  const int bytes = atoi(argv[3]), calls = atoi(argv[4]);
  MPI_Cart_create(MPI_COMM_WORLD, n_dims, dims, closed, 1, &grid);
  if (grid != MPI_COMM_NULL) {
    MPI_Comm_rank(grid, &at);
    MPI_Comm_size(grid, &n);
    for (int d = 0; d < n_dims; ++d) {
      int low, high;
      MPI_Cart_shift(grid, d, 1, &low, &high);
      if (low != MPI_PROC_NULL) neighbours[n_neighbours++] = low;
      if (high != MPI_PROC_NULL) neighbours[n_neighbours++] = high;
    }
    unsigned char* out = room((size_t)bytes);
    unsigned char* in = room((size_t)bytes * 2 * MOST_DIMS);
    double* seconds = room(sizeof(double) * (size_t)(calls + UNTIMED));
    for (int call = 0; call < calls + UNTIMED; ++call) {
      double start_s = now_s(), end_s, last_s;
      memset(out, at + call, (size_t)bytes);
      MPI_Barrier(grid);
      /* Once all are here; what a broadcast takes on a slow network is far below. */
      start_s = now_s() + 0.1;
      MPI_Bcast(&start_s, 1, MPI_DOUBLE, 0, grid);
      sleep_until(start_s);
      for (int i = 0; i < n_neighbours; ++i)
        MPI_Irecv(in + (size_t)i * (size_t)bytes, bytes, MPI_BYTE, neighbours[i], 0, grid, &requests[i]);
      for (int i = 0; i < n_neighbours; ++i)
        MPI_Isend(out, bytes, MPI_BYTE, neighbours[i], 0, grid, &requests[n_neighbours + i]);
      MPI_Waitall(2 * n_neighbours, requests, MPI_STATUSES_IGNORE);
      end_s = now_s();
      MPI_Reduce(&end_s, &last_s, 1, MPI_DOUBLE, MPI_MAX, 0, grid);
      if (at == 0) seconds[call] = last_s - start_s;
      for (int i = 0; i < n_neighbours; ++i) {
        for (int b = 0; b < bytes; b += 997) {
          if (in[(size_t)i * (size_t)bytes + (size_t)b] == (unsigned char)(neighbours[i] + call)) continue;
          fprintf(stderr, "node %d: wrong bytes from node %d\n", at, neighbours[i]);
          MPI_Abort(MPI_COMM_WORLD, 4);
        }
      }
    }
    char name[NAME] = "";
    char* names = room((size_t)n * NAME);
    gethostname(name, NAME - 1);
    MPI_Gather(name, NAME, MPI_CHAR, names, NAME, MPI_CHAR, 0, grid);
    if (at == 0) {
      FILE* file = fopen(argv[5], "w");
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
