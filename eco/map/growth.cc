// Ranks are filled in their order, each with the free node that talks most with the nodes on its host; of equal ones that
// which talks most with its subnet's, then with any that are placed. Where none talks with anything, the one with fewest
// to talk with: a corner of the graph, from which it is filled without leaving holes. Who talks with nobody comes last.
#include <array>
#include <cstddef>

#include "eco/map/strategies.h"

namespace eco::map {
namespace {

struct Arc {
  int to;
  double weight;
};

class Growth {
 public:
  Growth(const Graph& graph, const net::GroupView& view) : graph_(graph), view_(view) {
    arcs_.resize(static_cast<std::size_t>(graph.n_nodes));
    for (const Message& message : graph.messages) {
      arcs_[static_cast<std::size_t>(message.from)].push_back({message.to, message.weight});
      arcs_[static_cast<std::size_t>(message.to)].push_back({message.from, message.weight});
    }
  }

  Mapping on(const std::vector<int>& rank_order) {
    const auto n = static_cast<std::size_t>(graph_.n_nodes);
    talk_.assign(n, Talk{});
    std::vector<bool> placed(n, false);
    std::vector<int> node_order;
    int host = -1;
    int subnet = -1;
    for (std::size_t i = 0; i < n; ++i) {
      const auto rank = static_cast<std::size_t>(rank_order[i]);
      if (view_.subnet_of_rank[rank] != subnet) forget(kSubnet);
      if (view_.host_of_rank[rank] != host) forget(kHost);
      subnet = view_.subnet_of_rank[rank];
      host = view_.host_of_rank[rank];
      const std::size_t next = choose(placed);
      placed[next] = true;
      node_order.push_back(static_cast<int>(next));
      for (const Arc& arc : arcs_[next]) {
        for (double& talk : talk_[static_cast<std::size_t>(arc.to)]) talk += arc.weight;
      }
    }
    return fill(view_, node_order, rank_order);
  }

 private:
  enum Place : std::size_t { kHost, kSubnet, kAnywhere };
  using Talk = std::array<double, 3>;  // with nodes that are placed, by Place; compared in this order

  void forget(Place place) {
    for (Talk& talk : talk_) talk[place] = 0;
  }

  // Nobody is the most there is: it wraps around.
  std::size_t reach(std::size_t node) const { return arcs_[node].size() - 1; }

  std::size_t choose(const std::vector<bool>& placed) const {
    std::size_t best = placed.size();
    for (std::size_t node = 0; node < placed.size(); ++node) {
      if (placed[node]) continue;
      if (best == placed.size() || talk_[node] > talk_[best] ||
          (talk_[node] == talk_[best] && reach(node) < reach(best))) {
        best = node;
      }
    }
    return best;
  }

  const Graph& graph_;
  const net::GroupView& view_;
  std::vector<std::vector<Arc>> arcs_;
  std::vector<Talk> talk_;
};

// Choosing looks at all nodes for each: of more the other strategies have to do.
constexpr int kMostGrown = 8192;

}  // namespace

std::vector<Mapping> growth(const Graph& graph, const net::GroupView& view) {
  if (graph.n_nodes > kMostGrown) return {};
  Growth growth(graph, view);
  std::vector<Mapping> proposals;
  for (const std::vector<int>& ranks : rank_orders(view)) proposals.push_back(growth.on(ranks));
  return proposals;
}

}  // namespace eco::map
