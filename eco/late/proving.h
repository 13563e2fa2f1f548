// Proves collectives that form while they run, over the orders in which ranks come.
//
//   for (const std::string& fault : prove({.n_ranks = 4, .plan = Plan::mended}).faults) complain(fault);
//
// Of few ranks every order of arrival is played, and between two arrivals nothing, all messages, or all messages and every
// rank's patience: P! 3^(P-1) plays. Of many ranks so many random orders of all events. Both for several shapes, roots,
// segments and windows. In every play all ranks must have the right bytes in the end, each message must be received once,
// and nothing may be left over. Pure, local.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "eco/late/forms.h"

namespace eco::late {

struct ProofTask {
  Plan plan = Plan::mended;
  coll::Collective collective = coll::Collective::broadcast;
  int n_ranks = 2;
  std::uint64_t seed = 1;
  std::size_t n_random = 200;  // plays of each case
  bool all_orders = false;     // in addition
};

struct Proof {
  std::size_t n_cases = 0;
  std::size_t n_plays = 0;
  std::vector<std::string> faults;  // at most kMostFaults
  static constexpr std::size_t kMostFaults = 20;
};

// Throws InvalidArgument where there are no ranks, or no such collective forms by the plan.
Proof prove(const ProofTask& task);

}  // namespace eco::late
