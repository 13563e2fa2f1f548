#include "eco/transport/mpi/progress.h"

#include "eco/transport/mpi/mpi_transport.h"

namespace eco::transport::mpi {

// Libraries look for a message first and make progress where there is none.
void make_progress(MPI_Comm comm) {
  static const int tag = largest_tag();
  int rank = 0;
  int found = 0;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Iprobe(rank, tag, comm, &found, MPI_STATUS_IGNORE);
}

}  // namespace eco::transport::mpi
