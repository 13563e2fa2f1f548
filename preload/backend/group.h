// ECO's side of one of the program's communicators: whether it is armed, and what it runs on.
//
// Hangs on the communicator as an attribute and dies with it. Its functions follow MPI's own rule: one blocking
// collective at a time on one communicator.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "eco/runtime/communicator.h"
#include "eco/transport/mpi/mpi_native.h"
#include "eco/transport/mpi/mpi_transport.h"

namespace eco::preload {

class Session;

class Group {
 public:
  // Local. Communicators of one rank and inter-communicators stay native from the start.
  Group(Session& session, MPI_Comm comm);
  ~Group() { release(); }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  MPI_Comm comm() const { return comm_; }
  int n_ranks() const { return n_ranks_; }
  int rank() const { return rank_; }

  // Collective in the one call that arms, else local. For blocking broadcasts and allreduces of at least one byte with
  // valid arguments: facts that all ranks share, so all ranks arm at the same call.
  void count_towards_arming();

  // Local: what serves this problem; nullptr for the library.
  const algo::Recipe* recipe(const coll::CommonProblem& problem) const {
    return runtime_ ? runtime_->serves(problem) : nullptr;
  }
  // Collective. False: the communicator is lost to ECO and to its program (poisoned() from now on).
  [[nodiscard]] bool run(const coll::CommonProblem& problem, const algo::Recipe& recipe,
                         const exec::Buffers& buffers);
  // An error in the middle of a served call, or of packing for it. Local; every later call errs.
  void poison() { poisoned_ = true; }
  bool poisoned() const { return poisoned_; }

  // By the plan's measurements, native less ECO; 0 if not known.
  double planned_gain_s(const coll::CommonProblem& problem) const;
  // Memory of `bytes` bytes for packed messages, kept from call to call unless it is large. Throws std::bad_alloc.
  std::vector<std::byte>& packed(std::size_t bytes);
  // The call that packed is over.
  void packed_is_free();

  const runtime::Communicator* armed() const { return runtime_.get(); }
  const std::string& why_native() const { return why_native_; }

  // Local: gives back the private communicator and the place among the armed ones.
  void release();

 private:
  enum class State { waiting, armed, native };

  void arm();
  // Collective: the same answer on all ranks. `budget_s` becomes the least of all ranks' remaining budgets.
  bool all_have_room(double& budget_s);
  bool make_private_communicator();
  void stay_native(std::string why);

  Session& session_;
  MPI_Comm comm_;
  MPI_Comm private_ = MPI_COMM_NULL;
  int n_ranks_ = 1;
  int rank_ = 0;
  int calls_until_arming_ = 0;
  State state_ = State::waiting;
  bool has_slot_ = false;
  bool poisoned_ = false;
  std::string why_native_ = "too few calls to be armed";
  std::unique_ptr<transport::mpi::MpiTransport> transport_;
  std::unique_ptr<transport::mpi::MpiNative> native_;
  std::unique_ptr<runtime::Communicator> runtime_;
  std::vector<std::byte> packed_;
};

}  // namespace eco::preload
