// A communicator's errors come back as codes while this lives; then its own handler is back in its place.
//
//   const ErrorsReturn errors_return(comm);
#pragma once

#include <mpi.h>

namespace eco::preload {

class ErrorsReturn {
 public:
  explicit ErrorsReturn(MPI_Comm comm) : comm_(comm) {
    PMPI_Comm_get_errhandler(comm_, &handler_);
    PMPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  }
  ~ErrorsReturn() {
    PMPI_Comm_set_errhandler(comm_, handler_);
    PMPI_Errhandler_free(&handler_);
  }
  ErrorsReturn(const ErrorsReturn&) = delete;
  ErrorsReturn& operator=(const ErrorsReturn&) = delete;

  // For a communicator made of this one meanwhile, which takes over what it finds.
  void give_handler_to(MPI_Comm made) const { PMPI_Comm_set_errhandler(made, handler_); }

 private:
  MPI_Comm comm_;
  MPI_Errhandler handler_ = MPI_ERRHANDLER_NULL;
};

}  // namespace eco::preload
