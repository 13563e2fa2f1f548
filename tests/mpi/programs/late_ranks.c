/* Ranks that come late to collectives at random, most of them such as form around who is there, on MPI_COMM_WORLD and on halves of it.
 * Arguments: seed, calls, longest sleep in microseconds. Every rank draws what is called alike, and when it comes by itself. */
#include <unistd.h>

#include "check.h"

static unsigned long long common, own;

static unsigned draw(unsigned long long* state, unsigned below) {
  *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (unsigned)(*state >> 33) % below;
}

static unsigned char content(int call, int root, int i) { return (unsigned char)(call * 31 + root * 7 + i); }

static int value(int call, int from, int i) { return call * 31 + from * 7 + i % 1000; }

/* Sums, at one root or everywhere; of doubles too, which stay as they were but for ECO_ANY_ORDER=1. */
static void sum(MPI_Comm comm, int call, int bytes, int root, int to_all, int of_doubles, int in_place) {
  int size, me;
  MPI_Comm_size(comm, &size);
  MPI_Comm_rank(comm, &me);
  const int count = bytes / 8;
  const MPI_Datatype type = of_doubles ? MPI_DOUBLE : MPI_INT;
  double *in = malloc((size_t)count * 8), *out = malloc((size_t)count * 8);
  for (int i = 0; i < count; ++i) {
    if (of_doubles)
      in[i] = value(call, me, i);
    else
      ((int*)in)[i] = value(call, me, i);
  }
  const int has_result = to_all || me == root;
  const int keeps_in_place = in_place && has_result;
  if (keeps_in_place) memcpy(out, in, (size_t)count * 8);
  const void* from = keeps_in_place ? MPI_IN_PLACE : in;
  if (to_all)
    MPI_Allreduce(from, out, count, type, MPI_SUM, comm);
  else
    MPI_Reduce(from, out, count, type, MPI_SUM, root, comm);
  for (int i = 0; i < count && has_result; ++i) {
    int expected = 0;
    for (int r = 0; r < size; ++r) expected += value(call, r, i);
    CHECK((of_doubles ? (int)out[i] : ((int*)out)[i]) == expected);
  }
  free(in);
  free(out);
}

/* Blocks of so many bytes, to the root, to all or from the root. */
enum way { TO_ROOT, TO_ALL, FROM_ROOT };

static void move(MPI_Comm comm, int call, int bytes, int root, enum way way, int in_place) {
  int size, me;
  MPI_Comm_size(comm, &size);
  MPI_Comm_rank(comm, &me);
  unsigned char *block = malloc((size_t)bytes), *all = malloc((size_t)bytes * (size_t)size);
  for (int i = 0; i < bytes * size; ++i)
    all[i] = way == FROM_ROOT ? content(call, i / bytes, i % bytes) : 0xEE;
  for (int i = 0; i < bytes; ++i) block[i] = way == FROM_ROOT ? 0xEE : content(call, me, i);
  if (way == TO_ROOT) {
    MPI_Gather(block, bytes, MPI_BYTE, all, bytes, MPI_BYTE, root, comm);
  } else if (way == FROM_ROOT) {
    MPI_Scatter(all, bytes, MPI_BYTE, block, bytes, MPI_BYTE, root, comm);
  } else if (in_place) {
    memcpy(all + (size_t)me * (size_t)bytes, block, (size_t)bytes);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, bytes, MPI_BYTE, comm);
  } else {
    MPI_Allgather(block, bytes, MPI_BYTE, all, bytes, MPI_BYTE, comm);
  }
  for (int i = 0; i < bytes; ++i) CHECK(block[i] == content(call, me, i));
  for (int i = 0; i < bytes * size && (me == root || way == TO_ALL); ++i)
    CHECK(all[i] == content(call, i / bytes, i % bytes));
  free(block);
  free(all);
}

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
    const unsigned kind = draw(&common, 16);
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
    } else if (kind < 6) {
      sum(comm, call, bytes, root, kind < 4, drawn % 4 == 0, drawn % 3 == 0);
    } else if (kind < 9) {
      move(comm, call, bytes / size + 1, root, kind < 8 ? TO_ROOT : FROM_ROOT, 0);
    } else if (kind >= 14) {
      move(comm, call, bytes / size + 1, root, TO_ALL, drawn % 3 == 0);
    } else {
      MPI_Request request = MPI_REQUEST_NULL;
      for (int i = 0; i < bytes; ++i) data[i] = me == root ? content(call, root, i) : 0xEE;
      if (kind == 9) {
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
