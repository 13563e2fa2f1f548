// An algorithm is a pure builder of schedules. One file each, one line in registry.cc each.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "eco/algo/recipe.h"
#include "eco/coll/problem.h"
#include "eco/net/group_view.h"
#include "eco/sched/schedule.h"

namespace eco::algo {

class Algorithm {
 public:
  virtual ~Algorithm() = default;

  virtual std::string_view name() const = 0;  // "broadcast/subnets": collective, slash, pattern
  virtual coll::Collective collective() const = 0;
  // Why it can't serve this problem on this group; nothing if it can.
  virtual std::optional<std::string> why_not(const coll::CommonProblem& problem,
                                             const net::GroupView& view) const = 0;
  // Parameters worth predicting for this problem on this group, few tens at most.
  virtual std::vector<Params> candidates(const coll::CommonProblem& problem,
                                         const net::GroupView& view) const = 0;
  // The schedule of one rank. Pure, equal inputs give equal schedules on every machine.
  virtual sched::Schedule build(const coll::CommonProblem& problem, const net::GroupView& view,
                                const Params& params, int rank) const = 0;
};

// All algorithms, in a fixed order.
std::span<const Algorithm* const> registry();
// By name; nullptr if there is none.
const Algorithm* find(std::string_view name);

// Why a recipe (from a plan file, say) can't be built for this problem on this group: unknown algorithm, another
// collective, an order that does not name each subnet once, or the algorithm's own why_not. Nothing if it can.
std::optional<std::string> why_not(const Recipe& recipe, const coll::CommonProblem& problem,
                                   const net::GroupView& view);

// All ranks' schedules, for whoever predicts, verifies or draws.
std::vector<sched::Schedule> build_all(const Recipe& recipe, const coll::CommonProblem& problem,
                                       const net::GroupView& view);

}  // namespace eco::algo
