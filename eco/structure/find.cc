#include "eco/structure/find.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "eco/base/quantile.h"
#include "eco/structure/capacities.h"
#include "eco/structure/placing.h"
#include "eco/structure/rate_levels.h"
#include "eco/structure/sampler.h"
#include "eco/structure/streams.h"

namespace eco::structure {
namespace {

using net::Level;
using net::Tree;

constexpr int kChecks = 6;
// Of the resolution: what a check must see of a link to agree that it is there.
constexpr double kAgrees = 0.6;

// Hosts of a branch that speak for it, the nearest to the node.
constexpr std::size_t kNear = 3;

struct Reach {
  int host;
  double way_s;
};

class Builder {
 public:
  Builder(LatencyTree from, Sampler& sampler)
      : from_(std::move(from)), sampler_(sampler), checked_(from_.nodes.size()) {}

  Tree run() {
    while (dissolve_worst()) {
    }
    add(from_.root, -1);
    return std::move(tree_);
  }

  // What is left of the tree of latencies then.
  LatencyTree latencies() && { return std::move(from_); }

 private:
  using Branches = std::vector<std::vector<Reach>>;

  bool is_leaf(int node) const { return from_.nodes[node].host >= 0; }

  std::vector<Reach> reach(int node, double way_s) const {
    if (is_leaf(node)) return {{from_.nodes[node].host, way_s}};
    std::vector<Reach> hosts;
    for (const int child : from_.nodes[node].children) {
      const std::vector<Reach> below = reach(child, way_s + from_.nodes[child].arm_s);
      hosts.insert(hosts.end(), below.begin(), below.end());
    }
    nearest(hosts);
    return hosts;
  }

  static void nearest(std::vector<Reach>& hosts) {
    std::stable_sort(hosts.begin(), hosts.end(),
                     [](const Reach& x, const Reach& y) { return x.way_s < y.way_s; });
    if (hosts.size() > kNear) hosts.resize(kNear);
  }

  // What hangs on a node, but not on `without`, nearest first.
  Branches branches(int node, int without) const {
    Branches all;
    for (const int child : from_.nodes[node].children) {
      if (child != without) all.push_back(reach(child, from_.nodes[child].arm_s));
    }
    const int parent = from_.nodes[node].parent;
    if (parent >= 0 && without != parent) {
      std::vector<Reach> above;
      for (std::vector<Reach>& branch : branches(parent, node)) {
        above.insert(above.end(), branch.begin(), branch.end());
      }
      for (Reach& host : above) host.way_s += from_.nodes[node].arm_s;
      nearest(above);
      if (!above.empty()) all.push_back(std::move(above));
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const auto& x, const auto& y) { return x[0].way_s < y[0].way_s; });
    return all;
  }

  // What lies beyond a node's link to its parent.
  Branches outside(int node) const {
    const int parent = from_.nodes[node].parent;
    Branches all = branches(parent, node);
    // A root of two is a place on a link: what lies beyond hangs on its other child.
    if (all.size() == 1 && parent == from_.root) {
      for (const int other : from_.nodes[parent].children) {
        if (other != node && !is_leaf(other)) return branches(other, parent);
      }
    }
    return all;
  }

  struct Checked {
    int n = 0;
    int agree = 0;
    double share = 0;     // median of what the link is of the way across it and back
    double expected = 0;  // the same by the tree
    bool is_noisy = false;
    // Most deny it; or, where times scatter, some do.
    bool is_denied() const { return n > 0 && (2 * agree <= n || (is_noisy && agree < net::kSure * n)); }
  };

  // Two hosts below a node and two beyond its link.
  struct Quartet {
    int x;
    int y;
    int k;
    int l;
  };
  struct Check {
    int node;
    Branches below;
    Branches beyond;
    std::vector<Quartet> quartets;  // none where nothing can be said of the link
  };

