// What recipes would take in a group of many ranks, without simulating it: from groups of the same subnets with fewer ranks
// in each, which are alike.
//
//   const LargeGroup large(problem, view, options);
//   large.estimate(recipe)->seconds;       // good enough to choose the few that are worth a prediction
//
// A recipe is predicted for the smaller groups and continued: where its algorithm has a closed form, by what the formula
// says of the additional ranks; else each doubling of the ranks adds as much more than the one before as was seen, which
// is exact for times that grow with a power of the number of ranks, or with its logarithm. So are the ends of each subnet and
// what the busiest port carries, which a small group hides behind its longest way.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "eco/algo/recipe.h"
#include "eco/coll/problem.h"
#include "eco/net/group_view.h"
#include "eco/plan/forecast.h"

namespace eco::plan {

// In groups of more ranks candidates are chosen by estimates, and only the best are simulated; but not for problems of a
// packet, which are as quickly simulated, and where latencies decide that grow in steps.
inline constexpr int kMostRanksSimulated = 128;

// What is said of such a choice.
inline constexpr const char* kByEstimate =
    "chosen by estimates from groups of fewer ranks, the best simulated";
inline constexpr const char* kByEstimateAlone = "chosen by estimates from groups of fewer ranks alone";

inline bool is_by_estimate(const coll::CommonProblem& problem, const net::GroupView& view) {
  return view.n_ranks() > kMostRanksSimulated &&
         static_cast<double>(problem.bytes) > view.network->packet_bytes;
}

// In groups of still more ranks no schedules of all ranks are made: forecasts are estimates, and proofs are of a smaller group
// (docs/adr/0022). Along a graph there is no smaller group.
inline constexpr int kMostRanksWalked = 512;

inline bool is_by_estimate_alone(const coll::CommonProblem& problem, const net::GroupView& view) {
  return view.n_ranks() > kMostRanksWalked && !problem.neighbors;
}

// What is said of how candidates of the problem are chosen; empty where all of them are predicted.
inline std::string estimates_text(const coll::CommonProblem& problem, const net::GroupView& view) {
  if (is_by_estimate_alone(problem, view)) return kByEstimateAlone;
  return is_by_estimate(problem, view) ? kByEstimate : "";
}

// The part of a group that has about `n_ranks` ranks: `root` and of every subnet a share of its hosts (two at least, where
// there are), and of these fewer ranks only if that is not enough. In rank order.
std::vector<int> ranks_of_smaller(const net::GroupView& view, int root, int n_ranks);

// A group that stands for a larger one, with a problem alike.
struct SmallerGroup {
  net::GroupView view;
  coll::CommonProblem problem;
  std::vector<int> subnets;  // its own, by those of the large group
};

// Of these ranks, in rank order, the root among them.
SmallerGroup smaller_group(const coll::CommonProblem& problem, const net::GroupView& view,
                           const std::vector<int>& ranks);

class LargeGroup {
 public:
  // Pure. Both must outlive it.
  LargeGroup(const coll::CommonProblem& problem, const net::GroupView& view, const ForecastOptions& options);

  // Infinity for recipes that smaller groups can't have.
  double estimate_s(const algo::Recipe& recipe) const;
  // What the largest smaller group is predicted to take, with the seconds and messages of the whole; nothing for recipes that
  // it can't have.
  std::optional<Forecast> estimate(const algo::Recipe& recipe) const;

 private:
  std::optional<Forecast> predicted(const algo::Recipe& recipe, const SmallerGroup& group) const;

  const coll::CommonProblem& problem_;
  const net::GroupView& view_;
  ForecastOptions options_;
  std::vector<SmallerGroup> smaller_;  // the largest first
};

}  // namespace eco::plan
