// The library's progress, for whoever waits outside of it.
//
//   make_progress(comm);        // while waiting in another transport
#pragma once

#include <mpi.h>

namespace eco::transport::mpi {

// Local, does not wait: what the library has under way goes on. `comm` is one of several ranks, on which nobody sends to
// itself with the largest tag: a probe of a copy of MPI_COMM_SELF looks at no network under MPICH. Never from inside the
// library.
void make_progress(MPI_Comm comm);

}  // namespace eco::transport::mpi
