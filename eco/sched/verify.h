// Proves a set of schedules, one per rank, before any of them runs.
//
//   if (auto fault = verify(problem, schedules)) refuse(fault->what);
//
// Runs all ranks in an abstract machine, element by element: every element of every buffer holds the expression that
// computed it. Runs are repeated with synchronous sends, with unbounded buffering, under the schedules' own send
// windows, and with seeded random orders of completion. Checked: every send meets a receive of its size, nothing is
// left over, no deadlock, no region in flight is touched, no unset element is read, the postcondition of the
// collective holds on every rank, every contribution is in a result exactly once, all ranks hold the same expression,
// and in rank order where the operation does not commute. A barrier's tokens are sets of ranks: everybody's has to be
// there, once or more often. Ranks have as many channels each, on the same rails. Operations of groups are run with every
// member waiting for all others, and with each done as soon as its own result can be; members have to do the same ones in
// the same order. Pure; cost grows with elements x operations.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "eco/coll/problem.h"
#include "eco/sched/schedule.h"

namespace eco::sched {

struct Fault {
  std::string what;  // "rank 3: ...", one line
};

struct VerifyOptions {
  std::size_t window_capacity = 512;  // must be the Executor's
  int random_orders = 2;              // seeded runs besides the fixed ones
  bool input_is_output = false;
};

// Schedules in rank order. Nothing if all is proved.
std::optional<Fault> verify(const coll::CommonProblem& problem, const std::vector<Schedule>& schedules,
                            const VerifyOptions& options = {});

}  // namespace eco::sched
