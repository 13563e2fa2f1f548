// The ranks of a program's communicator agree among themselves, by the library's own collectives on it, inside a blocking
// call of the program (group.cc says at arm() why that is sound). Its error handler is set aside meanwhile.
//
//   LibraryAgreement agreement(comm, rank, n_ranks);
//   agreement.steps.together("", [&] { ... });
#pragma once

#include <mpi.h>

#include "eco/runtime/steps.h"
#include "eco/transport/mpi/mpi_native.h"
#include "preload/backend/errors_return.h"

namespace eco::preload {

struct LibraryAgreement {
  LibraryAgreement(MPI_Comm comm, int rank, int n_ranks)
      : errors_return(comm), native(comm), steps(native, rank, n_ranks) {}

  ErrorsReturn errors_return;
  transport::mpi::MpiNative native;
  runtime::Steps steps;
};

}  // namespace eco::preload
