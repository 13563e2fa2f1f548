// Orders candidates by prediction (ranking.h), has the best ones (shortlist.h) measured beside the native collective, and
// fills a PlanTable.
//
//   PlanTable table = make_plan(view, {Collective::broadcast}, options, measure);
//   std::cout << explain(problem, view, table.find_row(...));       // explain.h
//
// Pure but for the callbacks: give it a predictor's numbers and it plans offline ("estimate").
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "eco/algo/recipe.h"
#include "eco/net/group_view.h"
#include "eco/plan/forecast.h"
#include "eco/plan/plan_table.h"
#include "eco/plan/raced_shortlist.h"

namespace eco::plan {

// Seconds of one candidate, or of the native collective, on the actual placement.
struct Measurement {
  double median_s = 0;
  double spread_s = 0;  // half the interquartile range
};
// Times the candidates (nullptr: the native collective), interleaved, and returns one Measurement each, or nothing
// where there is none (it was tried and takes too long to be repeated, or the candidate gave a wrong result). An empty
// list: there was no time to try. `expected_s` is what all of them together are predicted to take once. Collective in
// the runtime: it makes the other ranks follow.
using Measure = std::function<std::vector<std::optional<Measurement>>(
    const coll::CommonProblem& problem, const std::vector<const algo::Recipe*>& candidates,
    double expected_s)>;

// Sizes at which a plan is made. Powers of two from one packet's part to what one uplink carries in a second, closer
// around the sizes at which pipelines begin to pay; 8 bytes is the shortest useful reduction.
const std::vector<std::size_t>& default_sizes();

struct PlannerOptions {
  std::vector<std::size_t> sizes = default_sizes();  // ascending
  // Others that a later plan shall fill: rows of this one name them open (Row::open) unless `known` has measured them,
  // and serve them as if they were not named.
  std::vector<std::size_t> left_open;
  std::size_t shortlist = 3;  // candidates measured beside native
  // ECO must be this much faster than the native collective, and beyond both spreads. 5 %: what medians of a few
  // repetitions differ by from one run of a program to the next.
  double gain_needed = 0.05;
  // A native call that is guessed to take longer is not measured, and stays native. Infinite: all are.
  double most_native_s = std::numeric_limits<double>::infinity();
  // Of schedules that are predicted; fewer for a plan made in a job, where all ranks wait for it.
  ForecastOptions forecast{.most_operations = 50'000};
  // Whether a reduction whose winner does not combine in rank order gets a second recipe that does, by prediction alone,
  // for operations that do not commute; else these stay native there.
  bool search_in_order = true;
  // For each problem so many seconds by `clock` may go into a search beyond the repertoire (search.h), whose recipes are
  // candidates where they are predicted to be worth it; 0: none. Without a clock a number of steps alone ends it.
  double search_s = 0;
  std::function<double()> clock;
  // Where it has an oracle, candidates are found by a search that measures (raced_shortlist.h) before they are held against the
  // native collective; else by prediction alone.
  Race race{};
  // A table for the same group made earlier: what it has measured is not measured again.
  const PlanTable* known = nullptr;
  std::function<bool()> time_is_up;  // asked between steps; what is not planned by then is left open
  std::function<void(const std::string& what, double fraction)> progress;
};

// Runs on one rank; `measure` makes the others follow. Without `measure` the prediction decides alone and native costs
// are guessed ("estimate": for explanations, never for running). The caller names what the table was made for.
PlanTable make_plan(const net::GroupView& view, const std::vector<coll::Collective>& collectives,
                    const PlannerOptions& options, const Measure& measure);

}  // namespace eco::plan
