// Orders candidates by prediction, has the best ones measured beside the native collective, and fills a PlanTable.
//
// Pure but for the Measure callback: give it a predictor's numbers and it plans offline ("estimate").
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "eco/algo/algorithm.h"
#include "eco/net/group_view.h"
#include "eco/plan/plan_table.h"

namespace eco::plan {

struct Candidate {
  algo::Recipe recipe;
  double predicted_s = 0;
  std::string why_not;  // empty if it can be built and was verified
};

// All candidates of every algorithm for one problem, cheapest first, those that can't serve last.
std::vector<Candidate> rank_candidates(const coll::CommonProblem& problem, const net::GroupView& view);

// Seconds of one candidate, or of the native collective (nullptr), on the actual placement. Collective in the runtime;
// nothing if it was not measured (budget).
struct Measurement {
  double median_s = 0;
  double spread_s = 0;  // half the interquartile range
};
using Measure = std::function<std::vector<std::optional<Measurement>>(
    const coll::CommonProblem& problem, const std::vector<const algo::Recipe*>& candidates)>;

struct PlannerOptions {
  std::vector<std::size_t> sizes;  // bytes at which plans are made; rows end there
  std::size_t shortlist = 2;       // candidates measured beside native
  double gain_needed = 0.05;       // ECO must be this much faster, beyond both spreads
  std::function<void(const std::string& what, double fraction)> progress;
};

// Runs on one rank; `measure` makes the others follow. Without `measure` the prediction decides alone and native
// costs are predicted as a binomial tree in rank order ("estimate": for explanations, never for running).
PlanTable make_plan(const net::GroupView& view, const std::vector<coll::Collective>& collectives,
                    const PlannerOptions& options, const Measure& measure);

// Every candidate, its cost by term, why it lost: what `eco explain` prints.
std::string explain(const coll::CommonProblem& problem, const net::GroupView& view, const Row* row);

}  // namespace eco::plan
