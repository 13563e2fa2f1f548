// Which rank plays which node of the program's graph, and how places are filled in an order.
//
//   const Mapping mapping = fill(view, node_order, rank_order);     // node_order[i] on rank_order[i]
//   mapping[node]                                                   // the rank
//
// A mapping is a permutation of all ranks: those behind the graph's nodes play none. Local and pure.
#pragma once

#include <vector>

#include "eco/net/group_view.h"

namespace eco::map {

using Mapping = std::vector<int>;

Mapping identity(int n_ranks);
// node -> rank becomes rank -> node, or the other way round.
std::vector<int> inverse(const Mapping& mapping);

// The same hosts for the same nodes, with the ranks of each host in the order of its nodes: which of a host's ranks
// plays a node is all one to the network, and so fewest change.
Mapping settled(const Mapping& mapping, const net::GroupView& view);

// Nodes in this order on ranks in this order; ranks left over, ascending, play none. Settled.
Mapping fill(const net::GroupView& view, const std::vector<int>& node_order,
             const std::vector<int>& rank_order);

// All ranks, subnet after subnet along the ring of fastest links and host after host, once for each subnet that it may
// begin with (of many, some): what comes last has ranks that play no node where there are more ranks than nodes.
std::vector<std::vector<int>> rank_orders(const net::GroupView& view);

}  // namespace eco::map
