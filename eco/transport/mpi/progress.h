// The library's progress, for whoever waits outside of it.
//
//   make_progress(comm);        // while waiting in another transport
#pragma once

#include <mpi.h>

namespace eco::transport::mpi {

// Local, does not wait: what the library has under way goes on. `comm` is one on which nobody sends with the largest tag.
// Never from inside the library.
void make_progress(MPI_Comm comm);

}  // namespace eco::transport::mpi
