// True networks from one line, for tests of this room.
//
//   const TrueNetwork network = racks({{.n_hosts = 3}, {.n_hosts = 4, .arm_s = 40e-6}}, {10e-6, 5e6});
#pragma once

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>
#include <vector>

#include "eco/structure/simulated.h"
#include "eco/structure/true_network.h"

namespace eco::structure::testing {

struct Rack {
  int n_hosts = 0;
  double arm_s = 20e-6;
  double port = 25e6;  // bytes a second; of a bus, all of it
  bool is_bus = false;
};

// Racks behind equal uplinks, hosts in order.
inline TrueNetwork racks(const std::vector<Rack>& all, const Link& up) {
  TrueNetwork network;
  network.levels.push_back({});
  for (const Rack& rack : all) {
    const int level = static_cast<int>(network.levels.size());
    network.levels.push_back({.parent = 0, .up = up, .bus_bytes_per_s = rack.is_bus ? rack.port : 0});
    for (int i = 0; i < rack.n_hosts; ++i) {
      TrueHost host;
      host.level = level;
      host.port.latency_s = rack.arm_s;
      if (!rack.is_bus) host.port.bytes_per_s = rack.port;
      network.hosts.push_back(host);
    }
  }
  network.finish();
  return network;
}

// What was measured before: each pair's samples, once.
class OnceProbe final : public Probe {
 public:
  explicit OnceProbe(const TrueNetwork& network) : probe_(network, {.noise = 0.01, .seed = 3}) {}
  int n_hosts() const override { return probe_.n_hosts(); }
  std::vector<std::vector<double>> latencies(const std::vector<Round>& rounds, int, Pace pace) override {
    constexpr int kSamples = 12;
    auto seconds = probe_.latencies(rounds, kSamples, pace);
    auto of_pair = seconds.begin();
    for (const Round& round : rounds) {
      for (const Pair& pair : round) {
        if (!given_.insert(std::minmax(pair.from, pair.to)).second) of_pair->clear();
        ++of_pair;
      }
    }
    return seconds;
  }
  std::vector<double> rates(const std::vector<Pair>&, double) override { return {}; }
  Cost cost() const override { return probe_.cost(); }

 private:
  SimulatedProbe probe_;
  std::set<std::pair<int, int>> given_;
};

}  // namespace eco::structure::testing
