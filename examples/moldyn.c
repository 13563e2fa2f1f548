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

// Reduced units. The force is shifted, so that it ends in nothing where it is cut off and energy is conserved.
static const double kDensity = 0.8442, kTemperature = 1.2, kCutoff = 2.5, kSkin = 0.4, kTimeStep = 0.004;
static const double kMostChange = 1e-3;  // of the energy of an atom

struct System {
  int n, block;       // atoms, atoms that a rank integrates
  double box;         // its edge
  double *x, *v, *f;  // 3 each; x has room for whole blocks, v is of this rank's block
};

// A run of rows: row k is atom (first + k) % n with its partners, which follow one another.
struct Rows {
  int first, count, n_pairs;
  int *length, *partner;
};

static double communicated_s, balanced_s, computed_s;

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

// ---- Dome's load balancing

// The pairs that the first of two neighbours hands to the second: a third of what would make both take as long, because
// each evens out with two. Below nothing: the second to the first.
static double surplus(const double* first, const double* second) {
  return (first[1] * second[0] - second[1] * first[0]) / (first[0] + second[0]) / 3;
}

// Takes rows of at most so many pairs off one end, as a message: their number, lengths, partners.
static int take(struct Rows* rows, const struct System* s, double most, int from_end, int* message) {
  int n = 0, pairs = 0;
  while (3 * (n + 1) < rows->count) {
    const int length = rows->length[from_end ? rows->count - 1 - n : n];
    if (pairs + length > most) break;
    pairs += length;
    ++n;
  }
  const size_t i = sizeof(int);
  message[0] = n;
  memcpy(message + 1, rows->length + (from_end ? rows->count - n : 0), (size_t)n * i);
  memcpy(message + 1 + n, rows->partner + (from_end ? rows->n_pairs - pairs : 0), (size_t)pairs * i);
  rows->count -= n;
  rows->n_pairs -= pairs;
  if (!from_end) {
    memmove(rows->length, rows->length + n, (size_t)rows->count * i);
    memmove(rows->partner, rows->partner + pairs, (size_t)rows->n_pairs * i);
    rows->first = (rows->first + n) % s->n;
  }
  return 1 + n + pairs;
}

static void put(struct Rows* rows, const struct System* s, int at_end, const int* message, int length) {
  const int n = message[0], pairs = length - 1 - n;
  const size_t i = sizeof(int);
  if (!at_end) {
    memmove(rows->length + n, rows->length, (size_t)rows->count * i);
    memmove(rows->partner + pairs, rows->partner, (size_t)rows->n_pairs * i);
    rows->first = (rows->first - n + s->n) % s->n;
  }
  memcpy(rows->length + (at_end ? rows->count : 0), message + 1, (size_t)n * i);
  memcpy(rows->partner + (at_end ? rows->n_pairs : 0), message + 1 + n, (size_t)pairs * i);
  rows->count += n;
  rows->n_pairs += pairs;
}

// Neighbours in the ring tell each other speed (pairs a second) and pairs; then rows change hands.
static void balance(MPI_Comm ring, const struct System* s, struct Rows* rows, double speed, int* messages) {
  enum { kLeft, kRight };
  const double start_s = MPI_Wtime();
  const int most = 1 + s->n + s->n * (s->n / 2);
  int* out[2] = {messages, messages + most / 2};
  int* in = messages + most;
  const double mine[2] = {speed, rows->n_pairs};
  double of[2][2];
  int neighbour[2], length[2];
  MPI_Request sent[2];
  MPI_Cart_shift(ring, 0, 1, &neighbour[kLeft], &neighbour[kRight]);
  for (int to = kLeft; to <= kRight; ++to)
    MPI_Sendrecv(mine, 2, MPI_DOUBLE, neighbour[to], to, of[!to], 2, MPI_DOUBLE, neighbour[!to], to, ring,
                 MPI_STATUS_IGNORE);
  // Both are decided by what there was before.
  const double give[2] = {-surplus(of[kLeft], mine), surplus(mine, of[kRight])};
  for (int to = kLeft; to <= kRight; ++to) {
    length[to] = take(rows, s, give[to], to == kRight, out[to]);
    MPI_Isend(out[to], length[to], MPI_INT, neighbour[to], 2 + to, ring, &sent[to]);
  }
  for (int from = kLeft; from <= kRight; ++from) {
    MPI_Status status;
    int n;
    MPI_Probe(neighbour[from], 2 + !from, ring, &status);
    MPI_Get_count(&status, MPI_INT, &n);
    MPI_Recv(in, n, MPI_INT, neighbour[from], 2 + !from, ring, MPI_STATUS_IGNORE);
    put(rows, s, from == kRight, in, n);
  }
  MPI_Waitall(2, sent, MPI_STATUSES_IGNORE);
  balanced_s += MPI_Wtime() - start_s;
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

// The number of a comma-separated list that is a rank's, dealt in turn; 0 where there is none: then it is measured.
static double speed_by_hand(const char* text, int rank) {
  int n = text != NULL;
  for (const char* c = text; c != NULL && *c != '\0'; ++c) n += *c == ',';
  for (int skip = n > 0 ? rank % n : 0; skip > 0; --skip) text = strchr(text, ',') + 1;
  return text == NULL ? 0 : atof(text);
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
    if (rank == 0 || by_hand < 0)
      fprintf(stderr,
              "usage: moldyn [CELLS [STEPS [BALANCE_EVERY [SPEED,...]]]]; CELLS is 4 or more, with at "
              "least 3 atoms of 4 CELLS^3 for a rank; BALANCE_EVERY 0 never balances\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
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
  struct Rows rows = {.length = room((size_t)s.n * sizeof(int)), .partner = room(most_pairs * sizeof(int))};
  int* messages = room(2 * (1 + (size_t)s.n + most_pairs) * sizeof(int));

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
  const double start_s = MPI_Wtime();
  tell(s.x, 3 * s.n);
  tell(s.v, 3 * s.n);
  const int begin = 3 * (rank * s.block < s.n ? rank * s.block : s.n);
  const int end = begin + 3 * s.block < 3 * s.n ? begin + 3 * s.block : 3 * s.n;
  memcpy(first_x, s.x, of_all);
  double first_energy = 0, energy = 0, change = 0, mean_square = 0, pairs_times = 0;
  // Step 0 computes what there is; the others move.
  for (int step = 0; step <= steps; ++step) {
    if (step > 0) {
      for (int i = begin; i < end; ++i) {
        s.v[i] += 0.5 * kTimeStep * s.f[i];
        s.x[i] += kTimeStep * s.v[i];
      }
      gather(&s);
    }
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
      balance(ring, &s, &rows, speed, messages);
      pairs_times = computed_s = 0;
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
        "%d atoms on %d ranks, %d steps: energy of an atom %.8f, changed by at most %.1e; mean square way "
        "%.8f\n",
        s.n, n_ranks, steps, energy, change, mean_square);
    printf("pairs");
    for (int r = 0; r < n_ranks; ++r) {
      n_rows += all_rows[r];
      printf(" %d", all_pairs[r]);
    }
    printf("\ncommunication %.6f s, balancing %.6f s, of %.6f s\n", seconds[0] / n_ranks,
           seconds[1] / n_ranks, whole_s);
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
