/* Hazard 3: many communicators alive at once (first argument), many made and freed (second argument). */
#include "check.h"

static void use(MPI_Comm comm, int times) {
  int sum;
  for (int i = 0; i < times; ++i) {
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK(sum == n_ranks * (n_ranks - 1) / 2);
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  CHECK(argc == 3);
  const int alive = atoi(argv[1]), made = atoi(argv[2]);
  MPI_Comm* comms = malloc((size_t)(alive > 0 ? alive : 1) * sizeof(MPI_Comm));
  for (int i = 0; i < alive; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  for (int i = 0; i < alive; ++i) use(comms[i], 5);
  for (int i = 0; i < alive; ++i) MPI_Comm_free(&comms[i]);
  for (int i = 0; i < made; ++i) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    use(comm, i % 100 == 0 ? 6 : 1);
    MPI_Comm_free(&comm);
  }
  free(comms);
  return end();
}
