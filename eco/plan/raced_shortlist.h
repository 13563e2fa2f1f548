// The shortlist where there is time to measure more than it holds: the tuner's search (tune/guided.h) over all candidates that
// were predicted, instead of the first few of them.
//
//   const auto best = raced_shortlist(ranked, 3, problem, view, {oracle_of}, guided);
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <vector>

#include "eco/algo/recipe.h"
#include "eco/coll/problem.h"
#include "eco/net/group_view.h"
#include "eco/plan/forecast.h"
#include "eco/tune/guided.h"
#include "eco/tune/tuning.h"

namespace eco::plan {

struct Race {
  // Who times `recipes[form][point]` of a problem; they live as long as the oracle. Empty: nothing is raced.
  std::function<tune::Oracle(const coll::CommonProblem& problem,
                             const std::vector<std::vector<algo::Recipe>>& recipes)>
      oracle_of{};
  int repeats = 3;  // runs of a candidate that may still win
  double least_gain = tune::GuidedOptions().least_gain;
  // Where the best candidate is predicted to take longer there is no race: its first heat would take the time of all.
  double longest_s = std::numeric_limits<double>::infinity();
  bool measures_all = false;  // every candidate instead of those that the search proposes
};

// Those of ranked candidates (ranking.h) that were measured to be the fastest, each proved before it ran. `guided` learns of
// it. Empty where there was no time, or nothing could be measured.
std::vector<const Candidate*> raced_shortlist(const std::vector<Candidate>& ranked, std::size_t how_many,
                                              const coll::CommonProblem& problem, const net::GroupView& view,
                                              const Race& race, tune::Guided& guided);

}  // namespace eco::plan
