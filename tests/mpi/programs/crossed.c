/* Hazard 5: ranks that wait for each other in MPI and in collectives at once: who waits for one must let the other go on.
   At the end the number of descriptors that are open behind MPI_Finalize. */
#include <dirent.h>
#include <unistd.h>

#include "check.h"

enum { kLarge = 1 << 20, kRounds = 20 };
static int large[kLarge], got[kLarge], all[kLarge];

static void fill(int* data, int n, int seed) {
  for (int i = 0; i < n; ++i) data[i] = seed + i;
}
static void expect(const int* data, int n, int seed) {
  for (int i = 0; i < n; ++i) CHECK(data[i] == seed + i);
}

/* The root has begun to send what the other takes before it comes to the broadcast. */
static void send_and_broadcast(MPI_Comm comm, int round) {
  const int root = round % n_ranks, other = (root + 1) % n_ranks;
  MPI_Request request = MPI_REQUEST_NULL;
  if (rank == root) {
    fill(large, kLarge, round);
    MPI_Isend(large, kLarge, MPI_INT, other, 1, comm, &request);
    fill(all, kLarge, -round);
  } else if (rank == other) {
    MPI_Recv(got, kLarge, MPI_INT, root, 1, comm, MPI_STATUS_IGNORE);
    expect(got, kLarge, round);
  }
  MPI_Bcast(all, kLarge, MPI_INT, root, comm);
  expect(all, kLarge, -round);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* The other takes it after the broadcast, in which the sender need not wait for it. */
static void broadcast_and_take(MPI_Comm comm, int round) {
  const int root = round % n_ranks, other = (root + 1) % n_ranks;
  MPI_Request request = MPI_REQUEST_NULL;
  if (rank == root) fill(large, kLarge, round);
  if (rank == root) MPI_Isend(large, kLarge, MPI_INT, other, 2, comm, &request);
  if (rank == root) fill(all, kLarge, 3 * round);
  MPI_Bcast(all, kLarge, MPI_INT, root, comm);
  expect(all, kLarge, 3 * round);
  if (rank == other) {
    MPI_Recv(got, kLarge, MPI_INT, root, 2, comm, MPI_STATUS_IGNORE);
    expect(got, kLarge, round);
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* One after the other on communicators whose ranks are the same in another order. */
static void on_all(MPI_Comm* comms, int n, int round) {
  for (int i = 0; i < n; ++i) {
    int me;
    MPI_Comm_rank(comms[i], &me);
    for (int k = 0; k < kLarge / 8; ++k) large[k] = k % 1000;
    MPI_Allreduce(large, got, kLarge / 8, MPI_INT, MPI_SUM, comms[i]);
    int size;
    MPI_Comm_size(comms[i], &size);
    for (int k = 0; k < kLarge / 8; ++k) CHECK(got[k] == size * (k % 1000));
    if (me == 0) fill(all, 1000 * (i + 1), round + i);
    MPI_Bcast(all, 1000 * (i + 1), MPI_INT, 0, comms[i]);
    expect(all, 1000 * (i + 1), round + i);
  }
}

/* Beside a nonblocking one. */
static void beside(MPI_Comm comm, int round) {
  MPI_Request request;
  static int quiet[kLarge / 4];
  if (rank == 0) fill(quiet, kLarge / 4, round);
  MPI_Ibcast(quiet, kLarge / 4, MPI_INT, 0, comm, &request);
  if (rank == n_ranks - 1) fill(all, kLarge / 4, 7 * round);
  MPI_Bcast(all, kLarge / 4, MPI_INT, n_ranks - 1, comm);
  expect(all, kLarge / 4, 7 * round);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect(quiet, kLarge / 4, round);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Comm comms[3] = {MPI_COMM_WORLD};
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[1]);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comms[2]);
  for (int round = 0; round < kRounds; ++round) {
    send_and_broadcast(MPI_COMM_WORLD, round);
    broadcast_and_take(MPI_COMM_WORLD, round);
    on_all(comms, 3, round);
    beside(MPI_COMM_WORLD, round);
  }
  MPI_Comm_free(&comms[2]);
  MPI_Comm_free(&comms[1]);
  if (rank == 0) printf("right\n");
  fflush(stdout);
  MPI_Finalize();
  int n_open = 0;
  DIR* folder = opendir("/proc/self/fd");
  while (readdir(folder)) ++n_open;
  closedir(folder);
  if (rank == 0) fprintf(stderr, "%d descriptors\n", n_open);
  return 0;
}
