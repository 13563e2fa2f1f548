// Parameter lists that several algorithms offer to the planner.
#pragma once

#include <cstddef>
#include <vector>

#include "eco/algo/patterns/tree.h"
#include "eco/algo/recipe.h"
#include "eco/coll/problem.h"
#include "eco/net/group_view.h"

namespace eco::algo {

// What a pattern's parameters depend on besides the group.
struct Cutting {
  std::size_t bytes = 0;      // of what is cut into segments
  int messages_per_peer = 4;  // in a send window, where the whole is large
  bool orders = false;        // the order of the subnets matters: one root feeds them all
  bool detours = false;       // the algorithm knows Params::head, tail, and owners who pass on; with orders
};

// For one tree in rank order: segments, and send windows where the message is large.
std::vector<Params> shape_candidates(const coll::CommonProblem& problem, Pattern pattern,
                                     const Cutting& cutting);

// For algorithms that are one of many: two segment sizes, the smaller one first; with a send window the larger alone.
std::vector<Params> few_candidates(const coll::CommonProblem& problem, std::size_t bytes_cut);

// For ECO's trees: the same times shapes inside and between subnets, orders of the subnets, and detours; where subnets form
// sites, the tree along these too.
std::vector<Params> subnet_candidates(const coll::CommonProblem& problem, const net::GroupView& view,
                                      const Cutting& cutting);

// For leaders: the same times shapes inside.
std::vector<Params> leader_candidates(const coll::CommonProblem& problem, const net::GroupView& view,
                                      const Cutting& cutting);

}  // namespace eco::algo
