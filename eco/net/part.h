// The part of a network that some of its hosts see: as many resources as they have, and no measurements.
//
//   Part part = part_of(network, {3, 4, 900});
//   part.network->message_s(part.hosts[0], part.hosts[2], bytes) == network->message_s(3, 900, bytes)
//
// For what walks over all resources and asks about few hosts of thousands.
#pragma once

#include <memory>
#include <vector>

#include "eco/net/network.h"

namespace eco::net {

struct Part {
  std::shared_ptr<const Network> network;
  std::vector<int> hosts;  // the number there of each host asked for
};

// Local, pure. Hosts may come several times, and keep their order; rails keep their numbers, also those that none of the hosts
// have.
Part part_of(const std::shared_ptr<const Network>& network, const std::vector<int>& hosts);

// Local, pure. A rail of which only these hosts have a NIC, by the same numbers; of those that have it.
Rail rail_of(const Rail& whole, const std::vector<int>& hosts);

}  // namespace eco::net
