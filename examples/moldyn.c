// Molecular dynamics with replicated data: it communicates as CHARMM did, and balances its work around a ring as Dome did.
//
//   make -C examples moldyn && mpirun -n 8 examples/moldyn
//   mpirun -n 8 examples/moldyn 6 40 5 1,2     # cells along an edge, steps, balanced every so many, speeds by hand
//
// Every rank holds all coordinates and integrates its own block of atoms. A step gathers the blocks to all
// (MPI_Allgather), computes the forces of this rank's rows of pairs, and sums forces and energies up for all
// (MPI_Allreduce); at first rank 0 broadcasts what there is (MPI_Bcast). Rows, each an atom with its partners, go from
// neighbour to neighbour in a ring until all take as long, through a communicator that MPI may reorder.
//
// What it prints is the same on any number of ranks but for the last digits: forces are added in another order.
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ring_balance.h"

// Reduced units. The force is shifted, so that it ends in nothing where it is cut off and energy is conserved.
static const double kDensity = 0.8442, kTemperature = 1.2, kCutoff = 2.5, kSkin = 0.4, kTimeStep = 0.004;
static const double kMostChange = 1e-3;  // of the energy of an atom

struct System {
  int n, block;       // atoms, atoms that a rank integrates
  double box;         // its edge
  double *x, *v, *f;  // 3 each; x has room for whole blocks, v is of this rank's block
};

static double communicated_s, computed_s;

static void* room(size_t bytes) {
  void* memory = calloc(1, bytes > 0 ? bytes : 1);
  if (memory) return memory;
  fprintf(stderr, "moldyn: no %zu bytes of memory\n", bytes);
  MPI_Abort(MPI_COMM_WORLD, 1);
  return NULL;
}

// ---- what rank 0 begins with

static double uniform(int64_t* state) {  // Lehmer's generator: the same numbers in any language
  *state = *state * 16807 % 2147483647;
  return (double)*state / 2147483647.0;
}

static void lattice(double* x, int cells, double box) {
  static const double kCorner[4][3] = {{0, 0, 0}, {0.5, 0.5, 0}, {0.5, 0, 0.5}, {0, 0.5, 0.5}};
  for (int c = 0; c < cells * cells * cells; ++c) {
    const int at[3] = {c / cells / cells, c / cells % cells, c % cells};
    for (int k = 0; k < 4; ++k)
      for (int d = 0; d < 3; ++d) *x++ = (at[d] + kCorner[k][d]) * box / cells;
  }
}

static void velocities(double* v, int n) {
  int64_t state = 1996;
  double mean[3] = {0, 0, 0}, square = 0;
  for (int i = 0; i < 3 * n; ++i) {
    v[i] = -6;
    for (int k = 0; k < 12; ++k) v[i] += uniform(&state);
    mean[i % 3] += v[i] / n;
  }
  for (int i = 0; i < 3 * n; ++i) v[i] -= mean[i % 3];
  for (int i = 0; i < 3 * n; ++i) square += v[i] * v[i];
  const double scale = sqrt(3 * n * kTemperature / square);
  for (int i = 0; i < 3 * n; ++i) v[i] *= scale;
}

// ---- pairs and forces

static double between(const struct System* s, const double* x, int i, int j, double* apart) {
  double square = 0;
  for (int d = 0; d < 3; ++d) {
    apart[d] = x[3 * i + d] - x[3 * j + d];
    apart[d] -= s->box * rint(apart[d] / s->box);
    square += apart[d] * apart[d];
  }
  return square;
}

// Finds the partners of all rows. Of every pair one of the two has the other: the half of all atoms that follow it.
static void list(const struct System* s, struct Rows* rows) {
  const double reach = (kCutoff + kSkin) * (kCutoff + kSkin);
  double apart[3];
  rows->n_pairs = 0;
  for (int k = 0; k < rows->count; ++k) {
    const int i = (rows->first + k) % s->n, before = rows->n_pairs;
    for (int step = 1; 2 * step <= s->n; ++step) {
      const int j = (i + step) % s->n;
      if (2 * step == s->n && j < i) continue;
      if (between(s, s->x, i, j, apart) < reach) rows->partner[rows->n_pairs++] = j;
    }
    rows->length[k] = rows->n_pairs - before;
  }
}

