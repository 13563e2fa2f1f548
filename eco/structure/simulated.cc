#include "eco/structure/simulated.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "eco/base/assert.h"

namespace eco::structure {
namespace {

constexpr double kOrder_s = 2e-6;  // of rank 0, to send an order or to take an answer
constexpr double kMessageBytes = 16384;
constexpr double kFewestMessages = 4;

}  // namespace

double SimulatedProbe::disturbed(double seconds) {
  seconds *= 1 + options_.noise * std::exponential_distribution<>(1)(random_);
  if (std::uniform_real_distribution<>(0, 1)(random_) < options_.spoilt) {
    seconds *= std::pow(10.0, std::uniform_real_distribution<>(-1, 1)(random_));
  }
  return seconds;
}

// An order to and an answer from each end; the last order and the first answer travel while others are sent.
void SimulatedProbe::order(const std::vector<Pair>& pairs) {
  double farthest_s = 0;
  for (const Pair& pair : pairs) {
    for (const int host : {pair.from, pair.to}) {
      if (host != 0) farthest_s = std::max(farthest_s, network_.latency_s(0, host));
    }
  }
  cost_.messages += 4 * static_cast<long>(pairs.size());
  cost_.network_s += 2 * farthest_s + 4 * kOrder_s * static_cast<double>(pairs.size());
}

std::vector<std::vector<double>> SimulatedProbe::latencies(const std::vector<Round>& rounds, int samples,
                                                           Pace pace) {
  std::vector<std::vector<double>> seconds;
  std::vector<Pair> all;
  const int trips = samples + 1;  // the first, which opens the connection, is not timed
  double longest_s = 0;           // there and back
  double in_turn_s = 0;
  for (const Round& round : rounds) {
    std::vector<bool> busy(network_.hosts.size(), false);
    double of_round_s = 0;
    const double crowd = 1 + options_.crowding * static_cast<double>(round.size() - 1);
    for (const Pair& pair : round) {
      ECO_ASSERT(light, !busy[pair.from] && !busy[pair.to] && pair.from != pair.to, "pairs are disjoint");
      busy[pair.from] = busy[pair.to] = true;
      const double latency_s = crowd * network_.latency_s(pair.from, pair.to);
      auto& of_pair = seconds.emplace_back();
      for (int i = 0; i < samples; ++i) of_pair.push_back(disturbed(latency_s));
      of_round_s = std::max(of_round_s, 2 * latency_s);
    }
    all.insert(all.end(), round.begin(), round.end());
    longest_s = std::max(longest_s, of_round_s);
    in_turn_s += trips * of_round_s;
  }
  order(all);
  cost_.messages += 2L * trips * static_cast<long>(all.size());
  // After the first trip of each, for which the second waits.
  const double apart_s = stagger_s(n_asking(rounds), longest_s, n_hosts());
  cost_.network_s += pace == Pace::in_turn
                         ? in_turn_s
                         : 2 * longest_s + trips * static_cast<double>(rounds.size()) * apart_s;
  return seconds;
}

std::vector<double> SimulatedProbe::rates(const std::vector<Pair>& flows, double seconds) {
  std::vector<double> rates = network_.shares(flows);
  const double all = std::accumulate(rates.begin(), rates.end(), 0.0);
  if (all > options_.most_bytes_per_s) {
    for (double& rate : rates) rate *= options_.most_bytes_per_s / all;
  }
  double farthest_s = 0;
  for (std::size_t f = 0; f < flows.size(); ++f) {
    cost_.messages += static_cast<long>(std::max(kFewestMessages, seconds * rates[f] / kMessageBytes)) + 1;
    farthest_s = std::max(farthest_s, network_.latency_s(flows[f].from, flows[f].to));
    rates[f] = 1 / disturbed(1 / rates[f]);
  }
  order(flows);
  cost_.network_s += seconds + 2 * farthest_s;
  return rates;
}

}  // namespace eco::structure
