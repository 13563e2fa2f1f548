#include "eco/structure/streams.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "eco/base/quantile.h"
#include "eco/structure/sampler.h"

namespace eco::structure {
namespace {

constexpr int kRepeats = 4;
constexpr int kMostRepeats = 8;
// Of hundreds of streams some have two times that are spoilt alike.
constexpr std::size_t kRateConfirmations = 2;
constexpr double kRatesAgree = 0.9;
// A stream lasts this long, or so many of its latencies: what it takes to begin must not matter.
constexpr double kStream_s = 0.02;
constexpr double kLatencies = 4;

// Groups of a round that are asked alone too, and by how much they may be faster then.
constexpr std::size_t kGroupsAlone = 3;
constexpr double kUndisturbedRate = 1.15;
// A rate this many times a flow's usual one, or as much less, is a wrong one and not an unfair share.
constexpr double kWrong = 2.5;

std::vector<double> confirmed(const std::vector<std::vector<double>>& repetitions) {
  std::vector<double> rates;
  for (std::size_t f = 0; f < repetitions.front().size(); ++f) {
    std::vector<double> seconds_per_byte;
    for (const auto& of_all : repetitions) seconds_per_byte.push_back(1 / of_all[f]);
    rates.push_back(1 / confirmed_minimum(seconds_per_byte, kRatesAgree, kRateConfirmations));
  }
  return rates;
}

double total_of(const std::vector<std::vector<double>>& repetitions) {
  std::vector<double> totals(repetitions.size(), 0);
  for (std::size_t f = 0; f < repetitions.front().size(); ++f) {
    std::vector<double> of_flow;
    for (const auto& of_all : repetitions) of_flow.push_back(of_all[f]);
    const double usual = base::median(of_flow);
    for (std::size_t r = 0; r < totals.size(); ++r) {
      const bool is_wrong = of_flow[r] > kWrong * usual || of_flow[r] < usual / kWrong;
      totals[r] += is_wrong ? usual : of_flow[r];
    }
  }
  return base::median(std::move(totals));
}

}  // namespace

bool Streams::is_in_doubt(const Repetitions& repetitions, Wanted wanted) {
  const auto is_sure = [](std::vector<double> seconds_per_byte) {
    return is_confirmed(std::move(seconds_per_byte), kRatesAgree, kRateConfirmations);
  };
  if (wanted == Wanted::total) {
    std::vector<double> of_all;
    for (const auto& rates : repetitions)
      of_all.push_back(1 / std::accumulate(rates.begin(), rates.end(), 0.0));
    return !is_sure(std::move(of_all));
  }
  const std::size_t n = repetitions.front().size();
  std::size_t in_doubt = 0;
  for (std::size_t f = 0; f < n; ++f) {
    std::vector<double> of_flow;
    for (const auto& rates : repetitions) of_flow.push_back(1 / rates[f]);
    in_doubt += is_sure(std::move(of_flow)) ? 0 : 1;
  }
  // Of many flows at once a few are always off; of few each counts.
  return 20 * in_doubt > n;
}

Streams::Repetitions Streams::repeat(const std::vector<Pair>& flows, Wanted wanted) {
  double stream_s = kStream_s;
  for (const Pair& flow : flows) stream_s = std::max(stream_s, kLatencies * latency_(flow.from, flow.to));
  Repetitions repetitions;
  for (int i = 0; i < kMostRepeats; ++i) {
    repetitions.push_back(probe_.rates(flows, stream_s));
    if (i + 1 < kRepeats) continue;
    if (!is_in_doubt(repetitions, wanted)) break;
  }
  const std::vector<double> rates = confirmed(repetitions);
  for (std::size_t f = 0; f < flows.size(); ++f) {
    for (const int host : {flows[f].from, flows[f].to}) fastest_[host] = std::max(fastest_[host], rates[f]);
  }
  return repetitions;
}

std::vector<Streams::Repetitions> Streams::all_at_once(const std::vector<Group>& groups, Wanted wanted) {
  std::vector<Pair> flows;
  for (const Group& group : groups) flows.insert(flows.end(), group.begin(), group.end());
  std::vector<Repetitions> of_groups(groups.size());
  if (flows.empty()) return of_groups;
  for (const std::vector<double>& rates : repeat(flows, wanted)) {
    auto next = rates.begin();
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const auto end = next + static_cast<std::ptrdiff_t>(groups[g].size());
      of_groups[g].emplace_back(next, end);
      next = end;
    }
  }
  return of_groups;
}

bool Streams::are_quiet(const std::vector<Group>& groups, const std::vector<Repetitions>& beside_others) {
  std::vector<double> faster;
  for (std::size_t g = 0; g < groups.size() && faster.size() < kGroupsAlone; ++g) {
    if (!groups[g].empty()) faster.push_back(total(groups[g]) / total_of(beside_others[g]));
  }
  return base::median(std::move(faster)) <= kUndisturbedRate;
}

std::vector<Streams::Repetitions> Streams::repeat_groups(const std::vector<Group>& groups, Wanted wanted) {
  const auto busy =
      std::count_if(groups.begin(), groups.end(), [](const Group& group) { return !group.empty(); });
  std::size_t n_flows = 0;
  for (const Group& group : groups) n_flows += group.size();
  if (busy < 2) return all_at_once(groups, wanted);
  if (n_flows < least_loud_) {
    std::vector<Repetitions> repetitions = all_at_once(groups, wanted);
    if (n_flows <= most_quiet_ || are_quiet(groups, repetitions)) {
      most_quiet_ = std::max(most_quiet_, n_flows);
      return repetitions;
    }
    least_loud_ = n_flows;
  }
  std::vector<Repetitions> one_by_one;
  for (const Group& group : groups)
    one_by_one.push_back(group.empty() ? Repetitions() : repeat(group, wanted));
  return one_by_one;
}

std::vector<double> Streams::rates(const std::vector<Pair>& flows) {
  return confirmed(repeat(flows, Wanted::each));
}

double Streams::total(const std::vector<Pair>& flows) { return total_of(repeat(flows, Wanted::total)); }

std::vector<std::vector<double>> Streams::rates_of_groups(const std::vector<Group>& groups) {
  std::vector<std::vector<double>> rates;
  for (const Repetitions& of_group : repeat_groups(groups, Wanted::each)) {
    rates.push_back(of_group.empty() ? std::vector<double>() : confirmed(of_group));
  }
  return rates;
}

std::vector<double> Streams::totals_of_groups(const std::vector<Group>& groups) {
  std::vector<double> totals;
  for (const Repetitions& of_group : repeat_groups(groups, Wanted::total)) {
    totals.push_back(of_group.empty() ? 0 : total_of(of_group));
  }
  return totals;
}

double Streams::fastest(int host) const {
  const auto found = fastest_.find(host);
  return found == fastest_.end() ? 0 : found->second;
}

}  // namespace eco::structure
