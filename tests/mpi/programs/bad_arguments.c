/* Prints the error class of each wrong call, made alike on all ranks. The library's answers must not change. */
#include "check.h"

static void say(const char* what, int code) {
  int class = MPI_SUCCESS;
  MPI_Error_class(code, &class);
  if (rank == 0) printf("%s: %d\n", what, class);
}

int main(int argc, char** argv) {
  int data[4] = {0}, out[64], below[64], counts[64], places[64] = {0};
  MPI_Request request;
  begin(&argc, &argv);
  for (int i = 0; i < 64; ++i) below[i] = -1, counts[i] = 1;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Datatype dense, gaps; /* never committed */
  MPI_Type_contiguous(1, MPI_INT, &dense);
  MPI_Type_vector(2, 1, 2, MPI_INT, &gaps);
  for (int turn = 0; turn < 2; ++turn) {
    say("bcast root -1", MPI_Bcast(data, 1, MPI_INT, -1, MPI_COMM_WORLD));
    say("bcast root n", MPI_Bcast(data, 1, MPI_INT, n_ranks, MPI_COMM_WORLD));
    say("bcast count -1", MPI_Bcast(data, -1, MPI_INT, 0, MPI_COMM_WORLD));
    say("bcast type null", MPI_Bcast(data, 1, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD));
    say("bcast uncommitted", MPI_Bcast(data, 1, dense, 0, MPI_COMM_WORLD));
    say("bcast uncommitted with gaps", MPI_Bcast(data, 1, gaps, 0, MPI_COMM_WORLD));
    say("bcast comm null", MPI_Bcast(data, 1, MPI_INT, 0, MPI_COMM_NULL));
    say("allreduce comm null", MPI_Allreduce(data, out, 1, MPI_INT, MPI_SUM, MPI_COMM_NULL));
#if defined(OPEN_MPI) /* MPICH 5.0.2 aborts inside its own allreduce on these */
    say("allreduce count -1", MPI_Allreduce(data, out, -1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    say("allreduce type null", MPI_Allreduce(data, out, 1, MPI_DATATYPE_NULL, MPI_SUM, MPI_COMM_WORLD));
    say("allreduce op null", MPI_Allreduce(data, out, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD));
    say("allreduce sum of bytes", MPI_Allreduce(data, out, 1, MPI_BYTE, MPI_SUM, MPI_COMM_WORLD));
#else
    say("allreduce of aliases", MPI_Allreduce(data, data, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
#endif
    say("barrier comm null", MPI_Barrier(MPI_COMM_NULL));
    say("scatter root n", MPI_Scatter(data, 1, MPI_INT, out, 1, MPI_INT, n_ranks, MPI_COMM_WORLD));
    say("scatter count -1", MPI_Scatter(data, -1, MPI_INT, out, -1, MPI_INT, 0, MPI_COMM_WORLD));
    say("gather root -1", MPI_Gather(data, 1, MPI_INT, out, 1, MPI_INT, -1, MPI_COMM_WORLD));
    say("gather type null",
        MPI_Gather(data, 1, MPI_DATATYPE_NULL, out, 1, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD));
    say("gather uncommitted", MPI_Gather(data, 1, gaps, out, 1, gaps, 0, MPI_COMM_WORLD));
    say("allgather uncommitted", MPI_Allgather(data, 1, dense, out, 1, dense, MPI_COMM_WORLD));
    say("alltoall received uncommitted", MPI_Alltoall(data, 1, MPI_INT, out, 1, dense, MPI_COMM_WORLD));
    say("allgather count -1", MPI_Allgather(data, -1, MPI_INT, out, -1, MPI_INT, MPI_COMM_WORLD));
    say("alltoall type null",
        MPI_Alltoall(data, 1, MPI_DATATYPE_NULL, out, 1, MPI_DATATYPE_NULL, MPI_COMM_WORLD));
    say("reduce root n", MPI_Reduce(data, out, 1, MPI_INT, MPI_SUM, n_ranks, MPI_COMM_WORLD));
    say("scan comm null", MPI_Scan(data, out, 1, MPI_INT, MPI_SUM, MPI_COMM_NULL));
#if defined(OPEN_MPI)
    say("scan op null", MPI_Scan(data, out, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD));
    say("exscan count -1", MPI_Exscan(data, out, -1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    say("reduce_scatter_block sum of bytes",
        MPI_Reduce_scatter_block(data, out, 1, MPI_BYTE, MPI_SUM, MPI_COMM_WORLD));
#else
    /* Open MPI 5.0.11 crashes on it */
    say("allgather comm null", MPI_Allgather(data, 1, MPI_INT, out, 1, MPI_INT, MPI_COMM_NULL));
    say("scan of aliases", MPI_Scan(data, data, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    say("alltoall of aliases", MPI_Alltoall(data, 1, MPI_INT, data, 1, MPI_INT, MPI_COMM_WORLD));
    say("allgather of aliases", MPI_Allgather(data + rank, 1, MPI_INT, data, 1, MPI_INT, MPI_COMM_WORLD));
#endif
    say("ibcast root n", MPI_Ibcast(data, 1, MPI_INT, n_ranks, MPI_COMM_WORLD, &request));
    say("ibcast count -1", MPI_Ibcast(data, -1, MPI_INT, 0, MPI_COMM_WORLD, &request));
    say("ibcast type null", MPI_Ibcast(data, 1, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD, &request));
    say("ibcast uncommitted", MPI_Ibcast(data, 1, dense, 0, MPI_COMM_WORLD, &request));
    say("iallgather uncommitted", MPI_Iallgather(data, 1, gaps, out, 1, gaps, MPI_COMM_WORLD, &request));
    say("ibcast comm null", MPI_Ibcast(data, 1, MPI_INT, 0, MPI_COMM_NULL, &request));
    say("ireduce root -1", MPI_Ireduce(data, out, 1, MPI_INT, MPI_SUM, -1, MPI_COMM_WORLD, &request));
    say("allgatherv counts -1",
        MPI_Allgatherv(data, -1, MPI_INT, out, below, places, MPI_INT, MPI_COMM_WORLD));
    say("allgatherv type null",
        MPI_Allgatherv(data, 1, MPI_INT, out, counts, places, MPI_DATATYPE_NULL, MPI_COMM_WORLD));
    say("reduce_scatter counts -1", MPI_Reduce_scatter(data, out, below, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    /* The second turn is on an armed communicator. */
    say("allreduce", MPI_Allreduce(data, out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    say("allgather", MPI_Allgather(data, 1, MPI_INT, out, 1, MPI_INT, MPI_COMM_WORLD));
    say("scan", MPI_Scan(data, out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    say("alltoall", MPI_Alltoall(data, 1, MPI_INT, out, 1, MPI_INT, MPI_COMM_WORLD));
  }
  MPI_Type_free(&dense);
  MPI_Type_free(&gaps);
  return end();
}
