// What tests of measuring share beside the virtual network (testing.h): networks and how what was measured is held
// against them.
#pragma once

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "eco/net/network.h"

namespace eco::measure::testing {

inline const char* const kThreeSubnets =
    "hosts=3+3+2 rate_mbit=200 uplink_mbit=40 latency_us=40 between_us=80";
inline const char* const kEco1995 = "hosts=3+3+2 kind=bus rate_mbit=9.6 latency_us=150 between_us=300";

// The hosts of each subnet.
using Parts = std::vector<std::vector<int>>;

inline Parts partition(const net::Network& network) {
  Parts parts;
  for (const net::Subnet& subnet : network.subnets) parts.push_back(subnet.hosts);
  return parts;
}

inline std::vector<int> one_rank_per_host(const net::Network& network) {
  std::vector<int> hosts(network.hosts.size());
  std::iota(hosts.begin(), hosts.end(), 0);
  return hosts;
}

inline void expect_near(double measured, double truth, double tolerance, const std::string& what) {
  EXPECT_NEAR(measured / truth, 1.0, tolerance) << what << ": measured " << measured << ", true " << truth;
}

}  // namespace eco::measure::testing
