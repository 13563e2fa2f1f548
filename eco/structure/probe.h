// What can be asked of a network: how long a small message takes, and how fast streams are, several pairs at once.
//
//   const auto seconds = probe.latencies({{{0, 1}, {2, 3}}, {{0, 2}}}, 5, Pace::in_turn);   // five one-way times of each pair
//   const auto rates = probe.rates({{0, 1}, {2, 3}}, 0.02);                                 // both streams together, 20 ms
//
// The finder of structure knows nothing else of a network. Behind it stands a simulated one (simulated.h) or the ranks of a
// job. What one call asks for is ordered at once; it costs network time and messages.
#pragma once

#include <algorithm>
#include <cstddef>
#include <set>
#include <vector>

namespace eco::structure {

// Hosts by number. Of latencies without a direction.
struct Pair {
  int from = 0;
  int to = 0;
  friend bool operator==(const Pair&, const Pair&) = default;
};

// Of more, rounds are ordered many at once, and far pairs staggered; with so few it saves nothing, and who looks on may stop
// between any two rounds.
inline constexpr int kFewHosts = 32;

// Samples of a pair that is only glanced at.
inline constexpr int kGlance = 2;

// Pairs that can talk at the same time: no host is in two of them.
using Round = std::vector<Pair>;

enum class Pace {
  in_turn,    // a round begins when the hosts in it are done with the one before
  staggered,  // so long after the one before as stagger_s() says, its answers still under way: for far pairs
};

// Seconds between two trips that one host begins, where so many hosts begin some, none longer there and back than that. Of
// 2 ms a probe of 1 KiB takes two fifths on 10 Mbit/s; and no more is under way than where all hosts are in one round.
inline double stagger_s(std::size_t n_asking, double longest_trip_s, int n_hosts) {
  constexpr double kApart_s = 2e-3;
  const double all_at_once = std::max(1.0, n_hosts / 2.0);
  return std::max(kApart_s, longest_trip_s * static_cast<double>(n_asking) / all_at_once);
}

// Hosts that begin a trip.
inline std::size_t n_asking(const std::vector<Round>& rounds) {
  std::set<int> hosts;
  for (const Round& round : rounds) {
    for (const Pair& pair : round) hosts.insert(pair.from);
  }
  return hosts.size();
}

struct Cost {
  long messages = 0;     // of measurements, orders and answers
  double network_s = 0;  // in which the network was measured
};

class Probe {
 public:
  Probe() = default;
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;
  virtual ~Probe() = default;

  virtual int n_hosts() const = 0;
  // So many one-way times of a small message for each pair of each round, in their order; no pair twice. Who only knows what
  // was measured before has fewer in the end, and then none.
  virtual std::vector<std::vector<double>> latencies(const std::vector<Round>& rounds, int samples,
                                                     Pace pace) = 0;
  // Payload bytes a second of each stream; all flow at the same time, about this long. A host may send one and receive one.
  virtual std::vector<double> rates(const std::vector<Pair>& flows, double seconds) = 0;
  virtual Cost cost() const = 0;
};

}  // namespace eco::structure
