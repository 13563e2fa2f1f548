// What a program exchanges in one step: who sends to whom, between the nodes of its topology. A node is a place in the
// program's own numbering, a rank is a process; a mapping (mapping.h) says which rank plays which node.
//
//   const Graph torus = grid({4, 5}, {true, true});         // nodes row by row, as MPI numbers them
//   const Graph any = graph(3, {{0, 1, 2.0}, {1, 2, 1.0}});  // node 0 sends node 1 twice what 1 sends 2
//
// Local and pure.
#pragma once

#include <vector>

namespace eco::map {

// From one node to another, `weight` times as long as others; 0 is nothing at all.
struct Message {
  int from = 0;
  int to = 0;
  double weight = 1;
  friend bool operator==(const Message&, const Message&) = default;
};

struct Graph {
  int n_nodes = 0;
  std::vector<Message> messages;  // by from, then to, each pair once; none to oneself, none without weight
  std::vector<int> dims;          // of a grid; empty: nothing is known but the messages

  // The node's coordinates in a grid.
  std::vector<int> coordinates(int node) const;
};

// More nodes than this have no graph: their numbers shall be ints everywhere.
inline constexpr int kMostNodes = 1 << 20;

// Every node sends to both neighbours in every dimension. Throws InvalidArgument: no dimensions or not as many
// `periodic`, a dimension below 1, more than kMostNodes.
Graph grid(std::vector<int> dims, const std::vector<bool>& periodic);
// Messages of one pair are put together. Throws InvalidArgument where one names a node that there is not, or weighs less
// than nothing or no number.
Graph graph(int n_nodes, std::vector<Message> messages);

}  // namespace eco::map
