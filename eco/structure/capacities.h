// What is shared: bus or switch on every level, what its uplink carries, whether both directions share it.
//
//   find_shared(tree, streams);
//
// Media: two disjoint pairs at once (of three hosts a chain, of two both directions), on all levels at the same time.
// Uplinks: hosts below send to hosts outside, each to another, chosen so that nothing known is in their way; if less comes
// out than all else could carry, the uplink is what holds them up, and carries that. Then the same in both directions.
#pragma once

#include "eco/net/tree.h"
#include "eco/structure/streams.h"

namespace eco::structure {

void find_shared(net::Tree& tree, Streams& streams);

}  // namespace eco::structure
