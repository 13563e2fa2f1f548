// A network with a true tree: media that are switches or buses, links between them, hosts on them. For simulations.
//
//   TrueNetwork network;
//   network.levels = {{}, {.parent = 0, .up = {10e-6, 5e6}}, {.parent = 0, .up = {10e-6, 5e6}}};
//   network.hosts = {{.level = 1, .port = {20e-6, 25e6}}, ...};
//   network.finish();
//   network.latency_s(0, 1);          // latencies of links add up
//   network.shares({{0, 1}, {2, 3}}); // flows share resources max-min fairly
#pragma once

#include <limits>
#include <vector>

#include "eco/structure/probe.h"

namespace eco::structure {

struct Link {
  double latency_s = 0;
  double bytes_per_s = std::numeric_limits<double>::infinity();
  bool half_duplex = false;
};

struct TrueLevel {
  int parent = -1;             // an earlier level; -1 for the first alone
  Link up{};                   // to the parent
  double bus_bytes_per_s = 0;  // what all that passes the medium shares; 0 for a switch
};

struct TrueHost {
  int level = 0;
  Link port{};
};

class TrueNetwork {
 public:
  std::vector<TrueLevel> levels;
  std::vector<TrueHost> hosts;

  // After filling.
  void finish();
  int n_hosts() const { return static_cast<int>(hosts.size()); }
  double latency_s(int a, int b) const;
  // Bytes a second of flows that begin together: max-min fair, in their order.
  std::vector<double> shares(const std::vector<Pair>& flows) const;

 private:
  std::vector<int> route(int from, int to) const;

  std::vector<int> depth_;
  std::vector<double> capacity_;  // host out, host in, ...; level out, in, bus, ...
};

}  // namespace eco::structure
