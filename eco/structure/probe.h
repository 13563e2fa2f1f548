// What can be asked of a network: how long a small message takes, and how fast streams are, several pairs at once.
//
//   const auto seconds = probe.latencies({{0, 1}, {2, 3}}, 5);       // five one-way times of each pair
//   const auto rates = probe.rates({{0, 1}, {2, 3}}, 0.02);          // both streams together, 20 ms
//
// The finder of structure knows nothing else of a network. Behind it stands a simulated one (simulated.h) or the ranks of a
// job. Every call is one round, and costs network time and messages.
#pragma once

#include <vector>

namespace eco::structure {

// Hosts by number. Of latencies without a direction.
struct Pair {
  int from = 0;
  int to = 0;
  friend bool operator==(const Pair&, const Pair&) = default;
};

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
  // So many one-way times of a small message for each pair, all pairs at the same time; no host is in two of them. Who only
  // knows what was measured before has fewer in the end, and then none.
  virtual std::vector<std::vector<double>> latencies(const std::vector<Pair>& pairs, int samples) = 0;
  // Payload bytes a second of each stream; all flow at the same time, about this long. A host may send one and receive one.
  virtual std::vector<double> rates(const std::vector<Pair>& flows, double seconds) = 0;
  virtual Cost cost() const = 0;
};

}  // namespace eco::structure
