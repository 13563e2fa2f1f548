#include "eco/plan/large_group.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "eco/algo/algorithm.h"
#include "eco/exec/executor.h"
#include "eco/net/part.h"
#include "eco/plan/closed_forecast.h"

namespace eco::plan {
namespace {

using coll::CommonProblem;

// Ranks of the groups that stand for a large one.
constexpr int kSmaller[] = {32, 16, 8};
// By how much a doubling may add more than the one before: patterns in which every rank tells every other one all it
// knows grow fourfold; nothing useful grows faster.
constexpr double kMostGrowth = 4;
// Where it adds so many times more the one before happened to add no round, or something else counts from here on; such things
// mostly grow with the ranks.
constexpr double kOutOfNothing = 8;
constexpr double kGrowthOfTheNew = 2;
// Smaller groups look ahead so far at least: a builder may need some operations to be under way at once.
constexpr std::size_t kLeastWindow = 8;

// Ranks of each host of a subnet, the root's host first, and the root first of its own.
std::vector<std::vector<int>> by_host(const net::SubnetView& subnet, const net::GroupView& view, int root) {
  std::vector<std::vector<int>> hosts;
  for (const int rank : subnet.ranks) {
    if (hosts.empty() || view.host_of(hosts.back().front()) != view.host_of(rank)) hosts.emplace_back();
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

// What grows with a power of the number of ranks, seen in two groups and continued to a third one.
double by_power(double small, int small_ranks, double large, int large_ranks, int n_ranks) {
  if (small <= 0 || large <= small) return large;
  const double power = std::log(large / small) / std::log(static_cast<double>(large_ranks) / small_ranks);
  return large * std::pow(static_cast<double>(n_ranks) / large_ranks, power);
}

// A subnet that is done in less of a small group's time is hidden behind another: a chain through the largest one behind the way to
// the farthest. It grows for itself, and may be what counts in the large group.
constexpr double kHidden = 0.75;

// What some ranks take, by the logarithm of their number.
struct Seen {
  double doublings;
  double seconds;
};

// What more of them would, of groups with the most ranks first.
double grown_s(const std::vector<Seen>& seen, double doublings) {
  double seconds = seen[0].seconds;
  if (seen.size() < 2) return seconds;
  double step = std::max(seen[0].seconds - seen[1].seconds, 0.0) / (seen[0].doublings - seen[1].doublings);
  // Rounds come in steps: where the last doubling happened to add none, the ones before did.
  const double in_all = std::max(seen.front().seconds - seen.back().seconds, 0.0);
  step = std::max(step, in_all / (seen.front().doublings - seen.back().doublings));
  double growth = 1;
  if (seen.size() > 2) {
    const double before = (seen[1].seconds - seen[2].seconds) / (seen[1].doublings - seen[2].doublings);
    if (step > kOutOfNothing * before)
      growth = kGrowthOfTheNew;
    else if (before > 0)
      growth = std::clamp(step / before, 1.0, kMostGrowth);
  }
  for (double left = doublings - seen[0].doublings; left > 0; left -= 1) {
    step *= growth;
    seconds += std::min(left, 1.0) * step;
  }
  return seconds;
}

int most_in_a_subnet(const net::GroupView& view) {
  std::size_t most = 0;
  for (const net::SubnetView& subnet : view.subnets) most = std::max(most, subnet.ranks.size());
  return static_cast<int>(most);
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

SmallerGroup smaller_group(const CommonProblem& problem, const net::GroupView& view,
                           const std::vector<int>& ranks) {
  std::vector<int> hosts;
  for (const int rank : ranks) hosts.push_back(view.host_of(rank));
  // Of its hosts alone: a prediction walks over all resources there are.
  net::Part part = net::part_of(view.network, hosts);
  SmallerGroup group{net::make_view(std::move(part.network), std::move(part.hosts)), problem, {}};
  group.subnets.resize(view.subnets.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const int subnet = view.subnet_of_rank[static_cast<std::size_t>(ranks[i])];
    group.subnets[static_cast<std::size_t>(subnet)] = group.view.subnet_of_rank[i];
  }
  group.problem.n_ranks = group.view.n_ranks();
  group.problem.root =
      static_cast<int>(std::lower_bound(ranks.begin(), ranks.end(), problem.root) - ranks.begin());
  // Of blocks each as large as it is: a message's size stays, and their number shrinks.
  if (coll::is_blocked(problem.collective)) group.problem.bytes = problem.block_bytes() * ranks.size();
  return group;
}

std::size_t window_of_smaller(double share) {
  const auto window = static_cast<std::size_t>(share * static_cast<double>(exec::kWindowCapacity));
  return std::clamp(window, kLeastWindow, exec::kWindowCapacity);
}

LargeGroup::LargeGroup(const CommonProblem& problem, const net::GroupView& view,
                       const ForecastOptions& options)
    : problem_(problem), view_(view), options_(options) {
  options_.stop_after_s = std::numeric_limits<double>::infinity();
  std::vector<std::vector<int>> parts;  // ranks, the most first
  for (const int n_ranks : kSmaller) {
    std::vector<int> ranks = ranks_of_smaller(view, problem.root, n_ranks);
    const std::size_t fewer_than =
        parts.empty() ? static_cast<std::size_t>(view.n_ranks()) : parts.back().size();
    if (ranks.size() < fewer_than) parts.push_back(std::move(ranks));
  }
  // Of tens of subnets the smallest group is a large one already: how times grow is seen in one of twice its ranks.
  if (parts.size() == 1) {
    const int twice = 2 * static_cast<int>(parts[0].size());
    std::vector<int> ranks = ranks_of_smaller(view, problem.root, twice);
    if (ranks.size() > parts[0].size() && twice < view.n_ranks())
      parts.insert(parts.begin(), std::move(ranks));
  }
  for (const std::vector<int>& ranks : parts) smaller_.push_back(smaller_group(problem, view, ranks));
}

std::optional<Forecast> LargeGroup::predicted(const algo::Recipe& recipe, const SmallerGroup& group,
                                              std::size_t window_capacity) const {
  if (algo::why_not(recipe, group.problem, group.view)) return std::nullopt;
  ForecastOptions options = options_;
  options.window_capacity = window_capacity;
  Candidate candidate = candidate_of(recipe, group.problem, group.view, options);
  if (!candidate.why_not.empty()) return std::nullopt;
  return std::move(candidate.forecast);
}

double LargeGroup::continued(const std::vector<Forecast>& seen, double Forecast::* count) const {
  return by_power(seen[1].*count, smaller_[1].view.n_ranks(), seen[0].*count, smaller_[0].view.n_ranks(),
                  view_.n_ranks());
}

std::vector<Forecast> LargeGroup::seen_of(const algo::Recipe& recipe) const {
  std::vector<Forecast> seen;
  for (const SmallerGroup& group : smaller_) {
    auto one = predicted(recipe, group, options_.window_capacity);
    if (!one) break;
    seen.push_back(std::move(*one));
  }
  if (seen.size() < 2) return seen;
  const double most_operations = continued(seen, &Forecast::most_operations);
  if (most_operations <= static_cast<double>(options_.window_capacity)) return seen;
  for (std::size_t g = 0; g < seen.size(); ++g) {
    const std::size_t window = window_of_smaller(seen[g].most_operations / most_operations);
    if (window >= options_.window_capacity || seen[g].most_operations <= static_cast<double>(window))
      continue;
    auto one = predicted(recipe, smaller_[g], window);
    if (!one) return {};
    seen[g] = std::move(*one);
  }
  return seen;
}

double LargeGroup::estimate_s(const algo::Recipe& recipe) const {
  const std::optional<Forecast> estimated = estimate(recipe);
  return estimated ? estimated->seconds : std::numeric_limits<double>::infinity();
}

std::optional<Forecast> LargeGroup::estimate(const algo::Recipe& recipe) const {
  const std::vector<Forecast> seen = seen_of(recipe);
  if (seen.empty()) return std::nullopt;
  Forecast result = seen[0];
  result.extrapolated = true;
  result.subnet_end_s.clear();
  if (seen.size() > 1) {
    for (const auto count : {&Forecast::n_messages, &Forecast::n_crossings, &Forecast::n_operations,
                             &Forecast::most_operations}) {
      result.*count = continued(seen, count);
    }
  } else {  // as of patterns in which everybody tells everybody, so that none is taken for a cheap one
    const double times = static_cast<double>(view_.n_ranks()) / smaller_[0].view.n_ranks();
    result.n_operations *= times * times;
  }
  // The additional ranks are inside subnets, where pairs are cheapest.
  const auto closed = closed_by_rates(recipe, problem_, view_);
  if (closed) {
    const auto small = closed_by_rates(recipe, smaller_[0].problem, smaller_[0].view);
    if (small) {
      result.seconds += std::max(closed->least_s - small->least_s, 0.0);
      return result;
    }
  }
  // Of the whole group, or a subnet of it: how many ranks a smaller one has, and what they take.
  const auto grown = [&](const auto& ranks_of, const auto& seconds_of, int n_ranks) {
    std::vector<Seen> of_groups;
    for (std::size_t g = 0; g < seen.size(); ++g) {
      const double doublings = std::log2(ranks_of(smaller_[g]));
      if (of_groups.empty() || doublings < of_groups.back().doublings)
        of_groups.push_back({doublings, seconds_of(seen[g], smaller_[g])});
    }
    return grown_s(of_groups, std::log2(n_ranks));
  };
  const auto all_ranks = [](const SmallerGroup& group) { return group.view.n_ranks(); };
  const auto whole = [](const Forecast& forecast, const SmallerGroup&) { return forecast.seconds; };
  const auto port = [](const Forecast& forecast, const SmallerGroup&) { return forecast.busiest_host_s; };
  result.seconds = grown(all_ranks, whole, view_.n_ranks());
  // What one port carries is hidden in a small group, too; where ranks all send to one, it is one of their subnet.
  const auto largest_subnet = [](const SmallerGroup& group) { return most_in_a_subnet(group.view); };
  result.seconds = std::max(result.seconds, grown(largest_subnet, port, most_in_a_subnet(view_)));
  const bool are_walked = std::all_of(seen.begin(), seen.end(), [&](const Forecast& forecast) {
    return forecast.subnet_end_s.size() == view_.subnets.size();
  });
  for (std::size_t s = 0; are_walked && s < view_.subnets.size(); ++s) {
    const auto of_subnet = [s](const SmallerGroup& group) {
      return static_cast<std::size_t>(group.subnets[s]);
    };
    const auto end_s = [&](const Forecast& forecast, const SmallerGroup& group) {
      return forecast.subnet_end_s[of_subnet(group)];
    };
    if (end_s(seen[0], smaller_[0]) > kHidden * seen[0].seconds) continue;
    const auto ranks = [&](const SmallerGroup& group) {
      return group.view.subnets[of_subnet(group)].ranks.size();
    };
    result.seconds =
        std::max(result.seconds, grown(ranks, end_s, static_cast<int>(view_.subnets[s].ranks.size())));
  }
  return result;
}

}  // namespace eco::plan
