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
#include "eco/base/hot.h"
#include "eco/net/group_view.h"
#include "eco/plan/choice.h"
#include "eco/plan/forecast.h"
#include "eco/plan/plan_table.h"
#include "eco/plan/raced_shortlist.h"

namespace eco::plan {

// What is known of the candidates before they are measured.
struct Beforehand {
  // What each is predicted to take; 0: it has to run. Others may be left out where one that was predicted no slower is as fast
  // as predicted.
  std::vector<double> predicted_s;
  double native_least_s = 0;  // the native collective takes at least as long: it does for fewer bytes
};

// Times the candidates (nullptr: the native collective), interleaved, and returns one Measurement each, or nothing
// where there is none (it was tried and takes too long to be repeated, or the candidate gave a wrong result). An empty
// list: there was no time to try. Collective in the runtime: it makes the other ranks follow.
using Measure = std::function<std::vector<std::optional<Measurement>>(
    const coll::CommonProblem& problem, const std::vector<const algo::Recipe*>& candidates,
    const Beforehand& known)>;

// Sizes at which a plan is made. Powers of two from one packet's part to what one uplink carries in a second, closer
// around the sizes at which pipelines begin to pay; 8 bytes is the shortest useful reduction.
const std::vector<std::size_t>& default_sizes();
// Those at which a job plans the calls that it makes: also between sizes that are far apart, so that a call is tried at no more
// than twice its bytes where bytes take time, and larger ones, which fast networks have time for (docs/adr/0030).
ECO_ON_EVERY_CALL const std::vector<std::size_t>& sizes_in_job();
// Which of these plans for calls of so many bytes are made at; their number for calls that are larger than any.
ECO_ON_EVERY_CALL std::size_t size_class(std::size_t bytes);
// The size at which a job plans calls of so many bytes; nothing where it leaves them to the library: those larger than any, and
// on one host those larger than default_sizes(), which memory holds up whoever runs them, so that trials would cost more than
// they find.
std::optional<std::size_t> size_in_job(const net::GroupView& view, std::size_t bytes);

inline constexpr double kGainNeeded = 0.05;

struct PlannerOptions {
  std::vector<std::size_t> sizes = default_sizes();  // ascending
  // Others that a later plan shall fill: rows of this one name them open (Row::open) unless `known` has measured them,
  // and serve them as if they were not named.
  std::vector<std::size_t> left_open;
  // Or serve them, until they are planned, by the library; by a guess where they are between two sizes at which ECO won.
  bool serves_open = true;
  // Of rooted collectives plan this root class alone; the others are left open like such sizes. Nothing: all.
  std::optional<int> root_subnet;
  std::size_t shortlist = 3;  // candidates measured beside native
  // ECO must be this much faster than the native collective, and beyond both spreads. 5 %: what medians of a few
  // repetitions differ by from one run of a program to the next.
  double gain_needed = kGainNeeded;
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
  // Whether all candidates are predicted, not only those that may be the best (rank_candidates).
  bool ranks_all = false;
  // Where it has an oracle, candidates are found by a search that measures (raced_shortlist.h) before they are held against the
  // native collective; else by prediction alone.
  Race race{};
  // A table of another group, library or version, whose recipes are candidates too where they can be proved here; rows that
  // they serve say so.
  const PlanTable* borrowed = nullptr;
  // How much is done for what is measured now.
  Effort effort = Effort::job;
  // Whether every other size is held out: measured after its neighbours, and searched for like these only where their
  // recipes, or native, do not hold there too. The same for other root classes, whose hints are those of rank 0's, and
  // which leave a held-out size to its neighbours where recipes have won both.
  bool holds_out = false;
  // Whether recipes are composed for what breaks a performance guideline (guidelines.h), and serve where they are faster.
  bool mends = false;
  // A table for the same group made earlier: what it has measured with as much effort is not measured again (unless all
  // is, `anew`), and what there is no time for stays as it was.
  const PlanTable* known = nullptr;
  bool anew = false;
  // The table as it would be if it ended now, after each problem that was measured: what an interrupt must not lose.
  std::function<void(const PlanTable&)> keep;
  std::function<bool()> time_is_up;  // asked between steps; what is not planned by then is left open
  // By the time that problems are expected to take.
  std::function<void(const std::string& what, double fraction)> progress;
};

// Runs on one rank; `measure` makes the others follow. Without `measure` the prediction decides alone and native costs
// are guessed ("estimate": for explanations, never for running). The caller names what the table was made for.
PlanTable make_plan(const net::GroupView& view, const std::vector<coll::Collective>& collectives,
                    const PlannerOptions& options, const Measure& measure);

}  // namespace eco::plan
