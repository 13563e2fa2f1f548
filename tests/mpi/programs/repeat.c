/* repeat OPERATION BYTES TIMES: one collective, so many times. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const char* operation = argv[1];
  const int bytes = atoi(argv[2]), times = atoi(argv[3]);
  int ranks;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  char *in = calloc((size_t)bytes + 1, (size_t)ranks), *out = calloc((size_t)bytes + 1, (size_t)ranks);
  for (int i = 0; i < times; ++i) {
    if (!strcmp(operation, "broadcast")) MPI_Bcast(in, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (!strcmp(operation, "barrier")) MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(operation, "allreduce")) MPI_Allreduce(in, out, bytes, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
    if (!strcmp(operation, "allgather"))
      MPI_Allgather(in, bytes / ranks, MPI_BYTE, out, bytes / ranks, MPI_BYTE, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
