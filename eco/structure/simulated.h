// A true network behind the probe interface: with noise, spoilt measurements, and a clock of its own.
//
//   SimulatedProbe probe(network, {.noise = 0.02, .spoilt = 0.05, .seed = 7});
//   const Tree tree = find_structure(probe);
//
// Every sample takes longer by an exponential share, and a few are off by up to ten in either direction. A round in turn takes
// its slowest pair's time, a staggered one what is between it and the next; and a call what ordering it takes: rank 0 tells
// every host of each of its pairs, one after the other, and hears from each.
#pragma once

#include <limits>
#include <random>

#include "eco/structure/probe.h"
#include "eco/structure/true_network.h"

namespace eco::structure {

struct SimulatedOptions {
  double noise = 0.02;   // mean of what a sample takes longer, as a share
  double spoilt = 0.05;  // share of samples that are 0.1 to 10 times what they should be
  double crowding = 0;   // by what share a pair's latency grows for each other pair of its round
  // Of all streams of a round together: what the processors of one machine do that plays all hosts.
  double most_bytes_per_s = std::numeric_limits<double>::infinity();
  unsigned long seed = 1;
};

class SimulatedProbe final : public Probe {
 public:
  SimulatedProbe(const TrueNetwork& network, const SimulatedOptions& options)
      : network_(network), options_(options), random_(options.seed) {}

  int n_hosts() const override { return network_.n_hosts(); }
  std::vector<std::vector<double>> latencies(const std::vector<Round>& rounds, int samples,
                                             Pace pace) override;
  std::vector<double> rates(const std::vector<Pair>& flows, double seconds) override;
  Cost cost() const override { return cost_; }

 private:
  double disturbed(double seconds);
  void order(const std::vector<Pair>& pairs);

  const TrueNetwork& network_;
  SimulatedOptions options_;
  std::mt19937_64 random_;
  Cost cost_;
};

}  // namespace eco::structure
