// Levels that latencies do not show: hosts that are fast among themselves and slow to others.
//
//   find_rate_levels(tree, streams);      // fills every level's rate, and adds levels, behind those that they take in
//
// First all hosts of a level talk in disjoint pairs at once, on all levels of one depth together. Where each pair is as fast
// as one alone, nothing is hidden. Else a representative asks each other host of the level, alone, and those that are as
// fast as its fastest form a group; the rest has another representative. Two groups or more that are faster inside than
// between them are levels; one fast group beside single slow hosts is not: slow hosts explain it.
#pragma once

#include "eco/net/tree.h"
#include "eco/structure/streams.h"

namespace eco::structure {

void find_rate_levels(net::Tree& tree, Streams& streams);

}  // namespace eco::structure
