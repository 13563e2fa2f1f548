#include "eco/algo/patterns/edges.h"

#include <algorithm>
#include <iterator>
#include <tuple>

namespace eco::algo {
namespace {

using coll::Neighborhood;

// What orders the edges between two ranks alike for both: the place at the one who sends.
struct Ordered {
  int distance;
  int slot_of_sender;
  Edge edge;
};

std::vector<Edge> in_order(std::vector<Ordered> edges) {
  std::sort(edges.begin(), edges.end(), [](const Ordered& a, const Ordered& b) {
    return std::tie(a.distance, a.slot_of_sender) < std::tie(b.distance, b.slot_of_sender);
  });
  std::vector<Edge> result;
  for (const Ordered& each : edges) result.push_back(each.edge);
  return result;
}

// The members alone, as a group of subnets that have some.
net::GroupView part_of(const net::GroupView& view, const std::vector<int>& members) {
  net::GroupView part;
  part.network = view.network;
  part.host_of_rank = view.host_of_rank;
  part.subnet_of_rank.assign(view.subnet_of_rank.size(), -1);
  for (const net::SubnetView& subnet : view.subnets) {
    net::SubnetView here{{}, subnet.kind};
    std::copy_if(subnet.ranks.begin(), subnet.ranks.end(), std::back_inserter(here.ranks),
                 [&](int rank) { return std::binary_search(members.begin(), members.end(), rank); });
    if (here.ranks.empty()) continue;
    for (const int rank : here.ranks) part.subnet_of_rank[static_cast<std::size_t>(rank)] = part.n_subnets();
    part.subnets.push_back(std::move(here));
  }
  return part;
}

}  // namespace

std::vector<Edge> edges_out(const Neighborhood& graph, int rank) {
  std::vector<Ordered> edges;
  const std::vector<int>& targets = graph.targets_of(rank);
  const int n = graph.n_ranks();
  for (std::size_t slot = 0; slot < targets.size(); ++slot) {
    const int to = targets[slot];
    if (to == Neighborhood::kNobody || to == rank) continue;
    edges.push_back({(to - rank + n) % n, static_cast<int>(slot), {to, slot}});
  }
  return in_order(std::move(edges));
}

std::vector<Edge> edges_in(const Neighborhood& graph, int rank) {
  std::vector<Ordered> edges;
  const std::vector<Neighborhood::Incoming>& sources = graph.sources_of(rank);
  const int n = graph.n_ranks();
  for (std::size_t place = 0; place < sources.size(); ++place) {
    const int from = sources[place].rank;
    if (from == Neighborhood::kNobody || from == rank) continue;
    edges.push_back({(rank - from + n) % n, sources[place].slot, {from, place}});
  }
  return in_order(std::move(edges));
}

std::vector<SelfEdge> self_edges(const Neighborhood& graph, int rank) {
  std::vector<SelfEdge> edges;
  const std::vector<Neighborhood::Incoming>& sources = graph.sources_of(rank);
  for (std::size_t place = 0; place < sources.size(); ++place) {
    if (sources[place].rank == rank) edges.push_back({static_cast<std::size_t>(sources[place].slot), place});
  }
  return edges;
}

Tree tree_of_told(Pattern pattern, const net::GroupView& view, const Neighborhood& graph, int owner,
                  const Params& params) {
  std::vector<int> members = graph.others_told_by(owner);
  members.insert(std::lower_bound(members.begin(), members.end(), owner), owner);
  if (pattern != Pattern::subnets) {
    std::rotate(members.begin(), std::lower_bound(members.begin(), members.end(), owner), members.end());
    return shape_tree(shape_of(pattern), members, graph.n_ranks(), params.degree);
  }
  // Lists of a recipe name the subnets and ranks of the whole.
  Params own = params;
  for (auto list : {&Params::order, &Params::tree, &Params::first}) (own.*list).clear();
  return subnet_tree(part_of(view, members), owner, own, owner);
}

}  // namespace eco::algo
