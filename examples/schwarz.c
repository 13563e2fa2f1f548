// A step of a heat equation, solved by a two-level additive Schwarz method whose ranks have uneven work.
//
//   make -C examples schwarz && mpirun -n 8 examples/schwarz cg 40 steady:5:40
//   eco profile -- mpirun -n 8 examples/schwarz cg 40 steady:5:40              names rank 5
//
//   schwarz METHOD ITERATIONS [UNEVEN [UNTIMED FILE [SWEEP_US]]]
//
// Grid of kColumns columns, cut into strips of kRows rows, one a rank. The matrix is A = 5-point Laplacian + kShift. An
// iteration preconditions the residual r by the sum of two corrections:
//   coarse  r is added up over squares of kCell x kCell cells. Strips end in the middle of squares, so ranks' parts are
//   summed up
//           on rank 0 (MPI_Reduce, 60 KiB of doubles for 8 ranks), which solves the small system and sends what it found to
//           all (MPI_Bcast).
//   local   meanwhile every rank relaxes its own strip. This is where work is uneven: strips want kSweeps sweeps, or TIMES
//           as many, and all of them are done.
// METHOD `richardson` adds a part of that to the solution: no rank needs to know more of the others than its neighbours'
// border rows. `cg` (flexible conjugate gradients) wants two scalar products an iteration (MPI_Allreduce of 8 and 16 B), so in
// it everybody waits for the last rank whatever the other collectives do. Every tenth iteration the ranks' mean temperatures by
// column go to rank 0 (MPI_Gather, 8 KiB each).
//
// UNEVEN is `even`; `steady:RANK:TIMES`; or `moving:TIMES`: in every iteration another strip, drawn alike on all ranks.
//
// At the end the residual is worked out anew from the solution; a solution that is not one is an error. To FILE rank 0
// writes what each rank spent its time on after the first UNTIMED iterations. With SWEEP_US a rank sleeps for so many
// microseconds instead of each sweep beyond kSweeps: where ranks share processors, who has more to do would else take
// them from those who send and receive.
#define _POSIX_C_SOURCE 199309L
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kColumns = 1024, kRows = 60, kCell = 8, kSweeps = 8, kCoarseSteps = 30, kGatherEvery = 10 };
enum { kStride = kColumns + 2, kCells = (kRows + 2) * kStride, kCoarseColumns = kColumns / kCell };
static const double kShift = 0.05, kDamping = 0.8, kStep = 0.5;

enum { kWork, kAsleep, kBorder, kBroadcast, kReduce, kAllreduce, kGather, kPhases };
static const char* const kNames[kPhases] = {"work",   "asleep",    "border", "broadcast",
                                            "reduce", "allreduce", "gather"};

static int rank, n_ranks, is_timed;
static double sweep_s;  // to sleep; 0: sweeps are done
static double spent_s[kPhases], phase_began_s;
static double processor_s[2], processor_then_s;  // of work, and of waiting for others
static int coarse_rows, coarse_count;
static double *coarse_part, *coarse_sum, *coarse_found;
static double *found, *right, *residual, *better, *other;

static void end(const char* what, const char* which) {
  fprintf(stderr, "schwarz: %s%s\n", what, which);
  MPI_Abort(MPI_COMM_WORLD, 2);
}

static double* zeros(int count) {
  double* numbers = calloc((size_t)count, sizeof *numbers);
  if (!numbers) end("no memory", "");
  return numbers;
}

static double processor_now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// What the rank has done since the last of these calls; so the phases add up to all of its time.
static void done_with(int phase) {
  const double now_s = MPI_Wtime(), on_processor_s = processor_now_s();
  if (is_timed) {
    spent_s[phase] += now_s - phase_began_s;
    processor_s[phase != kWork] += on_processor_s - processor_then_s;
  }
  phase_began_s = now_s, processor_then_s = on_processor_s;
}

// out = A in, on the strip; the rows and columns around it are in's.
static void apply(double* restrict out, const double* restrict in) {
  for (int i = 1; i <= kRows; ++i)
    for (int j = 1; j <= kColumns; ++j) {
      const int at = i * kStride + j;
      out[at] = (4 + kShift) * in[at] - in[at - 1] - in[at + 1] - in[at - kStride] - in[at + kStride];
    }
}

