#include "eco/plan/large_group.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "eco/algo/algorithm.h"
#include "eco/plan/closed_forecast.h"

namespace eco::plan {
namespace {

// Ranks of the groups that stand for a large one.
constexpr int kSmaller[] = {32, 16, 8};
// By how much a doubling may add more than the one before: patterns in which every rank tells every other one all it
// knows grow fourfold; nothing useful grows faster.
constexpr double kMostGrowth = 4;

// Ranks of each host of a subnet, the root's host first, and the root first of its own.
std::vector<std::vector<int>> by_host(const net::SubnetView& subnet, const net::GroupView& view, int root) {
  const auto host = [&](int rank) { return view.host_of_rank[static_cast<std::size_t>(rank)]; };
  std::vector<std::vector<int>> hosts;
  for (const int rank : subnet.ranks) {
    if (hosts.empty() || host(hosts.back().front()) != host(rank)) hosts.emplace_back();
    hosts.back().push_back(rank);
  }
  for (std::size_t h = 0; h < hosts.size(); ++h) {
    const auto found = std::find(hosts[h].begin(), hosts[h].end(), root);
    if (found == hosts[h].end()) continue;
    std::rotate(hosts[h].begin(), found, found + 1);
    const auto at = hosts.begin() + static_cast<std::ptrdiff_t>(h);
    std::rotate(hosts.begin(), at, at + 1);
    break;
  }
  return hosts;
}

std::size_t share_of(std::size_t n, double share) {
  const auto kept = static_cast<std::size_t>(std::ceil(static_cast<double>(n) * share));
  return std::min(n, std::max<std::size_t>(kept, 2));
}

}  // namespace

std::vector<int> ranks_of_smaller(const net::GroupView& view, int root, int n_ranks) {
  const double share = static_cast<double>(n_ranks) / view.n_ranks();
  std::vector<int> kept;
  for (const net::SubnetView& subnet : view.subnets) {
    const auto hosts = by_host(subnet, view, root);
    const std::size_t n_hosts = share_of(hosts.size(), share);
    const double left = share * static_cast<double>(hosts.size()) / static_cast<double>(n_hosts);
    for (std::size_t h = 0; h < n_hosts; ++h) {
      const std::size_t n = hosts[h].size() == 1 ? 1 : share_of(hosts[h].size(), std::min(left, 1.0));
      kept.insert(kept.end(), hosts[h].begin(), hosts[h].begin() + static_cast<std::ptrdiff_t>(n));
    }
  }
  std::sort(kept.begin(), kept.end());
  return kept;
}

LargeGroup::LargeGroup(const coll::CommonProblem& problem, const net::GroupView& view,
                       const ForecastOptions& options)
    : problem_(problem), view_(view), options_(options) {
  options_.stop_after_s = std::numeric_limits<double>::infinity();
  for (const int n_ranks : kSmaller) {
    const std::vector<int> ranks = ranks_of_smaller(view, problem.root, n_ranks);
    if (!smaller_.empty() && ranks.size() >= smaller_.back().view.host_of_rank.size()) break;
    std::vector<int> hosts;
    for (const int rank : ranks) hosts.push_back(view.host_of_rank[static_cast<std::size_t>(rank)]);
    Group group{net::make_view(view.network, hosts), problem};
    group.problem.n_ranks = group.view.n_ranks();
    group.problem.root =
        static_cast<int>(std::lower_bound(ranks.begin(), ranks.end(), problem.root) - ranks.begin());
    // Of blocks each as large as it is: a message's size stays, and their number shrinks.
    if (coll::is_blocked(problem.collective)) group.problem.bytes = problem.block_bytes() * ranks.size();
    smaller_.push_back(std::move(group));
  }
}

std::optional<double> LargeGroup::predicted_s(const algo::Recipe& recipe, const Group& group) const {
  if (algo::why_not(recipe, group.problem, group.view)) return std::nullopt;
  const Candidate candidate = candidate_of(recipe, group.problem, group.view, options_);
  if (!candidate.why_not.empty()) return std::nullopt;
  return candidate.forecast.seconds;
}

double LargeGroup::estimate_s(const algo::Recipe& recipe) const {
  const std::optional<double> last = predicted_s(recipe, smaller_[0]);
  if (!last) return std::numeric_limits<double>::infinity();
  // The additional ranks are inside subnets, where pairs are cheapest.
  const auto closed = closed_by_rates(recipe, problem_, view_);
  if (closed) {
    const auto small = closed_by_rates(recipe, smaller_[0].problem, smaller_[0].view);
    if (small) return *last + std::max(closed->least_s - small->least_s, 0.0);
  }
  std::vector<double> seconds{*last};
  std::vector<double> doublings{std::log2(smaller_[0].view.n_ranks())};
  for (std::size_t g = 1; g < smaller_.size(); ++g) {
    const auto one = predicted_s(recipe, smaller_[g]);
    if (!one) break;
    seconds.push_back(*one);
    doublings.push_back(std::log2(smaller_[g].view.n_ranks()));
  }
  if (seconds.size() < 2) return *last;
  double step = std::max(seconds[0] - seconds[1], 0.0) / (doublings[0] - doublings[1]);
  double growth = 1;
  if (seconds.size() > 2) {
    const double before = (seconds[1] - seconds[2]) / (doublings[1] - doublings[2]);
    if (before > 0) growth = std::clamp(step / before, 1.0, kMostGrowth);
  }
  double estimate = *last;
  for (double left = std::log2(view_.n_ranks()) - doublings[0]; left > 0; left -= 1) {
    step *= growth;
    estimate += std::min(left, 1.0) * step;
  }
  return estimate;
}

}  // namespace eco::plan
