// What recipes would take in a group of many ranks, without simulating it: from groups of the same subnets with fewer ranks
// in each, which are alike.
//
//   const LargeGroup large(problem, view, options);
//   large.estimate(recipe)->seconds;       // good enough to choose the few that are worth a prediction
//
// A recipe is predicted for the smaller groups and continued: where its algorithm has a closed form, by what the formula
// says of the additional ranks; else each doubling of the ranks adds as much more than the one before as was seen (twice as much
// where that is out of all proportion), which
// is exact for times that grow with a power of the number of ranks, or with its logarithm. So are the ends of each subnet and
// what the busiest port carries, which a small group hides behind its longest way. Where a rank of the whole has more to do than
// the Executor looks ahead over, ranks of the smaller groups look ahead over as much less as they have less to do.
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
inline constexpr const char* kBestWalked =
    "chosen by estimates from groups of fewer ranks, the best predicted for all ranks where that is cheap";

inline bool is_by_estimate(const coll::CommonProblem& problem, const net::GroupView& view) {
  return view.n_ranks() > kMostRanksSimulated &&
         static_cast<double>(problem.bytes) > view.network->packet_bytes;
}

// In groups of still more ranks schedules of all ranks are not made: forecasts are estimates, and proofs are of a smaller group
// (docs/adr/0022); but up to so many ranks a few recipes, the best by estimate, are predicted as they are. Along a graph there is no
// smaller group.
inline constexpr int kMostRanksWalked = 512;
inline constexpr int kMostRanksOfTheBest = 1024;

inline bool is_by_estimate_alone(const coll::CommonProblem& problem, const net::GroupView& view) {
  return view.n_ranks() > kMostRanksWalked && !problem.neighbors;
}

inline bool are_best_walked(const coll::CommonProblem& problem, const net::GroupView& view) {
  return is_by_estimate_alone(problem, view) && is_by_estimate(problem, view) &&
         view.n_ranks() <= kMostRanksOfTheBest;
}

// What is said of how candidates of the problem are chosen; empty where all of them are predicted.
inline std::string estimates_text(const coll::CommonProblem& problem, const net::GroupView& view) {
  if (are_best_walked(problem, view)) return kBestWalked;
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

// How far ranks of a smaller group look ahead that have `share` of what ranks of the large one have to do: in proportion, so that
// who has a message for everybody has more of them than that there, too.
std::size_t window_of_smaller(double share);

class LargeGroup {
 public:
  // Pure. Both must outlive it.
  LargeGroup(const coll::CommonProblem& problem, const net::GroupView& view, const ForecastOptions& options);

  // Infinity for recipes that smaller groups can't have.
  double estimate_s(const algo::Recipe& recipe) const;
  // What the largest smaller group is predicted to take, with the seconds, messages and operations of the whole; nothing for recipes that
  // it can't have.
  std::optional<Forecast> estimate(const algo::Recipe& recipe) const;

 private:
  std::optional<Forecast> predicted(const algo::Recipe& recipe, const SmallerGroup& group,
                                    std::size_t window_capacity) const;
  // Of the smaller groups that can have the recipe, the largest first.
  std::vector<Forecast> seen_of(const algo::Recipe& recipe) const;
  // A number that grows with a power of the ranks, from two groups of these at least.
  double continued(const std::vector<Forecast>& seen, double Forecast::* count) const;

  const coll::CommonProblem& problem_;
  const net::GroupView& view_;
  ForecastOptions options_;
  std::vector<SmallerGroup> smaller_;  // the largest first
};

}  // namespace eco::plan
