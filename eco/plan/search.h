// Looks for recipes beyond the repertoire's fixed candidates, with the predictor as judge: trees of subnets of any form,
// their order and leaders, who owns what, rings in any order of ranks, and with them segments, windows and shapes.
//
//   const auto fixed = rank_candidates(problem, view);
//   const SearchResult result = search(problem, view, fixed, {.most_steps = 500});
//   result.found.front().recipe.text()     // "allgather/subnets segment=8624 ... tree=2,2,-1"
//
// A search starts from the best fixed recipe of each algorithm and from patterns made for unequal links: stars around
// every subnet, the tree of the fastest links, the ring whose slowest link is fastest. From the best of these it climbs
// by small random changes; changes that are predicted equal are taken too, since many have to come together before the
// slowest resource is relieved. With the steps and the time that are left it looks for the best segment, of
// any length up to the usual ones. Of compositions it changes the parts and how many lead. Pure, and deterministic for a seed and a number of steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "eco/coll/problem.h"
#include "eco/net/group_view.h"
#include "eco/plan/forecast.h"

namespace eco::plan {

struct SearchOptions {
  std::uint64_t seed = 1;
  std::size_t most_steps = 400;  // recipes that are predicted
  ForecastOptions forecast{.most_operations = 50'000};
  // Asked between steps: a search that it ends depends on the machine's speed.
  std::function<bool()> time_is_up{};
};

struct SearchResult {
  // Predicted to be cheaper than every fixed candidate, cheapest first; of each algorithm the best. Proved (prove()).
  std::vector<Candidate> found;
  std::size_t n_steps = 0;
};

// `fixed`: the problem's candidates (rank_candidates), predicted with the same ForecastOptions.
SearchResult search(const coll::CommonProblem& problem, const net::GroupView& view,
                    const std::vector<Candidate>& fixed, const SearchOptions& options = {});

}  // namespace eco::plan
