/* Ranks that come late to broadcasts at random, among other collectives, on MPI_COMM_WORLD and on halves of it.
 * Arguments: seed, calls, longest sleep in microseconds. Every rank draws what is called alike, and when it comes by itself. */
#include <unistd.h>

#include "check.h"

static unsigned long long common, own;

static unsigned draw(unsigned long long* state, unsigned below) {
  *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (unsigned)(*state >> 33) % below;
}

static unsigned char content(int call, int root, int i) { return (unsigned char)(call * 31 + root * 7 + i); }

int main(int argc, char** argv) {
  static const int kSizes[] = {8, 400, 3000, 20000, 300000};
  MPI_Comm half;
  begin(&argc, &argv);
  CHECK(argc == 4);
  common = (unsigned long long)atoi(argv[1]);
  own = common * 1000 + (unsigned long long)rank;
  const int calls = atoi(argv[2]), longest_us = atoi(argv[3]);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  unsigned char* data = malloc(300000);
  for (int call = 0; call < calls; ++call) {
    const unsigned kind = draw(&common, 8);
    const MPI_Comm comm = draw(&common, 4) == 0 ? half : MPI_COMM_WORLD;
    const int bytes = kSizes[draw(&common, 5)];
    const unsigned drawn = draw(&common, 1000);
    int size, me;
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &me);
    const int root = (int)drawn % size;
    if (draw(&own, 3) == 0) usleep(draw(&own, (unsigned)longest_us));
    if (kind == 0) {
      int sum = 0;
      MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, comm);
      CHECK(sum == size * (size - 1) / 2);
    } else if (kind == 1) {
      MPI_Barrier(comm);
    } else {
      MPI_Request request = MPI_REQUEST_NULL;
      for (int i = 0; i < bytes; ++i) data[i] = me == root ? content(call, root, i) : 0xEE;
      if (kind == 2) {
        MPI_Ibcast(data, bytes, MPI_BYTE, root, comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
      } else {
        MPI_Bcast(data, bytes, MPI_BYTE, root, comm);
      }
      for (int i = 0; i < bytes; ++i) CHECK(data[i] == content(call, root, i));
    }
  }
  free(data);
  MPI_Comm_free(&half);
  return end();
}
