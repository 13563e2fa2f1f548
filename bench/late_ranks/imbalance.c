/* Collectives whose ranks come at random times.
 *
 *   imbalance CELLS UNTIMED CALLS SEED FILE
 *
 * CELLS holds lines "COLLECTIVE BYTES IMBALANCE SECONDS": broadcast, reduce, allreduce, gather or allgather, rooted at rank 0,
 * of so many bytes (gathers: of so many in all), whose ranks come late by
 *   none         nothing
 *   exponential  each by its own draw of this mean
 *   straggler    one of them, drawn for each call, by so much
 *   classes      those of odd number, by nine to eleven tenths of it
 * after a common instant of the machine's clock, so they must be on one machine, as in the lab. The draws of a cell's last
 * CALLS follow from SEED and the cell alone. Rank 0 writes for every cell and each of them when each rank came and when it
 * left, in seconds after the instant. Results are checked. UNTIMED calls of a cell come before: connections are made, ECO
 * arms, and sees whether anybody is late. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../instant.h"

static int rank, n;
static unsigned long long state;
static int *in, *out;

static int is(const char* one, const char* other) { return strcmp(one, other) == 0; }

static double draw(void) {
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return ((double)(state >> 11) + 1) / 9007199254740993.0;
}

static void fail(const char* what, const char* which) {
  fprintf(stderr, "imbalance: %s %s\n", what, which);
  MPI_Abort(MPI_COMM_WORLD, 2);
}

/* When this rank comes; all ranks draw for all. */
static double delay_s(const char* imbalance, double seconds) {
  double mine = 0;
  const int straggler = (int)(draw() * n) % n;
  for (int r = 0; r < n; ++r) {
    const double drawn = draw();
    double late = 0;
    if (is(imbalance, "exponential"))
      late = -seconds * log(drawn);
    else if (is(imbalance, "straggler"))
      late = r == straggler ? seconds : 0;
    else if (is(imbalance, "classes"))
      late = r % 2 == 1 ? seconds * (0.9 + 0.2 * drawn) : 0;
    else if (!is(imbalance, "none"))
      fail("there is no imbalance", imbalance);
    if (r == rank) mine = late;
  }
  return mine;
}

/* What the draws of these calls begin from. */
static unsigned long long begin_of(unsigned long long seed, const char* collective, int bytes,
                                   const char* imbalance, int is_timed) {
  unsigned long long begin = seed * 2 + (unsigned long long)is_timed;
  for (const char* c = collective; *c != 0; ++c) begin = begin * 131 + (unsigned char)*c;
  for (const char* c = imbalance; *c != 0; ++c) begin = begin * 131 + (unsigned char)*c;
  return begin * 131 + (unsigned long long)bytes;
}

static int content(int call, int from, int i) { return call * 31 + from * 7 + i % 1000; }

static int gathers(const char* collective) { return is(collective, "gather") || is(collective, "allgather"); }

/* One call of so many integers (gathers: of each rank). */
static void run(const char* collective, int count) {
  if (is(collective, "broadcast"))
    MPI_Bcast(in, count, MPI_INT, 0, MPI_COMM_WORLD);
  else if (is(collective, "reduce"))
    MPI_Reduce(in, out, count, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  else if (is(collective, "allreduce"))
    MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  else if (is(collective, "gather"))
    MPI_Gather(in, count, MPI_INT, out, count, MPI_INT, 0, MPI_COMM_WORLD);
  else if (is(collective, "allgather"))
    MPI_Allgather(in, count, MPI_INT, out, count, MPI_INT, MPI_COMM_WORLD);
  else
    fail("there is no collective", collective);
}

static void check(const char* collective, int count, int call) {
  const int is_broadcast = is(collective, "broadcast"), is_gather = gathers(collective);
  if (rank != 0 && (is(collective, "reduce") || is(collective, "gather"))) return;
  for (int i = 0; i < (is_gather ? count * n : count); ++i) {
    int expected = 0;
    if (is_broadcast)
      expected = content(call, 0, i);
    else if (is_gather)
      expected = content(call, i / count, i % count);
    else
      for (int from = 0; from < n; ++from) expected += content(call, from, i);
    if ((is_broadcast ? in : out)[i] != expected) fail("wrong bytes of a", collective);
  }
}

int main(int argc, char** argv) {
  char collective[32], imbalance[32];
  int bytes, n_cells = 0;
  double seconds;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  FILE* cells = argc == 6 ? fopen(argv[1], "r") : NULL;
  FILE* file = argc == 6 && rank == 0 ? fopen(argv[5], "w") : NULL;
  if (cells == NULL || (rank == 0 && file == NULL)) fail("usage: imbalance CELLS UNTIMED CALLS SEED", "FILE");
  const int untimed = atoi(argv[2]), calls = atoi(argv[3]);
  const unsigned long long seed = strtoull(argv[4], NULL, 10);
  double* times = malloc(sizeof(double) * 2 * (size_t)n);
  if (rank == 0) fprintf(file, "{\"cells\": [");
  while (fscanf(cells, "%31s %d %31s %lf", collective, &bytes, imbalance, &seconds) == 4) {
    const int count = bytes / (int)sizeof(int) / (gathers(collective) ? n : 1);
    in = malloc((size_t)bytes);
    out = malloc((size_t)bytes);
    if (times == NULL || in == NULL || out == NULL || count == 0)
      fail("no memory, or nothing to send, for a", collective);
    if (rank == 0) fprintf(file, "%s[", n_cells++ > 0 ? ", " : "");
    for (int call = 0; call < calls + untimed; ++call) {
      if (call == 0 || call == untimed) {
        state = begin_of(seed, collective, bytes, imbalance, call == untimed);
        for (int i = 0; i < 8; ++i) draw();
      }
      const int is_receiver = is(collective, "broadcast") && rank != 0;
      for (int i = 0; i < count; ++i) in[i] = is_receiver ? -1 : content(call, rank, i);
      const double late_s = delay_s(imbalance, seconds);
      /* Past ECO, which serves what is measured alone. */
      PMPI_Barrier(MPI_COMM_WORLD);
      double start_s = now_s() + 0.05, mine[2];
      PMPI_Allreduce(MPI_IN_PLACE, &start_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
      sleep_until(start_s + late_s);
      mine[0] = now_s() - start_s;
      run(collective, count);
      mine[1] = now_s() - start_s;
      PMPI_Gather(mine, 2, MPI_DOUBLE, times, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
      check(collective, count, call);
      for (int r = 0; rank == 0 && call >= untimed && r < n; ++r)
        fprintf(file, "%s[%.7f, %.7f]%s",
                r > 0            ? ", "
                : call > untimed ? ", ["
                                 : "[",
                times[2 * r], times[2 * r + 1], r == n - 1 ? "]" : "");
    }
    if (rank == 0) fprintf(file, "]");
    free(in);
    free(out);
  }
  if (rank == 0) {
    fprintf(file, "]}\n");
    fclose(file);
  }
  fclose(cells);
  free(times);
  MPI_Finalize();
  return 0;
}
