// A problem's candidates in the order of their predicted times.
//
//   const std::vector<Candidate> ranked = rank_candidates(problem, view, options, true);
//   ranked.front().recipe.text();          // the cheapest; those that can't serve stand last, with the reason
#pragma once

#include <vector>

#include "eco/coll/problem.h"
#include "eco/net/group_view.h"
#include "eco/plan/forecast.h"

namespace eco::plan {

// Predictions of different patterns on one network are wrong by up to about a tenth, in any direction: a candidate this
// much above the cheapest cannot win a measurement.
inline constexpr double kHopeless = 1.25;

// Pure. All candidates of every algorithm for one problem, cheapest first, those that can't serve last. With `prune`,
// predictions stop where a candidate can no longer matter, and of forms that are far from the best only one segment
// size is predicted: such candidates are given up.
std::vector<Candidate> rank_candidates(const coll::CommonProblem& problem, const net::GroupView& view,
                                       const ForecastOptions& options = {}, bool prune = false);

// Siblings: the same schedule under two send windows.
bool differs_in_window_only(const algo::Recipe& a, const algo::Recipe& b);

}  // namespace eco::plan