// All ranks hold the same coordinates, so all decide alike.
static int is_outdated(const struct System* s, const double* listed_x) {
  for (int i = 0; i < s->n; ++i) {
    double square = 0;
    for (int d = 0; d < 3; ++d) {
      const double moved = s->x[3 * i + d] - listed_x[3 * i + d];
      square += moved * moved;
    }
    if (4 * square > kSkin * kSkin) return 1;
  }
  return 0;
}

// The forces of these rows, and their energy.
static double forces(const struct System* s, const struct Rows* rows) {
  const double start_s = MPI_Wtime(), r6_cut = pow(kCutoff, -6);
  const double slope = 24 * r6_cut * (2 * r6_cut - 1) / kCutoff, height = 4 * r6_cut * (r6_cut - 1);
  double energy = 0, apart[3];
  memset(s->f, 0, 3 * (size_t)s->n * sizeof *s->f);
  const int* partner = rows->partner;
  for (int k = 0; k < rows->count; ++k) {
    const int i = (rows->first + k) % s->n;
    for (const int* end = partner + rows->length[k]; partner < end; ++partner) {
      const double square = between(s, s->x, i, *partner, apart);
      if (square >= kCutoff * kCutoff) continue;
      const double r = sqrt(square), r6 = 1 / (square * square * square);
      const double pull = (24 * r6 * (2 * r6 - 1) / r - slope) / r;
      energy += 4 * r6 * (r6 - 1) - height + slope * (r - kCutoff);
      for (int d = 0; d < 3; ++d) {
        s->f[3 * i + d] += pull * apart[d];
        s->f[3 * *partner + d] -= pull * apart[d];
      }
    }
  }
  computed_s += MPI_Wtime() - start_s;
  return energy;
}

// ---- the steps

static void gather(const struct System* s) {
  const double start_s = MPI_Wtime();
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, s->x, 3 * s->block, MPI_DOUBLE, MPI_COMM_WORLD);
  communicated_s += MPI_Wtime() - start_s;
}

