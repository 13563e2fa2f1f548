/* Two ranks spawn a third and merge with it: a communicator beyond MPI_COMM_WORLD. The argument says how the third runs:
 * "preloaded" as its parents do, "bare" without what they have in LD_PRELOAD. */
#include "check.h"

static void use(MPI_Comm comm) {
  int sum, size, me, data;
  MPI_Comm_size(comm, &size);
  MPI_Comm_rank(comm, &me);
  for (int i = 0; i < 5; ++i) {
    MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK(sum == size * (size - 1) / 2);
    data = me == 0 ? i : -1;
    MPI_Bcast(&data, 1, MPI_INT, 0, comm);
    CHECK(data == i);
    MPI_Barrier(comm);
  }
}

int main(int argc, char** argv) {
  MPI_Comm other, merged;
  begin(&argc, &argv);
  CHECK(argc == 2);
  const int is_child = strcmp(argv[1], "child") == 0;
  if (is_child) {
    MPI_Comm_get_parent(&other);
    CHECK(other != MPI_COMM_NULL);
  } else {
    char* plain[] = {"child", NULL};
    char* stripped[] = {"-u", "LD_PRELOAD", argv[0], "child", NULL};
    const int bare = strcmp(argv[1], "bare") == 0;
    MPI_Comm_spawn(bare ? "/usr/bin/env" : argv[0], bare ? stripped : plain, 1, MPI_INFO_NULL, 0,
                   MPI_COMM_WORLD, &other, MPI_ERRCODES_IGNORE);
  }
  MPI_Intercomm_merge(other, is_child, &merged);
  use(merged);
  MPI_Comm_free(&merged);
  MPI_Comm_disconnect(&other);
  if (!is_child) return end();
  MPI_Finalize();
  return 0;
}
