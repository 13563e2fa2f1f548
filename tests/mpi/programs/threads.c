/* Two threads, each with a communicator of its own, under MPI_THREAD_MULTIPLE. */
#include <pthread.h>

#include "check.h"

static void* work(void* argument) {
  MPI_Comm comm = *(MPI_Comm*)argument;
  for (int turn = 0; turn < 60; ++turn) {
    static __thread int in[5000], out[5000];
    const int count = 1 + (turn * 997) % 5000;
    for (int i = 0; i < count; ++i) in[i] = rank + i;
    MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, comm);
    for (int i = 0; i < count; ++i) CHECK(out[i] == n_ranks * (n_ranks - 1) / 2 + n_ranks * i);
    for (int i = 0; i < count; ++i) out[i] = rank == turn % n_ranks ? i : -1;
    MPI_Bcast(out, count, MPI_INT, turn % n_ranks, comm);
    for (int i = 0; i < count; ++i) CHECK(out[i] == i);
    MPI_Barrier(comm);
  }
  return NULL;
}

int main(int argc, char** argv) {
  int provided;
  MPI_Comm comms[2];
  pthread_t threads[2];
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
  CHECK(provided == MPI_THREAD_MULTIPLE);
  for (int i = 0; i < 2; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, work, &comms[i]);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < 2; ++i) MPI_Comm_free(&comms[i]);
  return end();
}
