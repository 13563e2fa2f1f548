#include "eco/map/graph.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <utility>

#include "eco/base/errors.h"

namespace eco::map {
namespace {

int product(const std::vector<int>& dims) {
  long long nodes = 1;
  for (const int extent : dims) {
    if (extent < 1)
      throw InvalidArgument("a grid's dimension of " + std::to_string(extent) + "; give 1 or more");
    nodes *= extent;
    if (nodes > kMostNodes) {
      throw InvalidArgument("a grid of more than " + std::to_string(kMostNodes) + " nodes");
    }
  }
  return static_cast<int>(nodes);
}

}  // namespace

std::vector<int> Graph::coordinates(int node) const {
  std::vector<int> at(dims.size());
  for (std::size_t d = dims.size(); d-- > 0;) {
    at[d] = node % dims[d];
    node /= dims[d];
  }
  return at;
}

Graph grid(std::vector<int> dims, const std::vector<bool>& periodic) {
  if (dims.empty() || dims.size() != periodic.size()) {
    throw InvalidArgument("a grid of " + std::to_string(dims.size()) + " dimensions, and " +
                          std::to_string(periodic.size()) + " words on which are closed to a ring");
  }
  const int n_nodes = product(dims);
  std::vector<Message> messages;
  for (int node = 0; node < n_nodes; ++node) {
    int stride = 1;
    for (std::size_t d = dims.size(); d-- > 0; stride *= dims[d]) {
      const int at = node / stride % dims[d];
      const int round = stride * (dims[d] - 1);  // from the last of the dimension to the first
      if (at + 1 < dims[d])
        messages.push_back({node, node + stride});
      else if (periodic[d])
        messages.push_back({node, node - round});
      if (at > 0)
        messages.push_back({node, node - stride});
      else if (periodic[d])
        messages.push_back({node, node + round});
    }
  }
  Graph made = graph(n_nodes, std::move(messages));
  made.dims = std::move(dims);
  return made;
}

Graph graph(int n_nodes, std::vector<Message> messages) {
  if (n_nodes < 1 || n_nodes > kMostNodes) {
    throw InvalidArgument("a graph of " + std::to_string(n_nodes) + " nodes; 1 to " +
                          std::to_string(kMostNodes) + " can be mapped");
  }
  for (const Message& message : messages) {
    const auto is_node = [&](int node) { return node >= 0 && node < n_nodes; };
    if (!is_node(message.from) || !is_node(message.to)) {
      throw InvalidArgument("a message from node " + std::to_string(message.from) + " to node " +
                            std::to_string(message.to) + " in a graph of nodes 0 to " +
                            std::to_string(n_nodes - 1));
    }
    if (!(message.weight >= 0) || std::isinf(message.weight)) {
      throw InvalidArgument("a message from node " + std::to_string(message.from) + " to node " +
                            std::to_string(message.to) + " of weight " + std::to_string(message.weight));
    }
  }
  std::erase_if(messages,
                [](const Message& message) { return message.from == message.to || message.weight == 0; });
  std::stable_sort(messages.begin(), messages.end(), [](const Message& a, const Message& b) {
    return std::tie(a.from, a.to) < std::tie(b.from, b.to);
  });
  Graph made{.n_nodes = n_nodes, .messages = {}, .dims = {}};
  for (const Message& message : messages) {
    if (!made.messages.empty() && made.messages.back().from == message.from &&
        made.messages.back().to == message.to) {
      made.messages.back().weight += message.weight;
    } else {
      made.messages.push_back(message);
    }
  }
  return made;
}

}  // namespace eco::map
