// The edges of a graph as one rank sees them, and trees over those whom a rank tells.
//
//   for (const Edge& edge : edges_out(graph, rank)) e.send(edge.peer, block_at(edge.slot));
//
// Who sends and who receives list the edges between them in the same order, so they may share a channel.
#pragma once

#include <cstddef>
#include <vector>

#include "eco/algo/patterns/tree.h"
#include "eco/algo/recipe.h"
#include "eco/coll/neighborhood.h"
#include "eco/net/group_view.h"

namespace eco::algo {

struct Edge {
  int peer = 0;
  std::size_t slot = 0;  // this rank's place for its block
};

// To others, beginning with the next rank; and from others, beginning with the one before.
std::vector<Edge> edges_out(const coll::Neighborhood& graph, int rank);
std::vector<Edge> edges_in(const coll::Neighborhood& graph, int rank);

// What a rank tells itself: from which place to which.
struct SelfEdge {
  std::size_t from = 0;
  std::size_t to = 0;
};
std::vector<SelfEdge> self_edges(const coll::Neighborhood& graph, int rank);

// Over the owner and whom it tells, nobody else: directly, or ECO's tree of those subnets in which they are.
Tree tree_of_told(Pattern pattern, const net::GroupView& view, const coll::Neighborhood& graph, int owner,
                  const Params& params);

}  // namespace eco::algo
