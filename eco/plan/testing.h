// Networks and problems that the planner's tests share.
#pragma once

#include <cstddef>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "eco/coll/problem.h"
#include "eco/net/group_view.h"
#include "eco/net/synthetic.h"
#include "eco/plan/ranking.h"

namespace eco::plan {

// The rates of the emulated networks in networks/, less headers; CPU times of a message as on a busy machine.
inline constexpr const char* kThreeSubnets =
    "hosts=3+3+2 rate_mbit=191 uplink_mbit=38.2 latency_us=60 between_us=200 overhead_us=15";
// The same with uplinks of 10, 20 and 40 Mbit/s.
inline constexpr const char* kUnequal =
    "hosts=3+3+2 rate_mbit=191 uplink_mbit=9.56+19.1+38.2 latency_us=60 between_us=200 overhead_us=15";
inline constexpr const char* kTwoSites =
    "hosts=4+4 rate_mbit=191 uplink_mbit=38.2 latency_us=60 between_us=10000 overhead_us=15";
inline constexpr const char* kOneSwitch = "hosts=8 rate_mbit=47.8 latency_us=60 overhead_us=15";
inline constexpr const char* kEco1995 =
    "hosts=3+3+2 kind=bus rate_mbit=9.56 latency_us=60 between_us=120 overhead_us=15";

// One rank on each host, in the order of the hosts.
inline net::GroupView view_of(const std::string& description) {
  auto network = std::make_shared<net::Network>(net::synthetic_network(description));
  std::vector<int> host_of_rank(static_cast<std::size_t>(network->n_hosts()));
  std::iota(host_of_rank.begin(), host_of_rank.end(), 0);
  return net::make_view(network, host_of_rank);
}

// Of doubles where elements are combined, in whole blocks; a barrier has no bytes.
inline coll::CommonProblem problem_of(coll::Collective collective, std::size_t bytes,
                                      const net::GroupView& view, int root = 0) {
  coll::CommonProblem problem{.collective = collective, .n_ranks = view.n_ranks(), .root = root};
  if (collective == coll::Collective::barrier) return problem;
  if (coll::is_reduction(collective)) problem.element_bytes = 8;
  problem.bytes = coll::whole_bytes(problem, bytes);
  return problem;
}

// A broadcast of so much on three subnets, with its candidates.
struct Megabyte {
  net::GroupView view = view_of(kThreeSubnets);
  coll::CommonProblem problem = problem_of(coll::Collective::broadcast, 1 << 20, view);
  std::vector<Candidate> ranked = rank_candidates(problem, view);
};

}  // namespace eco::plan
