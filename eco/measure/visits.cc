#include "eco/measure/visits.h"

#include <algorithm>
#include <numeric>

#include "eco/structure/disjoint.h"

namespace eco::measure {
namespace {

// Two trips a visit, if they fit: more would only give a disturbance more chances to raise the average, and one trip at
// a tenth of its time would pull an average of many less than 20 % down, where nobody notices.
constexpr int kMostTrips = 2;
// A pair that takes less than this share of its time alone is disturbed by those that are visited beside it.
constexpr double kAsAlone = 0.9;

}  // namespace

Visits::Visits(SampleTable& table, const Pinger& ping, bool in_budget)
    : table_(table), ping_(ping), in_budget_(in_budget), ways_(table.n_hosts), visited_(table.pairs.size()) {}

bool Visits::is_any_far() const {
  for (std::size_t pair = 0; pair < table_.pairs.size(); ++pair) {
    if (is_far(pair)) return true;
  }
  return false;
}

// Whether the visit takes long, or to order it.
bool Visits::is_dear(std::size_t pair) const {
  const structure::Pair hosts = hosts_of(pair);
  return is_far(pair) || ways_.are_far(0, hosts.from) || ways_.are_far(0, hosts.to);
}

int Visits::trips_of(std::size_t pair, std::size_t size) const {
  if (in_budget_ && is_dear(pair)) return kMostTrips;
  if (table_.of(pair, size).empty()) {
    return table_.sizes[size] > net::kSmallPairBytes ? 1 : kMostTrips;  // what it costs is not known yet
  }
  const double allowed = visit_s_ / (2 * std::max(table_.label(pair, size), 1e-9));
  return static_cast<int>(std::clamp(allowed, 1.0, static_cast<double>(kMostTrips)));
}

// The mean of the trips is a sample; of a visit that won't be repeated each is.
void Visits::take(std::size_t pair, std::size_t size, const std::vector<double>& trips) {
  net::PairTimes& times = table_.pairs[pair];
  visited_[pair] = true;
  const double mean = std::accumulate(trips.begin(), trips.end(), 0.0) / static_cast<double>(trips.size());
  // A trip that was disturbed is not a long way.
  if (table_.sizes[size] == kSmallestBytes)
    ways_.saw(times.a, times.b, *std::min_element(trips.begin(), trips.end()));
  std::vector<double>& samples = times.samples[size];
  if (in_budget_ && is_dear(pair)) {
    samples.insert(samples.end(), trips.begin(), trips.end());
  } else {
    samples.push_back(mean);
  }
}

void Visits::visit(std::size_t pair, std::size_t size) {
  take(pair, size, ping_({hosts_of(pair)}, table_.sizes[size], trips_of(pair, size)).front());
}

bool Visits::visit_all(const std::vector<std::size_t>& pairs, std::size_t size,
                       const std::function<bool()>& in_time) {
  std::vector<structure::Pair> far;
  for (const std::size_t pair : pairs) {
    if (goes_in_rounds(size) && is_far(pair)) {
      far.push_back(hosts_of(pair));
      continue;
    }
    if (!in_time()) return false;
    visit(pair, size);
  }
  while (!far.empty()) {
    std::vector<std::size_t> round;
    for (const structure::Pair& pair : structure::take_disjoint(far, table_.n_hosts))
      round.push_back(table_.index_of(pair.from, pair.to));
    if (!in_time()) return false;
    visit_round(round, size);
  }
  return true;
}

void Visits::visit_round(const std::vector<std::size_t>& pairs, std::size_t size) {
  std::vector<std::vector<double>> times;
  if (goes_in_rounds(size)) {
    std::vector<structure::Pair> round;
    int trips = 1;
    for (const std::size_t pair : pairs) {
      round.push_back(hosts_of(pair));
      trips = std::max(trips, trips_of(pair, size));
    }
    times = ping_(round, table_.sizes[size], trips);
    if (pairs.size() > 1 && disturb_each_other(pairs, times, size)) give_up_rounds(size);
  }
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (goes_in_rounds(size)) {
      take(pairs[i], size, times[i]);
      if (pairs.size() > 1) in_rounds_[table_.sizes[size]].insert(pairs[i]);
    } else {
      visit(pairs[i], size);
    }
  }
}

// What earlier rounds said of this size is measured alone too.
void Visits::give_up_rounds(std::size_t size) {
  const std::size_t bytes = table_.sizes[size];
  disturbed_.insert(bytes);
  for (const std::size_t pair : in_rounds_[bytes]) {
    table_.pairs[pair].samples[size].clear();
    visit(pair, size);
  }
}

// Of every two sites the first pair that is visited beside others at this size is visited alone too.
bool Visits::disturb_each_other(const std::vector<std::size_t>& pairs,
                                const std::vector<std::vector<double>>& times, std::size_t size) {
  const std::vector<int> sites = ways_.sites();
  const auto site = [&](int host) { return sites[static_cast<std::size_t>(host)]; };
  const std::size_t bytes = table_.sizes[size];
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const structure::Pair hosts = hosts_of(pairs[i]);
    const std::pair<int, int> between = std::minmax(site(hosts.from), site(hosts.to));
    if (!checked_.insert({bytes, between}).second) continue;
    const auto alone = ping_({hosts}, bytes, static_cast<int>(times[i].size())).front();
    if (confirmed_minimum(alone) < kAsAlone * confirmed_minimum(times[i])) return true;
  }
  return false;
}

}  // namespace eco::measure
