// Logistic regression by gradient descent, the samples spread over the ranks.
//
//   make -C examples logistic && mpirun -n 8 examples/logistic
//   eco compare -- mpirun -n 8 examples/logistic
//
// Rank 0 draws the first weights and broadcasts them (MPI_Bcast). Each step every rank computes the gradient of its own
// samples, all add them up (MPI_Allreduce), and each takes the same step. Samples are sparse, weights are not: the
// messages are kFeatures floats, 256 KiB, and computing takes little beside sending them over a slow link.
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { kFeatures = 65536, kSamples = 4000, kPerSample = 24 };

static const float kRate = 2.0f;

// splitmix64: the same numbers on every machine, so the printed loss can be compared.
static uint64_t next(uint64_t* state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static float uniform(uint64_t* state) { return (float)(next(state) >> 40) / (float)(1 << 24) - 0.5f; }

// Most samples use few, common features, as words in a text do.
static int feature(uint64_t* state) {
  const double u = (double)(next(state) >> 11) / 9007199254740992.0;
  return (int)(pow((double)kFeatures, u))-1;
}

static void* allocate(size_t bytes) {
  void* memory = malloc(bytes);
  if (!memory) {
    fprintf(stderr, "logistic: no %zu bytes of memory\n", bytes);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return memory;
}

static double score(const float* weights, const int* features) {
  double sum = 0;
  for (int j = 0; j < kPerSample; ++j) sum += weights[features[j]];
  return sum;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, n_ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
  const int steps = argc > 1 ? atoi(argv[1]) : 15;
  if (steps < 1) {
    if (rank == 0) fprintf(stderr, "usage: logistic [STEPS]; got '%s'\n", argv[1]);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }

  // Labels come from weights that only the data knows.
  float* truth = allocate(kFeatures * sizeof *truth);
  uint64_t common = 1, mine = 1000 + (uint64_t)rank;
  for (int i = 0; i < kFeatures; ++i) truth[i] = 8 * uniform(&common);
  int(*features)[kPerSample] = allocate(kSamples * sizeof *features);
  float* labels = allocate(kSamples * sizeof *labels);
  for (int i = 0; i < kSamples; ++i) {
    for (int j = 0; j < kPerSample; ++j) features[i][j] = feature(&mine);
    labels[i] = score(truth, features[i]) > 0;
  }

  float* weights = allocate(kFeatures * sizeof *weights);
  float* gradient = allocate(kFeatures * sizeof *gradient);
  uint64_t start = 7;
  if (rank == 0) {
    for (int i = 0; i < kFeatures; ++i) weights[i] = 0.01f * uniform(&start);
  }
  MPI_Bcast(weights, kFeatures, MPI_FLOAT, 0, MPI_COMM_WORLD);

  double loss_and_right[2] = {0, 0};
  for (int step = 0; step < steps; ++step) {
    for (int i = 0; i < kFeatures; ++i) gradient[i] = 0;
    loss_and_right[0] = loss_and_right[1] = 0;
    for (int i = 0; i < kSamples; ++i) {
      const double z = score(weights, features[i]);
      const double p = 1 / (1 + exp(-z));
      loss_and_right[0] -= log(labels[i] > 0 ? p + 1e-12 : 1 - p + 1e-12);
      loss_and_right[1] += (z > 0) == (labels[i] > 0);
      for (int j = 0; j < kPerSample; ++j) gradient[features[i][j]] += (float)(p - labels[i]);
    }
    MPI_Allreduce(MPI_IN_PLACE, gradient, kFeatures, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    const float rate = kRate / (float)(kSamples * n_ranks);
    for (int i = 0; i < kFeatures; ++i) weights[i] -= rate * gradient[i];
  }
  MPI_Allreduce(MPI_IN_PLACE, loss_and_right, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) {
    const double n = (double)kSamples * n_ranks;
    printf("%.0f samples on %d ranks, %d steps: loss %.6f, %.2f %% right\n", n, n_ranks, steps,
           loss_and_right[0] / n, 100 * loss_and_right[1] / n);
  }
  free(truth), free(features), free(labels), free(weights), free(gradient);
  MPI_Finalize();
  return 0;
}