static void add_up(double* values, int n) {
  const double start_s = MPI_Wtime();
  MPI_Allreduce(MPI_IN_PLACE, values, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  communicated_s += MPI_Wtime() - start_s;
}

static void tell(double* values, int n) {
  const double start_s = MPI_Wtime();
  MPI_Bcast(values, n, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  communicated_s += MPI_Wtime() - start_s;
}

// The number of a comma-separated list that is a rank's, dealt in turn; 0 without a list: then it is measured; below
// nothing where some word is no speed.
static double speed_by_hand(const char* text, int rank) {
  double mine = 0;
  int n = 0;
  for (int pass = 0; text != NULL && pass < 2; ++pass) {
    const char* word = text;
    for (int i = 0;; ++i) {
      char* end;
      const double speed = strtod(word, &end);
      if (end == word || !(speed > 0)) return -1;
      if (pass == 1 && i == rank % n) mine = speed;
      if (*end != ',') {
        n = i + 1;
        break;
      }
      word = end + 1;
    }
  }
  return mine;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, n_ranks, position;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
  const int cells = argc > 1 ? atoi(argv[1]) : 6, steps = argc > 2 ? atoi(argv[2]) : 40;
  const int balance_every = argc > 3 ? atoi(argv[3]) : 5;
  const double by_hand = speed_by_hand(argc > 4 ? argv[4] : NULL, rank);
  if (cells < 4 || steps < 1 || balance_every < 0 || by_hand < 0 || 4 * cells * cells * cells < 3 * n_ranks) {
    if (rank == 0)
      fprintf(
          stderr,
          "usage: moldyn [CELLS [STEPS [BALANCE_EVERY [SPEED,...]]]]\n"
          "CELLS: 4 or more, with 3 of the 4 CELLS^3 atoms for a rank; BALANCE_EVERY: 0 never balances\n");
    MPI_Finalize();
    return 2;
  }

  struct System s = {.n = 4 * cells * cells * cells};
  const size_t of_all = 3 * (size_t)s.n * sizeof(double);
  s.block = (s.n + n_ranks - 1) / n_ranks;
  s.box = cbrt(s.n / kDensity);
  s.x = room(3 * (size_t)s.block * (size_t)n_ranks * sizeof(double));
  s.v = room(of_all);
  s.f = room(of_all);
  double *first_x = room(of_all), *listed_x = room(of_all);
  const size_t most_pairs = (size_t)s.n * (size_t)(s.n / 2);
  struct Rows rows = {
      .n = s.n, .length = room((size_t)s.n * sizeof(int)), .partner = room(most_pairs * sizeof(int))};
  int* messages = room(2 * longest_message(s.n) * sizeof(int));

  double start_s = MPI_Wtime(), set_up_s = 0;
  const int periodic = 1, reorder = 1;
  MPI_Comm ring;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &n_ranks, &periodic, reorder, &ring);
  MPI_Comm_rank(ring, &position);
  rows.first = (int)((int64_t)s.n * position / n_ranks);
  rows.count = (int)((int64_t)s.n * (position + 1) / n_ranks) - rows.first;

  if (rank == 0) {
    lattice(s.x, cells, s.box);
    velocities(s.v, s.n);
  }
  tell(s.x, 3 * s.n);
  tell(s.v, 3 * s.n);
  const int begin = 3 * (rank * s.block < s.n ? rank * s.block : s.n);
  const int end = begin + 3 * s.block < 3 * s.n ? begin + 3 * s.block : 3 * s.n;
  memcpy(first_x, s.x, of_all);
  double first_energy = 0, energy = 0, change = 0, mean_square = 0, pairs_times = 0, balanced_s = 0;
  // Step 0 computes what there is, and belongs to setting up; the others move, and their time is taken.
  for (int step = 0; step <= steps; ++step) {
    for (int i = begin; i < end && step > 0; ++i) {
      s.v[i] += 0.5 * kTimeStep * s.f[i];
      s.x[i] += kTimeStep * s.v[i];
    }
    gather(&s);
    if (step == 0 || is_outdated(&s, listed_x)) {
      list(&s, &rows);
      memcpy(listed_x, s.x, of_all);
    }
    double energies[2] = {forces(&s, &rows), 0};  // potential, kinetic
    pairs_times += rows.n_pairs;
    add_up(s.f, 3 * s.n);
    for (int i = begin; i < end; ++i) {
      if (step > 0) s.v[i] += 0.5 * kTimeStep * s.f[i];
      energies[1] += 0.5 * s.v[i] * s.v[i];
    }
    add_up(energies, 2);
    energy = (energies[0] + energies[1]) / s.n;
    if (step == 0) first_energy = energy;
    if (fabs(energy - first_energy) > change) change = fabs(energy - first_energy);
    if (n_ranks > 1 && balance_every > 0 && (step + 1) % balance_every == 0) {
      const double speed = by_hand > 0 ? by_hand : pairs_times / (computed_s + 1e-9);
      const double before_s = MPI_Wtime();
      balance(ring, &rows, speed, messages);
      balanced_s += MPI_Wtime() - before_s;
      pairs_times = computed_s = 0;
    }
    if (step == 0) {
      set_up_s = MPI_Wtime() - start_s;
      start_s += set_up_s;
      communicated_s = balanced_s = 0;
    }
  }
  const double whole_s = MPI_Wtime() - start_s;
  for (int i = 0; i < 3 * s.n; ++i) mean_square += (s.x[i] - first_x[i]) * (s.x[i] - first_x[i]) / s.n;

  double seconds[2] = {communicated_s, balanced_s};
  int *all_pairs = room((size_t)n_ranks * sizeof(int)), *all_rows = room((size_t)n_ranks * sizeof(int));
  MPI_Allreduce(MPI_IN_PLACE, seconds, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Gather(&rows.n_pairs, 1, MPI_INT, all_pairs, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Gather(&rows.count, 1, MPI_INT, all_rows, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    int n_rows = 0;
    printf(
        "%d atoms on %d ranks, %d steps: energy of an atom %.8f, changed by at most %.1e; "
        "mean square way %.8f\n",
        s.n, n_ranks, steps, energy, change, mean_square);
    printf("pairs");
    for (int r = 0; r < n_ranks; ++r) {
      n_rows += all_rows[r];
      printf(" %d", all_pairs[r]);
    }
    printf("\ncommunication %.6f s, balancing %.6f s, of %.6f s; set up in %.6f s\n", seconds[0] / n_ranks,
           seconds[1] / n_ranks, whole_s, set_up_s);
    if (n_rows != s.n || !(change < kMostChange)) {
      fprintf(stderr, "moldyn: %s\n", n_rows != s.n ? "rows were lost" : "energy is not conserved");
      MPI_Abort(MPI_COMM_WORLD, 3);
    }
  }
  MPI_Comm_free(&ring);
  free(s.x), free(s.v), free(s.f), free(first_x), free(listed_x);
  free(rows.length), free(rows.partner), free(messages), free(all_pairs), free(all_rows);
  MPI_Finalize();
  return 0;
}
