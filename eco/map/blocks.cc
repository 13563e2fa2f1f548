// A grid of 4 x 4 for subnets of 8, 4 and 4 ranks: cut in two for 8 | 4 + 4, then the right half for 4 | 4.
//
//   a a | b b
//   a a | b b
//   a a | ---
//   a a | c c
//       | c c
//
// Subnets rarely fill whole rows: the cut then goes through one, so a part is a set of nodes and no box.
#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "eco/map/strategies.h"

namespace eco::map {
namespace {

class Blocks {
 public:
  Blocks(const Graph& graph, const net::GroupView& view)
      : graph_(graph), view_(view), part_(static_cast<std::size_t>(graph.n_nodes), 0) {
    for (int node = 0; node < graph.n_nodes; ++node) coordinates_.push_back(graph.coordinates(node));
    first_message_.assign(static_cast<std::size_t>(graph.n_nodes) + 1, 0);
    for (const Message& message : graph.messages)
      ++first_message_[static_cast<std::size_t>(message.from) + 1];
    for (std::size_t n = 1; n < first_message_.size(); ++n) first_message_[n] += first_message_[n - 1];
  }

  Mapping on(const std::vector<int>& rank_order) {
    node_order_ = identity(graph_.n_nodes);
    std::fill(part_.begin(), part_.end(), 0);
    n_parts_ = 1;
    const std::span<const int> ranks(rank_order.data(), node_order_.size());
    place(node_order_, ranks);
    return fill(view_, node_order_, rank_order);
  }

 private:
  int subnet(int rank) const { return view_.subnet_of_rank[static_cast<std::size_t>(rank)]; }
  int host(int rank) const { return view_.host_of(rank); }

  // Where the ranks are parted: between subnets, or in one subnet between hosts, next to the middle; 0: all on one host.
  std::size_t cut_of(std::span<const int> ranks) const {
    const bool one_subnet = subnet(ranks.front()) == subnet(ranks.back());
    std::size_t best = 0;
    for (std::size_t i = 1; i < ranks.size(); ++i) {
      const bool parts =
          one_subnet ? host(ranks[i - 1]) != host(ranks[i]) : subnet(ranks[i - 1]) != subnet(ranks[i]);
      const auto off_middle = [&](std::size_t at) { return std::max(at, ranks.size() - at); };
      if (parts && (best == 0 || off_middle(i) < off_middle(best))) best = i;
    }
    return best;
  }

  // By the coordinate in one dimension, upwards or downwards, then by the others, which turn at each end.
  void sort_along(std::span<int> nodes, std::size_t dimension, bool down) const {
    const auto key = [&](int node) {
      const std::vector<int>& at = coordinates_[static_cast<std::size_t>(node)];
      std::vector<int> key = {down ? -at[dimension] : at[dimension]};
      bool back = at[dimension] % 2 != 0;
      for (std::size_t d = 0; d < at.size(); ++d) {
        if (d == dimension) continue;
        key.push_back(back ? graph_.dims[d] - 1 - at[d] : at[d]);
        back = back != (key.back() % 2 != 0);
      }
      return key;
    };
    std::sort(nodes.begin(), nodes.end(), [&](int a, int b) { return key(a) < key(b); });
  }

  // What the first `cut` nodes send to the others of the same part.
  double crossing(std::span<const int> nodes, std::size_t cut) {
    const int part = part_[static_cast<std::size_t>(nodes.front())];
    constexpr int kFirst = -1;
    for (const int node : nodes.first(cut)) part_[static_cast<std::size_t>(node)] = kFirst;
    double crossing = 0;
    for (const int node : nodes.first(cut)) {
      const auto n = static_cast<std::size_t>(node);
      for (std::size_t m = first_message_[n]; m < first_message_[n + 1]; ++m) {
        const Message& message = graph_.messages[m];
        if (part_[static_cast<std::size_t>(message.to)] == part) crossing += message.weight;
      }
    }
    for (const int node : nodes.first(cut)) part_[static_cast<std::size_t>(node)] = part;
    return crossing;
  }

  // Puts nodes into the order in which these ranks take them. They are one part.
  void place(std::span<int> nodes, std::span<const int> ranks) {
    if (ranks.size() < 2) return;
    const std::size_t cut = cut_of(ranks);
    if (cut == 0) return std::sort(nodes.begin(), nodes.end());
    double least = std::numeric_limits<double>::infinity();
    std::vector<int> best;
    for (std::size_t d = 0; d < graph_.dims.size(); ++d) {
      for (const bool down : {false, true}) {
        sort_along(nodes, d, down);
        const double sent = crossing(nodes, cut);
        if (sent >= least) continue;
        least = sent;
        best.assign(nodes.begin(), nodes.end());
      }
    }
    std::copy(best.begin(), best.end(), nodes.begin());
    for (const int node : nodes.subspan(cut)) part_[static_cast<std::size_t>(node)] = n_parts_;
    ++n_parts_;
    place(nodes.first(cut), ranks.first(cut));
    place(nodes.subspan(cut), ranks.subspan(cut));
  }

  const Graph& graph_;
  const net::GroupView& view_;
  std::vector<std::vector<int>> coordinates_;
  std::vector<std::size_t> first_message_;  // of each node; they are ordered by sender
  std::vector<int> node_order_;
  std::vector<int> part_;  // by node
  int n_parts_ = 1;
};

}  // namespace

std::vector<Mapping> blocks(const Graph& graph, const net::GroupView& view) {
  if (graph.dims.size() < 2) return {};
  Blocks blocks(graph, view);
  std::vector<Mapping> proposals;
  for (const std::vector<int>& ranks : rank_orders(view)) proposals.push_back(blocks.on(ranks));
  return proposals;
}

}  // namespace eco::map
