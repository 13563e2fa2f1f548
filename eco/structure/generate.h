// True networks by dice: what bench/structure.py finds again.
//
//   const TrueNetwork network = generate_network(seed, index);
//
// 8 to 1,000 hosts; 1 to 4 levels of media above the hosts; subnets of unequal size, lone hosts beside them, a campus of many
// segments; switches and buses of 10 to 1,000 Mbit/s; hosts, ports and uplinks that differ gradually or by much; uplinks
// that are oversubscribed, half duplex, or hold nobody up; lines of milliseconds between sites; levels that only rates show.
// A link is either told apart clearly, by kClear of the way across, or takes no time: what lies between is neither right
// nor wrong to find.
#pragma once

#include "eco/structure/true_network.h"

namespace eco::structure {

inline constexpr double kClear = 0.12;

// Pure: the same network for the same numbers. Every 30th, from index 29, has 1,000 hosts.
TrueNetwork generate_network(unsigned long seed, int index);

}  // namespace eco::structure
