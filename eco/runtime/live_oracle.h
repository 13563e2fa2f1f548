// The tuner's oracle on the ranks themselves: a search's questions become trials.
//
//   if (rank == 0) { guided.tune(space, live_oracle(trials, problem, recipes, may_go_on), options); trials.end(); }
//   else trials.follow();
#pragma once

#include <functional>
#include <vector>

#include "eco/algo/recipe.h"
#include "eco/coll/problem.h"
#include "eco/runtime/trials.h"
#include "eco/tune/tuning.h"

namespace eco::runtime {

// Rank 0. `recipes[m][p]` is what the search knows as point p of form m. A recipe's first run is not timed: its result is
// checked. `may_go_on`: asked before each question; where it says no, the search ends with what it knows. `recipes` must
// outlive the oracle, as must `trials`.
tune::Oracle live_oracle(Trials& trials, const coll::CommonProblem& problem,
                         const std::vector<std::vector<algo::Recipe>>& recipes,
                         std::function<bool()> may_go_on);

}  // namespace eco::runtime
