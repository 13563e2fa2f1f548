/* What the test programs share: a check that ends the job with its line, and the rank. */
#ifndef ECO_TESTS_CHECK_H
#define ECO_TESTS_CHECK_H
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, n_ranks;

static void begin(int* argc, char*** argv) {
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
}

#define CHECK(condition)                                                                           \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      fprintf(stderr, "%s:%d: rank %d: %s does not hold\n", __FILE__, __LINE__, rank, #condition); \
      MPI_Abort(MPI_COMM_WORLD, 9);                                                                \
    }                                                                                              \
  } while (0)

static int end(void) {
  if (rank == 0) printf("right\n");
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
#endif