  Check check_of(int node) const {
    Check check{node, branches(node, from_.nodes[node].parent), outside(node), {}};
    const Branches& below = check.below;
    const Branches& beyond = check.beyond;
    if (below.size() < 2 || beyond.size() < 2) return check;
    for (int i = 0; i < kChecks; ++i) {
      // The nearest branches: against the errors of far ones a link is nothing.
      const auto pick = [i](const std::vector<Reach>& branch, int stride) {
        return branch[static_cast<std::size_t>(i / stride) % branch.size()].host;
      };
      check.quartets.push_back(
          {pick(below[0], 1), pick(below[1], 2), pick(beyond[0], 1), pick(beyond[1], 2)});
    }
    return check;
  }

  Checked judged(const Check& check) const {
    const auto& [node, below, beyond, quartets] = check;
    Checked checked;
    if (quartets.empty()) return checked;
    std::vector<double> shares;
    for (const auto& [x, y, k, l] : quartets) {
      const double inside = sampler_.latency_s(x, y) + sampler_.latency_s(k, l);
      const double one = sampler_.latency_s(x, k) + sampler_.latency_s(y, l);
      const double other = sampler_.latency_s(x, l) + sampler_.latency_s(y, k);
      const double farthest = std::max({sampler_.latency_s(x, k), sampler_.latency_s(y, l), inside / 2});
      shares.push_back((std::min(one, other) - inside) / farthest);
      const double resolution = kErrorsOfALink * sampler_.error_s(farthest) / farthest;
      checked.is_noisy |= sampler_.is_noisy(farthest);
      checked.agree += shares.back() >= kAgrees * resolution ? 1 : 0;
    }
    std::sort(shares.begin(), shares.end());
    checked.n = kChecks;
    checked.share = base::quantile(shares, 0.5);
    const double link_s = from_.nodes[node].arm_s;
    const auto way_s = [](const Branches& all, std::size_t i) { return all[i][0].way_s; };
    const double across =
        link_s + std::max(way_s(below, 0) + way_s(beyond, 1), way_s(below, 1) + way_s(beyond, 0));
    checked.expected = 2 * link_s / across;
    return checked;
  }

  bool may_dissolve(int node) const { return node != from_.root && !from_.nodes[node].children.empty(); }

  // Whatever is not checked yet: their pairs are measured together.
  void check_the_rest() {
    std::vector<Check> checks;
    std::vector<Pair> lone;  // what two single hosts are to each other rests on one pair
    std::vector<Pair> pairs;
    for (int node = 0; node < static_cast<int>(from_.nodes.size()); ++node) {
      if (!may_dissolve(node) || checked_[node]) continue;
      checks.push_back(check_of(node));
      const Branches& below = checks.back().below;
      if (checks.back().quartets.empty()) continue;
      if (below.size() == 2 && below[0].size() == 1 && below[1].size() == 1)
        lone.push_back({below[0][0].host, below[1][0].host});
      for (const auto& [x, y, k, l] : checks.back().quartets)
        pairs.insert(pairs.end(), {{x, y}, {k, l}, {x, k}, {y, l}, {x, l}, {y, k}});
    }
    sampler_.want(lone);
    sampler_.measure_again(lone);
    sampler_.want(pairs);
    for (const Check& check : checks) checked_[check.node] = judged(check);
  }

  // Of the nodes whose link most checks deny the one with the least of a link: what hangs on it hangs on its parent from then
  // on. Where two links meet that only farther hosts part, each hides the other; once one is gone, the other may be seen.
  bool dissolve_worst() {
    check_the_rest();
    int worst = -1;
    for (int node = 0; node < static_cast<int>(from_.nodes.size()); ++node) {
      if (!may_dissolve(node) || !checked_[node]->is_denied()) continue;
      if (worst < 0 || checked_[node]->expected < checked_[worst]->expected) worst = node;
    }
    if (worst < 0) return false;
    const int parent = from_.nodes[worst].parent;
    from_.dissolve(worst);
    checked_[parent].reset();
    for (const int child : from_.nodes[parent].children) checked_[child].reset();
    return true;
  }

  int add(int node, int parent) {
    const int number = static_cast<int>(tree_.levels.size());
    tree_.levels.emplace_back();
    tree_.levels[number].parent = parent;
    tree_.levels[number].uplink_latency_s = from_.nodes[node].arm_s;
    if (parent >= 0) tree_.levels[parent].children.push_back(number);
    hang_children(node, number);
    Level& level = tree_.levels[number];
    std::sort(level.hosts.begin(), level.hosts.end());
    const Branches all = branches(node, from_.nodes[node].parent);
    if (all.size() > 1) level.latency_s = all[0][0].way_s + all[1][0].way_s;
    return number;
  }

