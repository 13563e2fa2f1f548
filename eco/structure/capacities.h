// What is shared: bus or switch on every level, what its uplink carries, whether both directions share it.
//
//   find_shared(tree, streams);
//
// Media: two disjoint pairs at once (three hosts in a ring, two in both directions), on all levels at the same time.
// Uplinks: all hosts below send to as many outside, each to another; what arrives in all is the uplink's if the hosts and
// uplinks on both sides could do more. Then the same in both directions.
#pragma once

#include "eco/structure/streams.h"
#include "eco/structure/tree.h"

namespace eco::structure {

void find_shared(Tree& tree, Streams& streams);

}  // namespace eco::structure
