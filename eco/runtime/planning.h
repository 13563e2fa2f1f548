// How a group comes to a plan for some collectives: from the file given by hand, from the store, or made now by trials.
//
//   const PlanRequest request{.collectives = {c}, .most_s = 1};
//   const FoundPlan found = find_plan(steps, transport, native, view, options, version, request, spent_s);
//
// A plan is found or made collective by collective: a program that calls only broadcast spends its budget on that, and
// the remembered file grows by what each job adds.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "eco/coll/problem.h"
#include "eco/net/group_view.h"
#include "eco/plan/plan_table.h"
#include "eco/runtime/options.h"
#include "eco/runtime/steps.h"
#include "eco/transport/native.h"
#include "eco/transport/transport.h"

namespace eco::runtime {

struct PlanRequest {
  std::vector<coll::Collective> collectives;  // wanted; to who arms what else is remembered comes with them
  bool anew = false;                          // make theirs even if they are remembered with as much effort
  // Offline; a job's is plan::Effort::job. Estimates are neither measured nor remembered, and must not serve.
  plan::Effort effort = plan::Effort::measure;
  std::vector<std::size_t> sizes;  // at which it is made; empty: plan::default_sizes()
  // In a job: the call at hand. Made for its size and its root's subnet, and all else is left open.
  std::optional<coll::CommonProblem> call{};
  const plan::PlanTable* present =
      nullptr;            // of who learns: what serves now, to begin with where nothing is remembered
  std::string network{};  // rank 0's: where that is from; the plan's source begins with it
  double most_s = 0;      // that making it may take; offline, 0: as long as it needs
  std::function<void(const std::string& what, double fraction)> progress;
};

struct FoundPlan {
  plan::PlanTable table;  // the same on all ranks
  std::string source;     // "network of 8 hosts ..., remembered; plan remembered"; the same on all ranks
  std::string not_remembered{};  // rank 0's: why what was made is not; empty: it is, or nothing was made
  bool by_hand = false;  // the user's file, on all ranks if on rank 0: there is nothing to be added to it
};

// Local, rank 0: what the others need to have the same plan, where it is found without measuring; else empty. Throws what
// keeps it from being found.
std::string plan_to_tell(Steps& steps, transport::Transport& transport, transport::Native& native,
                         const net::GroupView& view, const Options& options, const std::string& version,
                         const PlanRequest& request);
// Local, every rank. Throws CorruptFile.
FoundPlan told_plan(const std::string& text);

// Collective; throws StaysNative on all ranks alike. Adds the time that trials took to `measuring_s` even then.
FoundPlan find_plan(Steps& steps, transport::Transport& transport, transport::Native& native,
                    const net::GroupView& view, const Options& options, const std::string& version,
                    const PlanRequest& request, double& measuring_s);

}  // namespace eco::runtime
