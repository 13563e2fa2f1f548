// Orders candidates by prediction, has the best ones measured beside the native collective, and fills a PlanTable.
//
//   PlanTable table = make_plan(view, {Collective::broadcast}, options, measure);
//   std::cout << explain(problem, view, table.find_row(...));
//
// Pure but for the callbacks: give it a predictor's numbers and it plans offline ("estimate").
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "eco/algo/algorithm.h"
#include "eco/net/group_view.h"
#include "eco/plan/forecast.h"
#include "eco/plan/plan_table.h"

namespace eco::plan {

// All candidates of every algorithm for one problem, cheapest first, those that can't serve last. With `prune`,
// predictions stop where a candidate can no longer matter, and of forms that are far from the best only one segment
// size is predicted: such candidates are given up.
std::vector<Candidate> rank_candidates(const coll::CommonProblem& problem, const net::GroupView& view,
                                       const ForecastOptions& options = {}, bool prune = false);

// Those of ranked candidates that are worth measuring, most promising first, every one of them proved (prove()).
std::vector<const Candidate*> shortlist(const std::vector<Candidate>& ranked, std::size_t how_many,
                                        const coll::CommonProblem& problem, const net::GroupView& view);

// A guess at the native collective: a binomial tree in rank order (or flat, or a chain, where a collective has none),
// the whole message at once; nothing, and 0 s, where there is no such recipe.
std::optional<algo::Recipe> guess_native(const coll::CommonProblem& problem, const net::GroupView& view);
double guess_native_s(const coll::CommonProblem& problem, const net::GroupView& view);

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
  // A table for the same group made earlier: what it has measured is not measured again.
  const PlanTable* known = nullptr;
  std::function<bool()> time_is_up;  // asked between steps; what is not planned by then is left open
  std::function<void(const std::string& what, double fraction)> progress;
};

// Runs on one rank; `measure` makes the others follow. Without `measure` the prediction decides alone and native costs
// are guessed ("estimate": for explanations, never for running). The caller names what the table was made for.
PlanTable make_plan(const net::GroupView& view, const std::vector<coll::Collective>& collectives,
                    const PlannerOptions& options, const Measure& measure);

// Every candidate, its cost by term, why it lost: what `eco explain` prints. `row` is the table's row for this problem,
// nullptr if there is no table.
std::string explain(const coll::CommonProblem& problem, const net::GroupView& view, const Row* row);
std::string explain(const coll::CommonProblem& problem, const net::GroupView& view, const Row* row,
                    const std::vector<Candidate>& ranked);

// In a few words, what `candidate` has more of than the cheapest one.
std::string why_it_lost(const Candidate& candidate, const Candidate& cheapest);

}  // namespace eco::plan
