// The latency tree of any number of hosts, from few of their pairs: landmarks and representatives.
//
//   Sampler sampler(probe);
//   const LatencyTree tree = place_hosts(sampler, probe.n_hosts(), seed);
//
// All pairs of some landmarks give a tree (grouping.h). Every other host goes down it: at each node it asks one representative
// of every branch, and the branch whose representative is nearer than the way over the node is its own. Hosts that leave the
// tree on a link, or find a neighbour where none was, become landmarks, and so on until nobody does, or the tree has no new node for it: a host of a switch
// without landmarks is found because a few of those that hang on one node ask all others there.
// At last every host asks a few more, and those whose place does not agree become landmarks too. With b branches at a node
// that is O(p b) pairs at each depth, where the tree is balanced O(p log p) in all, and p^2 / 2 where hosts are few.
#pragma once

#include "eco/structure/grouping.h"
#include "eco/structure/sampler.h"

namespace eco::structure {

// Local to the sampler's probe. Leaves of the tree are all hosts 0 .. n_hosts - 1.
LatencyTree place_hosts(Sampler& sampler, int n_hosts, unsigned long seed);

}  // namespace eco::structure
