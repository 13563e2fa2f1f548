// Parameter lists that several algorithms offer to the planner.
#pragma once

#include <vector>

#include "eco/algo/recipe.h"
#include "eco/coll/problem.h"
#include "eco/net/group_view.h"

namespace eco::algo {

// For one tree in rank order: segments, and send windows where the message is large.
std::vector<Params> tree_candidates(const coll::CommonProblem& problem, Shape shape);

// For ECO's trees: the same times shapes inside and between subnets; for a broadcast also times the orders of the
// subnets below the root's, and heads.
std::vector<Params> subnet_candidates(const coll::CommonProblem& problem, const net::GroupView& view,
                                      bool for_broadcast);

}  // namespace eco::algo