  void hang_children(int node, int number) {
    for (const int child : from_.nodes[node].children) {
      if (is_leaf(child)) {
        tree_.levels[number].hosts.push_back(from_.nodes[child].host);
        continue;
      }
      const Checked& checked = *checked_[child];
      const int below = add(child, number);
      tree_.levels[below].confidence = checked.n == 0 ? 1 : static_cast<double>(checked.agree) / checked.n;
      tree_.levels[below].evidence =
          checked.n == 0 ? ""
                         : "its link is " + std::to_string(std::lround(100 * checked.share)) +
                               " % of the way across and back, " + std::to_string(checked.agree) + " of " +
                               std::to_string(checked.n) + " checks";
    }
  }

  LatencyTree from_;
  Sampler& sampler_;
  std::vector<std::optional<Checked>> checked_;  // by node
  Tree tree_;
};

// Of several fast groups with slow ways between them all but one have links of their own; the last may hang on the level
// itself. Its hosts then have no uplink that holds them up, and their medium is the level's.
void dissolve_idle_rate_levels(Tree& tree, std::size_t by_latency) {
  for (std::size_t number = tree.levels.size(); number-- > by_latency;) {
    if (tree.levels[number].uplink_bytes_per_s) continue;
    const Level gone = tree.levels[number];
    tree.dissolve(static_cast<int>(number));
    Level& parent = tree.levels[gone.parent];
    if (gone.hosts.size() > 1) {
      parent.kind = gone.kind;
      parent.bytes_per_s = gone.bytes_per_s;
    } else if (!gone.hosts.empty()) {
      parent.kind = parent.hosts.size() == 1 ? net::SubnetKind::lone : net::SubnetKind::unknown;
    }
  }
}

// What latencies say: levels, and how far any two hosts are from each other.
struct ByLatency {
  net::Tree levels;
  LatencyTree ways;
};

ByLatency levels_by_latency(Probe& probe, Sampler& sampler, unsigned long seed) {
  ByLatency found;
  if (probe.n_hosts() < 2) {
    found.levels.levels.emplace_back();
    if (probe.n_hosts() == 1) found.levels.levels[0].hosts = {0};
    return found;
  }
  Builder builder(place_hosts(sampler, probe.n_hosts(), seed), sampler);
  found.levels = builder.run();
  found.ways = std::move(builder).latencies();
  return found;
}

// Local, of the tree.
Latency latency_by(const LatencyTree& tree) {
  std::map<int, int> leaf_of;  // by host
  for (std::size_t node = 0; node < tree.nodes.size(); ++node) {
    if (tree.nodes[node].host >= 0) leaf_of[tree.nodes[node].host] = static_cast<int>(node);
  }
  return [&tree, leaf_of](int a, int b) { return tree.way_s(leaf_of.at(a), leaf_of.at(b)); };
}

void finish(Found& found, const Sampler& sampler) {
  found.tree.put_parents_first();
  found.pairs = sampler.n_pairs();
  found.in_parallel = sampler.in_parallel();
}

}  // namespace

Found find_latency_levels(Probe& probe, unsigned long seed) {
  Sampler sampler(probe);
  Found found;
  found.tree = levels_by_latency(probe, sampler, seed).levels;
  finish(found, sampler);
  return found;
}

Found find_structure(Probe& probe, unsigned long seed) {
  Sampler sampler(probe);
  ByLatency by = levels_by_latency(probe, sampler, seed);
  Found found;
  found.tree = std::move(by.levels);
  if (probe.n_hosts() < 2) return found;
  Streams streams(probe, latency_by(by.ways));
  const std::size_t by_latency = found.tree.levels.size();
  find_rate_levels(found.tree, streams);
  find_shared(found.tree, streams);
  dissolve_idle_rate_levels(found.tree, by_latency);
  finish(found, sampler);
  return found;
}

}  // namespace eco::structure
