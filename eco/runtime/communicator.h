// One group of ranks with ECO under it: joins measuring, planning and running. The only state across calls.
//
//   auto armed = Communicator::arm(transport, native, options, identity, library);    // collective
//   if (const algo::Recipe* r = armed->serves(problem)) status = armed->run(problem, *r, buffers);
//
// One thread at a time per object (MPI forbids concurrent collectives on one communicator anyway).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "eco/coll/problem.h"
#include "eco/exec/executor.h"
#include "eco/net/group_view.h"
#include "eco/plan/plan_table.h"
#include "eco/runtime/options.h"
#include "eco/transport/native.h"
#include "eco/transport/transport.h"

namespace eco::runtime {

// What one rank knows of itself and tells the others when arming.
struct Identity {
  net::HostId host;
  std::string version;  // ECO's; all ranks must agree
};

struct ArmResult;

class Communicator {
 public:
  // Collective over the transport's group: agrees on version and options, finds the remembered network of these hosts
  // or measures it within the budget, then finds or makes the plan table. Every rank gets the same outcome. Never
  // throws: on any disagreement, bad file or missing permission the group stays native and `reason` says why.
  static ArmResult arm(transport::Transport& transport, transport::Native& native, const Options& options,
                       const Identity& identity);

  // Local, integers only: the recipe for this problem, or nullptr for the native collective.
  const algo::Recipe* serves(const coll::CommonProblem& problem) const;

  // Collective. After a failure every later call fails too (DESIGN, rule 8).
  [[nodiscard]] transport::Status run(const coll::CommonProblem& problem, const algo::Recipe& recipe,
                                      const exec::Buffers& buffers);

  const net::GroupView& view() const { return view_; }
  const plan::PlanTable& table() const { return table_; }
  const exec::FlightRecorder& recorder() const { return executor_.recorder(); }
  // "network of 8 hosts measured 2026-11-21T02:00:00Z, remembered": for the line at exit.
  const std::string& provenance() const { return provenance_; }

 private:
  friend struct ArmingSession;
  Communicator(transport::Transport& transport, net::GroupView view);

  transport::Transport& transport_;
  net::GroupView view_;
  plan::PlanTable table_;
  exec::Executor executor_;
  std::string provenance_;
  std::uint64_t calls_ = 0;
  bool poisoned_ = false;
};

struct ArmResult {
  std::unique_ptr<Communicator> communicator;  // null: this group stays native
  std::string reason;                          // why, on every rank the same
  double seconds_measuring = 0;                // taken from the job's budget, on every rank the same
};

}  // namespace eco::runtime