static double dot(const double* one, const double* two) {
  double sum = 0;
  for (int i = 1; i <= kRows; ++i)
    for (int j = 1; j <= kColumns; ++j) sum += one[i * kStride + j] * two[i * kStride + j];
  return sum;
}

static void sum_up(double* numbers, int count) {
  done_with(kWork);
  MPI_Allreduce(MPI_IN_PLACE, numbers, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  done_with(kAllreduce);
}

// The neighbours' border rows; nothing beyond the first and the last strip.
static void exchange_borders(double* field) {
  const int before = rank > 0 ? rank - 1 : MPI_PROC_NULL,
            after = rank + 1 < n_ranks ? rank + 1 : MPI_PROC_NULL;
  done_with(kWork);
  MPI_Sendrecv(field + kStride, kStride, MPI_DOUBLE, before, 0, field + (kRows + 1) * kStride, kStride,
               MPI_DOUBLE, after, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Sendrecv(field + kRows * kStride, kStride, MPI_DOUBLE, after, 1, field, kStride, MPI_DOUBLE, before, 1,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  done_with(kBorder);
}

static int coarse_row(int row) { return (rank * kRows + row - 1) / kCell; }

// Damped Jacobi from nothing, strips apart from each other; the result is in `better`.
static void relax_strip(int sweeps) {
  const double weight = kDamping / (4 + kShift);
  for (int i = 0; i < kCells; ++i) better[i] = other[i] = 0;
  const int done = sweep_s > 0 && sweeps > kSweeps ? kSweeps : sweeps;
  for (int sweep = 0; sweep < done; ++sweep) {
    apply(other, better);
    for (int i = 1; i <= kRows; ++i)
      for (int j = 1; j <= kColumns; ++j) {
        const int at = i * kStride + j;
        better[at] += weight * (residual[at] - other[at]);
      }
  }
  done_with(kWork);
  const double sleep_s = (sweeps - done) * sweep_s;
  struct timespec left = {.tv_sec = (time_t)sleep_s, .tv_nsec = (long)((sleep_s - floor(sleep_s)) * 1e9)};
  while (sleep_s > 0 && nanosleep(&left, &left) != 0) {
  }
  done_with(kAsleep);
}

// The sum over squares of A is kCell times the coarse Laplacian plus kCell^2 times the shift: some steps of conjugate
// gradients.
static void apply_coarse(double* out, const double* in) {
  for (int i = 0; i < coarse_rows; ++i)
    for (int j = 0; j < kCoarseColumns; ++j) {
      const int at = i * kCoarseColumns + j;
      double sum = (4 * kCell + kCell * kCell * kShift) * in[at];
      if (i > 0) sum -= kCell * in[at - kCoarseColumns];
      if (i + 1 < coarse_rows) sum -= kCell * in[at + kCoarseColumns];
      if (j > 0) sum -= kCell * in[at - 1];
      if (j + 1 < kCoarseColumns) sum -= kCell * in[at + 1];
      out[at] = sum;
    }
}

static double coarse_dot(const double* one, const double* two) {
  double sum = 0;
  for (int i = 0; i < coarse_count; ++i) sum += one[i] * two[i];
  return sum;
}

static void solve_coarse(void) {
  static double *direction, *applied;
  if (!direction) direction = zeros(coarse_count), applied = zeros(coarse_count);
  for (int i = 0; i < coarse_count; ++i) coarse_found[i] = 0, direction[i] = coarse_sum[i];
  double left = coarse_dot(coarse_sum, coarse_sum);
  for (int step = 0; step < kCoarseSteps && left > 0; ++step) {
    apply_coarse(applied, direction);
    const double by = left / coarse_dot(direction, applied), before = left;
    for (int i = 0; i < coarse_count; ++i) {
      coarse_found[i] += by * direction[i];
      coarse_sum[i] -= by * applied[i];
    }
    left = coarse_dot(coarse_sum, coarse_sum);
    for (int i = 0; i < coarse_count; ++i) direction[i] = coarse_sum[i] + left / before * direction[i];
  }
}

// better = both corrections of the residual.
static void precondition(int sweeps) {
  for (int i = 0; i < coarse_count; ++i) coarse_part[i] = 0;
  for (int i = 1; i <= kRows; ++i)
    for (int j = 1; j <= kColumns; ++j)
      coarse_part[coarse_row(i) * kCoarseColumns + (j - 1) / kCell] += residual[i * kStride + j];
  done_with(kWork);
  MPI_Reduce(coarse_part, coarse_sum, coarse_count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  done_with(kReduce);
  if (rank == 0) solve_coarse();
  relax_strip(sweeps);
  done_with(kWork);
  MPI_Bcast(coarse_found, coarse_count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  done_with(kBroadcast);
  for (int i = 1; i <= kRows; ++i)
    for (int j = 1; j <= kColumns; ++j)
      better[i * kStride + j] += coarse_found[coarse_row(i) * kCoarseColumns + (j - 1) / kCell];
}

static void add(double* to, double times, const double* what) {
  for (int i = 0; i < kCells; ++i) to[i] += times * what[i];
}

static void show_columns(double* all) {
  static double means[kColumns];
  for (int j = 0; j < kColumns; ++j) {
    means[j] = 0;
    for (int i = 1; i <= kRows; ++i) means[j] += found[i * kStride + j + 1] / kRows;
  }
  done_with(kWork);
  MPI_Gather(means, kColumns, MPI_DOUBLE, all, kColumns, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  done_with(kGather);
}

// splitmix64, as in logistic.c.
static uint64_t next(uint64_t* state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static const char* uneven = "even";

// How often this rank relaxes its strip in the iteration that begins.
static int sweeps_now(void) {
  static uint64_t drawn = 7;
  int busy = -1, times = 1;
  if (sscanf(uneven, "steady:%d:%d", &busy, &times) != 2 && sscanf(uneven, "moving:%d", &times) == 1)
    busy = (int)(next(&drawn) % (uint64_t)n_ranks);
  else if (busy < 0 && strcmp(uneven, "even") != 0)
    end("want even, steady:RANK:TIMES or moving:TIMES instead of ", uneven);
  if (times < 1 || busy >= n_ranks) end("there is no such rank, or no such number of times: ", uneven);
  return rank == busy ? kSweeps * times : kSweeps;
}

static void richardson(double* columns, int untimed, int iterations) {
  for (int iteration = 0; iteration < iterations; ++iteration) {
    is_timed = iteration >= untimed;
    exchange_borders(found);
    apply(other, found);
    for (int i = 0; i < kCells; ++i) residual[i] = right[i] - other[i];
    precondition(sweeps_now());
    add(found, kStep, better);
    if (iteration % kGatherEvery == 0) show_columns(columns);
  }
}

static void conjugate_gradients(double* columns, int untimed, int iterations) {
  double *direction = zeros(kCells), *applied = zeros(kCells), before = 0;
  memcpy(residual, right, kCells * sizeof *right);
  for (int iteration = 0; iteration < iterations; ++iteration) {
    is_timed = iteration >= untimed;
    precondition(sweeps_now());
    double sums[2] = {dot(better, residual), iteration > 0 ? dot(better, applied) : 0};
    sum_up(sums, 2);
    // Flexible: the corrections of two iterations may be of different operators, so what the residual has lost counts.
    const double keep = iteration > 0 ? -before * sums[1] : 0;
    for (int i = 0; i < kCells; ++i) direction[i] = better[i] + keep * direction[i];
    exchange_borders(direction);
    apply(applied, direction);
    double along = dot(direction, applied);
    sum_up(&along, 1);
    const double by = sums[0] / along;
    before = by / sums[0];
    add(found, by, direction);
    add(residual, -by, applied);
    if (iteration % kGatherEvery == 0) show_columns(columns);
  }
  free(direction), free(applied);
}

static void write_file(const char* name, double seconds, double left, double checksum) {
  enum { kNumbers = kPhases + 2 };
  double mine[kNumbers];
  memcpy(mine, spent_s, sizeof spent_s);
  memcpy(mine + kPhases, processor_s, sizeof processor_s);
  FILE* file = rank == 0 ? fopen(name, "w") : NULL;
  double* all = rank == 0 ? zeros(kNumbers * n_ranks) : NULL;
  if (rank == 0 && !file) end("can't write ", name);
  PMPI_Gather(mine, kNumbers, MPI_DOUBLE, all, kNumbers, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  if (rank != 0) return;
  fprintf(file, "{\"seconds\": %.6f, \"residual\": %.6e, \"sum\": %.17g, \"ranks\": [", seconds, left,
          checksum);
  for (int r = 0; r < n_ranks; ++r) {
    const double* of_rank = all + r * kNumbers;
    fprintf(file, "%s{", r > 0 ? ", " : "");
    for (int phase = 0; phase < kPhases; ++phase)
      fprintf(file, "\"%s\": %.6f, ", kNames[phase], of_rank[phase]);
    fprintf(file, "\"processor\": [%.6f, %.6f]}", of_rank[kPhases], of_rank[kPhases + 1]);
  }
  fprintf(file, "]}\n");
  fclose(file);
  free(all);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
  const char* method = argc > 1 ? argv[1] : "cg";
  const int iterations = argc > 2 ? atoi(argv[2]) : 40, untimed = argc > 4 ? atoi(argv[4]) : 0;
  const int is_cg = strcmp(method, "cg") == 0;
  if (argc > 3) uneven = argv[3];
  if (argc > 6) sweep_s = 1e-6 * atof(argv[6]);
  if ((!is_cg && strcmp(method, "richardson") != 0) || iterations < 1 || untimed < 0 || untimed >= iterations)
    end("usage: schwarz cg|richardson ITERATIONS [UNEVEN [UNTIMED FILE [SWEEP_US]]]", "");

  coarse_rows = (kRows * n_ranks + kCell - 1) / kCell, coarse_count = coarse_rows * kCoarseColumns;
  coarse_part = zeros(coarse_count), coarse_sum = zeros(coarse_count), coarse_found = zeros(coarse_count);
  found = zeros(kCells), right = zeros(kCells), residual = zeros(kCells), better = zeros(kCells);
  other = zeros(kCells);
  double* columns = zeros(rank == 0 ? kColumns * n_ranks : 1);
  for (int i = 1; i <= kRows; ++i)
    for (int j = 1; j <= kColumns; ++j) {
      uint64_t cell = (uint64_t)(rank * kRows + i) * kColumns + (uint64_t)j;
      right[i * kStride + j] = (double)(next(&cell) >> 11) / 9007199254740992.0;
    }

  MPI_Barrier(MPI_COMM_WORLD);
  done_with(kWork);
  (is_cg ? conjugate_gradients : richardson)(columns, untimed, iterations);
  done_with(kWork);
  is_timed = 0;
  double seconds = 0;
  for (int phase = 0; phase < kPhases; ++phase) seconds += spent_s[phase];

  double sums[3] = {0, dot(right, right), 0};
  exchange_borders(found);
  apply(other, found);
  for (int i = 0; i < kCells; ++i) residual[i] = right[i] - other[i];
  sums[0] = dot(residual, residual);
  for (int i = 1; i <= kRows; ++i)
    for (int j = 1; j <= kColumns; ++j) sums[2] += found[i * kStride + j] * (double)(1 + (i * 31 + j) % 97);
  sum_up(sums, 3);
  const double left = sqrt(sums[0] / sums[1]);
  if (!(left < pow(0.9, iterations))) end("it did not converge", "");
  PMPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0)
    printf("%s, %s: %d iterations, residual %.3e of the right hand side, sum %.12g\n", method, uneven,
           iterations, left, sums[2]);
  if (argc > 5) write_file(argv[5], seconds, left, sums[2]);
  free(coarse_part), free(coarse_sum), free(coarse_found), free(columns);
  free(found), free(right), free(residual), free(better), free(other);
  MPI_Finalize();
  return 0;
}
