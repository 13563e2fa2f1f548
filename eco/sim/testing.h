// For tests: networks whose times can be worked out by hand.
//
//   predict(view_of(network_of({3, 2}, net::SubnetKind::switched)), schedules)
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "eco/net/group_view.h"
#include "eco/net/network.h"
#include "eco/sched/schedule.h"

namespace eco::sim {

inline constexpr double kLatency = 1e-3;
inline constexpr double kRate = 1e6;  // bytes/s
inline constexpr double kPacket = 1000;

// Subnets of the given sizes, one rank per host, no CPU costs: times can be worked out by hand.
inline std::shared_ptr<net::Network> network_of(const std::vector<int>& subnet_sizes, net::SubnetKind kind) {
  auto network = std::make_shared<net::Network>();
  int n_hosts = 0;
  for (const int size : subnet_sizes) {
    net::Subnet subnet;
    subnet.kind = size == 1 ? net::SubnetKind::lone : kind;
    subnet.latency_s = size == 1 ? 0 : kLatency;
    subnet.bytes_per_s = kRate;
    for (int i = 0; i < size; ++i) subnet.hosts.push_back(n_hosts++);
    network->subnets.push_back(subnet);
  }
  for (int host = 0; host < n_hosts; ++host)
    network->hosts.push_back({"host" + std::to_string(host), "", "", ""});
  const int n_subnets = static_cast<int>(subnet_sizes.size());
  for (int from = 0; from < n_subnets; ++from) {
    for (int to = from + 1; to < n_subnets; ++to) network->between.push_back({from, to, 2 * kLatency, kRate});
  }
  network->memory_bytes_per_s = 1e9;
  network->combine_bytes_per_s = 1e9;
  network->packet_bytes = kPacket;
  network->finish();
  return network;
}

inline net::GroupView view_of(const std::shared_ptr<net::Network>& network) {
  std::vector<int> host_of_rank;
  for (int host = 0; host < network->n_hosts(); ++host) host_of_rank.push_back(host);
  return net::make_view(network, host_of_rank);
}

inline sched::Region output(std::size_t offset, std::size_t bytes) {
  return {sched::Buffer::output, offset, bytes};
}

}  // namespace eco::sim
