// The call checks of all communicators: carried by the library's progress, and to their end in MPI_Finalize.
//
//   checks.add(check);
//   checks.advance();          // from inside the library: carries each as far as it comes without waiting
#pragma once

#include <mpi.h>

#include <memory>
#include <vector>

#include "preload/backend/call_check.h"
#include "preload/backend/spin_lock.h"

namespace eco::preload {

class CallChecks {
 public:
  // Local. Takes a copy of MPI_COMM_WORLD, or MPI_COMM_NULL.
  void open(MPI_Comm over) { over_ = over; }
  // Local, when nothing is pending.
  void close();
  bool is_open() const { return over_ != MPI_COMM_NULL; }
  MPI_Comm over() const { return over_; }

  // Local, any thread.
  void add(std::shared_ptr<CallCheck> check);
  // Local, from the library's progress: carries all of them as far as they come, and tells error handlers.
  void advance() noexcept;
  // Local: not known for sure while another thread carries them.
  bool may_be_pending();
  // Until every answer is there.
  void drain();

 private:
  void sweep();

  MPI_Comm over_ = MPI_COMM_NULL;
  SpinLock busy_;  // guards what follows; from inside the library it is only tried
  std::vector<std::shared_ptr<CallCheck>> checks_;
};

}  // namespace eco::preload
