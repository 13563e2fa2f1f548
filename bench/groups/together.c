/* Large collectives of several communicators, alone and all at once: how long each takes.
 *
 * together CUT BYTES CALLS N OUT
 *
 * CUT  across: N communicators of ranks r, r + N, ..., each in a call of its own
 *      threads, nonblocking: N communicators of all ranks, the odd ones in reverse order; a thread for each, or calls
 *      begun at once
 * One line of OUT for each operation and communicator: operation, communicator, seconds of a call alone, of a call
 * beside the others (the slowest rank's; of all calls, so that nobody who comes last is beside nobody but for a
 * moment). Results are checked. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMost = 8, kOps = 3, kUntimed = 3 };
static const char* const kNames[kOps] = {"broadcast", "allreduce", "allgather"};

static int rank, n_ranks, n_comms, calls, across;
static size_t count;
static MPI_Comm comms[kMost];

typedef struct {
  int comm, op;
  int *in, *out;
  double seconds;
} Work;

static void fail(const char* what) {
  fprintf(stderr, "rank %d: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 9);
}

static void prepare(Work* work, int me, int n, int call) {
  const size_t mine = work->op == 2 ? count / (size_t)n : count;
  for (size_t i = 0; i < mine; ++i) work->in[i] = (int)i + me + call;
  if (work->op == 0 && me == 0) memcpy(work->out, work->in, count * sizeof(int));
}

static void check(const Work* work, int n, int call) {
  const size_t block = count / (size_t)n;
  for (size_t i = 0; i < (work->op == 2 ? block * (size_t)n : count); i += 97) {
    int wanted = (int)i + call;
    if (work->op == 1) wanted = n * wanted + n * (n - 1) / 2;
    if (work->op == 2) wanted = (int)(i % block) + (int)(i / block) + call;
    if (work->out[i] != wanted) fail("a wrong result");
  }
}

static void start(Work* work, int n, MPI_Request* request) {
  MPI_Comm comm = comms[work->comm];
  const int block = (int)(count / (size_t)n), all = (int)count;
  if (request == NULL) {
    if (work->op == 0) MPI_Bcast(work->out, all, MPI_INT, 0, comm);
    if (work->op == 1) MPI_Allreduce(work->in, work->out, all, MPI_INT, MPI_SUM, comm);
    if (work->op == 2) MPI_Allgather(work->in, block, MPI_INT, work->out, block, MPI_INT, comm);
  } else {
    if (work->op == 0) MPI_Ibcast(work->out, all, MPI_INT, 0, comm, request);
    if (work->op == 1) MPI_Iallreduce(work->in, work->out, all, MPI_INT, MPI_SUM, comm, request);
    if (work->op == 2) MPI_Iallgather(work->in, block, MPI_INT, work->out, block, MPI_INT, comm, request);
  }
}

static void* run(void* argument) {
  Work* work = argument;
  int me, n;
  MPI_Comm_rank(comms[work->comm], &me);
  MPI_Comm_size(comms[work->comm], &n);
  double seconds = 0;
  for (int call = 0; call < calls; ++call) {
    prepare(work, me, n, call);
    const double began = MPI_Wtime();
    start(work, n, NULL);
    seconds += MPI_Wtime() - began;
    check(work, n, call);
  }
  work->seconds = seconds / calls;
  return NULL;
}

static void run_begun(Work* works, int first, int n_works) {
  double ends[kMost] = {0};
  for (int call = 0; call < calls; ++call) {
    MPI_Request requests[kMost];
    int me, n;
    for (int w = first; w < first + n_works; ++w) {
      MPI_Comm_rank(comms[w], &me);
      MPI_Comm_size(comms[w], &n);
      prepare(&works[w], me, n, call);
    }
    const double began = MPI_Wtime();
    for (int w = first; w < first + n_works; ++w) start(&works[w], n, &requests[w - first]);
    for (int i = 0; i < n_works; ++i) {
      int which;
      MPI_Waitany(n_works, requests, &which, MPI_STATUS_IGNORE);
      ends[first + which] += MPI_Wtime() - began;
    }
    for (int w = first; w < first + n_works; ++w) check(&works[w], n, call);
  }
  for (int w = first; w < first + n_works; ++w) works[w].seconds = ends[w] / calls;
}

/* Those of `first` to `first + n - 1`, at once. */
static void run_all(const char* cut, Work* works, int first, int n) {
  pthread_t threads[kMost];
  for (int w = 0; w < n_comms; ++w) works[w].seconds = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (across) {
    const int mine = rank % n_comms;
    if (mine >= first && mine < first + n) run(&works[mine]);
  } else if (strcmp(cut, "nonblocking") == 0) {
    run_begun(works, first, n);
  } else {
    for (int w = first; w < first + n; ++w) pthread_create(&threads[w], NULL, run, &works[w]);
    for (int w = first; w < first + n; ++w) pthread_join(threads[w], NULL);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
  if (argc != 6 || atoi(argv[4]) > kMost || provided != MPI_THREAD_MULTIPLE)
    fail("together CUT BYTES CALLS N OUT");
  const char* const cut = argv[1];
  across = strcmp(cut, "across") == 0;
  count = (size_t)atol(argv[2]) / sizeof(int);
  n_comms = atoi(argv[4]);
  FILE* out = rank == 0 ? fopen(argv[5], "w") : NULL;
  Work works[kMost];
  for (int w = 0; w < n_comms; ++w) {
    if (!across) MPI_Comm_split(MPI_COMM_WORLD, 0, w % 2 == 0 ? rank : -rank, &comms[w]);
    works[w].in = malloc(count * sizeof(int));
    works[w].out = malloc(count * sizeof(int));
    works[w].comm = w;
  }
  if (across) MPI_Comm_split(MPI_COMM_WORLD, rank % n_comms, rank, &comms[rank % n_comms]);
  for (int op = 0; op < kOps; ++op) {
    double alone[kMost] = {0}, beside[kMost] = {0}, alone_all[kMost], beside_all[kMost];
    const int wanted = calls = atoi(argv[3]);
    for (int w = 0; w < n_comms; ++w) works[w].op = op;
    /* Blocking calls arm and learn; nonblocking ones never do. */
    calls = kUntimed;
    for (int w = 0; w < n_comms; ++w) {
      if (!across || rank % n_comms == w) run(&works[w]);
      MPI_Barrier(MPI_COMM_WORLD);
    }
    calls = wanted;
    for (int w = 0; w < n_comms; ++w) {
      run_all(cut, works, w, 1);
      alone[w] = works[w].seconds;
    }
    run_all(cut, works, 0, n_comms);
    for (int w = 0; w < n_comms; ++w) beside[w] = works[w].seconds;
    MPI_Reduce(alone, alone_all, n_comms, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(beside, beside_all, n_comms, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    for (int w = 0; out != NULL && w < n_comms; ++w)
      fprintf(out, "%s %d %.6f %.6f\n", kNames[op], w, alone_all[w], beside_all[w]);
  }
  if (out != NULL) fclose(out);
  MPI_Finalize();
  return 0;
}
