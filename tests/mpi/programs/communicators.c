/* Hazard 3: many communicators alive at once (first argument), many made, used five times and freed (second argument);
 * copies, halves, and groups of neighbours in turn, so that communicators share some of their ranks. With a third argument copies
 * alone, in a library that has so many context ids left: each one that is lost counts. */
#include "check.h"

enum { MOST_IDS = 1 << 14 };

/* Holds context ids, by copies of MPI_COMM_SELF, until so many are left. */
static void leave_ids(int left) {
  static MPI_Comm held[MOST_IDS];
  int n = 0;
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  while (n < MOST_IDS && MPI_Comm_dup(MPI_COMM_SELF, &held[n]) == MPI_SUCCESS) ++n;
  CHECK(left < n && n < MOST_IDS);
  for (int i = 0; i < left; ++i) MPI_Comm_free(&held[--n]);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

static void use(MPI_Comm comm, int times) {
  int sum, me, size;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &size);
  for (int i = 0; i < times; ++i) {
    MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK(sum == size * (size - 1) / 2);
  }
}

/* This rank's new communicator of the i-th kind; MPI_COMM_NULL where it is in none. */
static MPI_Comm make(int i) {
  MPI_Comm comm = MPI_COMM_NULL;
  if (i % 3 == 0) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  } else if (i % 3 == 1) {
    MPI_Comm_split(MPI_COMM_WORLD, (rank + i) / 2 % 2, -rank, &comm);
  } else {
    const int first = i % n_ranks, second = (first + 1) % n_ranks, two[2] = {first, second};
    MPI_Group world, pair;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, n_ranks > 1 ? 2 : 1, two, &pair);
    if (rank == first || rank == second) MPI_Comm_create_group(MPI_COMM_WORLD, pair, i, &comm);
    MPI_Group_free(&world);
    MPI_Group_free(&pair);
  }
  return comm;
}

static void end_of(MPI_Comm* comm) {
  if (*comm != MPI_COMM_NULL) MPI_Comm_free(comm);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  const int alive = atoi(argv[1]), made = atoi(argv[2]), step = argc == 3 ? 1 : 3;
  if (argc > 3) leave_ids(atoi(argv[3]));
  MPI_Comm* comms = malloc((size_t)(alive > 0 ? alive : 1) * sizeof(MPI_Comm));
  for (int i = 0; i < alive; ++i) comms[i] = make(step * i);
  for (int turn = 0; turn < 5; ++turn)
    for (int i = 0; i < alive; ++i)
      if (comms[i] != MPI_COMM_NULL) use(comms[i], 1);
  for (int i = 0; i < alive; ++i) end_of(&comms[i]);
  for (int i = 0; i < made; ++i) {
    MPI_Comm comm = make(step * i);
    if (comm != MPI_COMM_NULL) use(comm, 5);
    end_of(&comm);
  }
  free(comms);
  return end();
}
