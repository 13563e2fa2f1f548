#include "eco/structure/visible.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "eco/net/tree.h"
#include "eco/structure/grouping.h"

namespace eco::structure {
namespace {

using net::without_first;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The true tree without a root: hosts 0 .. n-1, then levels. Links join two nodes.
struct Edge {
  int a;
  int b;
  double latency_s;
  double bytes_per_s;
  bool half_duplex;
  int n_links = 1;
  bool is_open = true;
};

class Unrooted {
 public:
  explicit Unrooted(const TrueNetwork& network)
      : network_(network),
        n_hosts_(network.n_hosts()),
        n_nodes_(n_hosts_ + static_cast<int>(network.levels.size())) {
    for (int host = 0; host < n_hosts_; ++host) {
      const TrueHost& of_host = network.hosts[host];
      edges_.push_back(
          {host, n_hosts_ + of_host.level, of_host.port.latency_s, of_host.port.bytes_per_s, false});
    }
    for (int level = 1; level < static_cast<int>(network.levels.size()); ++level) {
      const TrueLevel& of_level = network.levels[level];
      edges_.push_back({n_hosts_ + level, n_hosts_ + of_level.parent, of_level.up.latency_s,
                        of_level.up.bytes_per_s, of_level.up.half_duplex});
    }
    link();
    join_links_in_a_row();
  }

  std::vector<TrueSplit> splits() {
    std::vector<TrueSplit> found;
    for (;;) {
      // The one that shows least first: what it joins becomes one node, and others are judged with that.
      std::size_t worst = edges_.size();
      double least = kResolution;
      for (std::size_t e = 0; e < edges_.size(); ++e) {
        if (!is_inner(e)) continue;
        const double share = share_of(e);
        if (share < least && !is_seen_by_rate(e)) {
          least = share;
          worst = e;
        }
      }
      if (worst == edges_.size()) break;
      TrueSplit merged = describe(worst);
      merged.seen_by = merged.bytes_per_s < merged.could_carry ? SeenBy::sharing : SeenBy::nothing;
      found.push_back(std::move(merged));
      merge(worst);
    }
    for (std::size_t e = 0; e < edges_.size(); ++e) {
      if (!is_inner(e)) continue;
      TrueSplit seen = describe(e);
      seen.seen_by = seen.share >= kResolution ? SeenBy::latency : SeenBy::rate;
      found.push_back(std::move(seen));
    }
    return found;
  }

  int node_of(int host) const {
    const Edge& port = edges_[edges_of_[host].front()];
    return port.a == host ? port.b : port.a;
  }

 private:
  void link() {
    edges_of_.assign(n_nodes_, {});
    for (std::size_t e = 0; e < edges_.size(); ++e) {
      if (!edges_[e].is_open) continue;
      edges_of_[edges_[e].a].push_back(e);
      edges_of_[edges_[e].b].push_back(e);
    }
  }

  bool is_inner(std::size_t e) const {
    return edges_[e].is_open && edges_[e].a >= n_hosts_ && edges_[e].b >= n_hosts_;
  }
  int other(std::size_t e, int node) const { return edges_[e].a == node ? edges_[e].b : edges_[e].a; }

  void join_links_in_a_row() {
    for (int node = n_hosts_; node < n_nodes_; ++node) {
      if (edges_of_[node].size() != 2) continue;
      Edge& kept = edges_[edges_of_[node][0]];
      Edge& gone = edges_[edges_of_[node][1]];
      const int end = other(edges_of_[node][1], node);
      (kept.a == node ? kept.a : kept.b) = end;
      kept.latency_s += gone.latency_s;
      if (gone.bytes_per_s < kept.bytes_per_s) kept.half_duplex = gone.half_duplex;
      kept.bytes_per_s = std::min({kept.bytes_per_s, gone.bytes_per_s, medium(node)});
      kept.n_links += gone.n_links;
      gone.is_open = false;
      link();
    }
  }

  void merge(std::size_t e) {
    const auto [a, b] = std::pair(edges_[e].a, edges_[e].b);
    edges_[e].is_open = false;
    for (Edge& edge : edges_) {
      if (edge.a == b) edge.a = a;
      if (edge.b == b) edge.b = a;
    }
    link();
  }

  double medium(int node) const {
    if (node < n_hosts_) return kInfinity;
    const double bus = network_.levels[node - n_hosts_].bus_bytes_per_s;
    return bus > 0 ? bus : kInfinity;
  }

