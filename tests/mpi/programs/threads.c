/* Threads, each with a communicator of its own, under MPI_THREAD_MULTIPLE: they arm, learn and run at the same time. */
#include <pthread.h>

#include "check.h"

enum { kThreads = 4, kTurns = 60, kMost = 5000, kMostRanks = 8 };

typedef struct {
  int in[kMost * kMostRanks], out[kMost * kMostRanks];
} Memory;

static void fill(int* data, int n) {
  for (int i = 0; i < n; ++i) data[i] = rank * 10000 + i;
}

static void* work(void* argument) {
  MPI_Comm comm = *(MPI_Comm*)argument;
  Memory* memory = malloc(sizeof *memory);
  int *in = memory->in, *out = memory->out;
  const int all = n_ranks * (n_ranks - 1) / 2 * 10000, before = rank * (rank - 1) / 2 * 10000;
  for (int turn = 0; turn < kTurns; ++turn) {
    const int count = 1 + (turn * 997) % kMost, root = turn % n_ranks;
    fill(in, count * n_ranks);
    MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, comm);
    for (int i = 0; i < count; ++i) CHECK(out[i] == all + n_ranks * i);
    fill(out, count);
    MPI_Bcast(out, count, MPI_INT, root, comm);
    for (int i = 0; i < count; ++i) CHECK(out[i] == root * 10000 + i);
    MPI_Reduce(in, out, count, MPI_INT, MPI_SUM, root, comm);
    for (int i = 0; i < count && rank == root; ++i) CHECK(out[i] == all + n_ranks * i);
    MPI_Allgather(in, count, MPI_INT, out, count, MPI_INT, comm);
    for (int i = 0; i < count * n_ranks; ++i) CHECK(out[i] == i / count * 10000 + i % count);
    MPI_Gather(in, count, MPI_INT, out, count, MPI_INT, root, comm);
    for (int i = 0; i < count * n_ranks && rank == root; ++i) CHECK(out[i] == i / count * 10000 + i % count);
    MPI_Scatter(in, count, MPI_INT, out, count, MPI_INT, root, comm);
    for (int i = 0; i < count; ++i) CHECK(out[i] == root * 10000 + rank * count + i);
    MPI_Alltoall(in, count, MPI_INT, out, count, MPI_INT, comm);
    for (int i = 0; i < count * n_ranks; ++i) CHECK(out[i] == i / count * 10000 + rank * count + i % count);
    MPI_Reduce_scatter_block(in, out, count, MPI_INT, MPI_SUM, comm);
    for (int i = 0; i < count; ++i) CHECK(out[i] == all + n_ranks * (rank * count + i));
    MPI_Scan(in, out, count, MPI_INT, MPI_SUM, comm);
    for (int i = 0; i < count; ++i) CHECK(out[i] == before + rank * 10000 + (rank + 1) * i);
    MPI_Exscan(in, out, count, MPI_INT, MPI_SUM, comm);
    for (int i = 0; i < count && rank > 0; ++i) CHECK(out[i] == before + rank * i);
    MPI_Barrier(comm);
  }
  free(memory);
  return NULL;
}

int main(int argc, char** argv) {
  int provided;
  MPI_Comm comms[kThreads];
  pthread_t threads[kThreads];
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
  CHECK(provided == MPI_THREAD_MULTIPLE && n_ranks <= kMostRanks);
  /* Twice: tags that were given back are taken again. */
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < kThreads; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, work, &comms[i]);
    for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
    for (int i = 0; i < kThreads; ++i) MPI_Comm_free(&comms[i]);
  }
  return end();
}
