// A grid of 3 x 4 in rows along its second dimension, plain and turning at each end:
//
//   0  1  2  3      0 1 2 3 | 4 5 6 7 | 8 ...        0 1 2 3 | 7 6 5 4 | 8 ...
//   4  5  6  7
//   8  9 10 11      The second one's neighbours in the row are neighbours in the grid everywhere.
#include <algorithm>
#include <numeric>

#include "eco/map/strategies.h"

namespace eco::map {
namespace {

// Nodes of a grid by their coordinates, `first` the slowest to change.
std::vector<int> in_rows(const Graph& graph, std::size_t first, bool turning) {
  std::vector<std::size_t> dimensions(graph.dims.size());
  std::iota(dimensions.begin(), dimensions.end(), std::size_t{0});
  std::rotate(dimensions.begin(), dimensions.begin() + static_cast<std::ptrdiff_t>(first), dimensions.end());
  std::vector<std::vector<int>> keys(static_cast<std::size_t>(graph.n_nodes));
  for (int node = 0; node < graph.n_nodes; ++node) {
    const std::vector<int> at = graph.coordinates(node);
    std::vector<int>& key = keys[static_cast<std::size_t>(node)];
    bool back = false;
    for (const std::size_t d : dimensions) {
      key.push_back(turning && back ? graph.dims[d] - 1 - at[d] : at[d]);
      back = back != (key.back() % 2 != 0);
    }
  }
  std::vector<int> order = identity(graph.n_nodes);
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return keys[static_cast<std::size_t>(a)] < keys[static_cast<std::size_t>(b)];
  });
  return order;
}

}  // namespace

std::vector<Mapping> rows(const Graph& graph, const net::GroupView& view) {
  std::vector<std::vector<int>> node_orders;
  if (graph.dims.size() < 2) node_orders.push_back(identity(graph.n_nodes));
  for (std::size_t d = 0; graph.dims.size() >= 2 && d < graph.dims.size(); ++d) {
    for (const bool turning : {false, true}) node_orders.push_back(in_rows(graph, d, turning));
  }
  std::vector<Mapping> proposals;
  for (const std::vector<int>& ranks : rank_orders(view)) {
    for (const std::vector<int>& nodes : node_orders) proposals.push_back(fill(view, nodes, ranks));
  }
  return proposals;
}

}  // namespace eco::map