  // Over all hosts beyond an edge, coming from `node`.
  double nearest(std::size_t e, int node) const {
    const int next = other(e, node);
    if (next < n_hosts_) return edges_[e].latency_s;
    double least = kInfinity;
    for (const std::size_t further : edges_of_[next]) {
      if (further != e) least = std::min(least, nearest(further, next));
    }
    return edges_[e].latency_s + least;
  }
  double fastest(std::size_t e, int node) const {
    const int next = other(e, node);
    if (next < n_hosts_) return edges_[e].bytes_per_s;
    double most = 0;
    for (const std::size_t further : edges_of_[next]) {
      if (further != e) most = std::max(most, fastest(further, next));
    }
    return std::min({edges_[e].bytes_per_s, medium(next), most});
  }
  double supply(std::size_t e, int node) const {
    const int next = other(e, node);
    if (next < n_hosts_) return edges_[e].bytes_per_s;
    return std::min(edges_[e].bytes_per_s, supply_at(next, e));
  }
  double supply_at(int node, std::size_t without) const {
    double all = 0;
    for (const std::size_t e : edges_of_[node]) {
      if (e != without) all += supply(e, node);
    }
    return std::min(all, medium(node));
  }

  // The two least of what lies beyond the edges of a node.
  std::pair<double, double> two_nearest(int node, std::size_t without) const {
    double first = kInfinity;
    double second = kInfinity;
    for (const std::size_t e : edges_of_[node]) {
      if (e == without) continue;
      const double way = nearest(e, node);
      second = std::min(second, std::max(first, way));
      first = std::min(first, way);
    }
    return {first, second};
  }

  double share_of(std::size_t e) const {
    const auto [a1, a2] = two_nearest(edges_[e].a, e);
    const auto [b1, b2] = two_nearest(edges_[e].b, e);
    const double across = edges_[e].latency_s + std::max(a1 + b2, a2 + b1);
    return 2 * edges_[e].latency_s / std::max({across, (a1 + a2 + b1 + b2) / 2});
  }

  // The two fastest of what lies beyond the edges of a node, as a pair would see them that meets there.
  double fastest_pair_at(int node, std::size_t without) const {
    double first = 0;
    double second = 0;
    for (const std::size_t e : edges_of_[node]) {
      if (e == without) continue;
      const double rate = fastest(e, node);
      second = std::max(second, std::min(first, rate));
      first = std::max(first, rate);
    }
    return std::min(second, medium(node));
  }
  double fastest_pair_beyond(int node, std::size_t without) const {
    if (node < n_hosts_) return 0;
    double most = fastest_pair_at(node, without);
    for (const std::size_t e : edges_of_[node]) {
      if (e != without) most = std::max(most, fastest_pair_beyond(other(e, node), e));
    }
    return most;
  }

  double fastest_at(int node, std::size_t without) const {
    double most = 0;
    for (const std::size_t e : edges_of_[node]) {
      if (e != without) most = std::max(most, fastest(e, node));
    }
    return std::min(most, medium(node));
  }

  // Those that meet at one end, and some that meet anywhere beyond the other; of a link that limits a pair.
  bool is_seen_by_rate(std::size_t e) const {
    const double rate = edges_[e].bytes_per_s;
    const double wanted = kFasterThanLink * rate;
    const auto is_seen_from = [&](int near, int far) {
      return fastest_pair_at(near, e) >= wanted && fastest_pair_beyond(far, e) >= wanted &&
             fastest_at(far, e) >= rate;
    };
    return is_seen_from(edges_[e].a, edges_[e].b) || is_seen_from(edges_[e].b, edges_[e].a);
  }

  void collect(int node, std::size_t from, std::vector<int>& hosts) const {
    if (node < n_hosts_) {
      hosts.push_back(node);
      return;
    }
    for (const std::size_t e : edges_of_[node]) {
      if (e != from) collect(other(e, node), e, hosts);
    }
  }

  TrueSplit describe(std::size_t e) const {
    std::vector<int> side;
    collect(edges_[e].a, e, side);
    std::sort(side.begin(), side.end());
    TrueSplit split;
    split.side = without_first(side, n_hosts_);
    split.share = share_of(e);
    split.bytes_per_s = edges_[e].bytes_per_s;
    split.could_carry = std::min(supply_at(edges_[e].a, e), supply_at(edges_[e].b, e));
    split.half_duplex = edges_[e].half_duplex;
    split.n_links = edges_[e].n_links;
    return split;
  }

  const TrueNetwork& network_;
  int n_hosts_;
  int n_nodes_;
  std::vector<Edge> edges_;
  std::vector<std::vector<std::size_t>> edges_of_;
};

}  // namespace

std::vector<TrueSplit> true_splits(const TrueNetwork& network) { return Unrooted(network).splits(); }

std::vector<int> visible_groups(const TrueNetwork& network) {
  Unrooted tree(network);
  tree.splits();  // merges
  std::vector<int> groups;
  for (int host = 0; host < network.n_hosts(); ++host) groups.push_back(tree.node_of(host));
  return groups;
}

}  // namespace eco::structure
