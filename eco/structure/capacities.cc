#include "eco/structure/capacities.h"

#include <algorithm>
#include <numeric>

namespace eco::structure {
namespace {

using net::SubnetKind;

// A flow that n flows on one medium slow n-fold is halfway there at (1 + n) / 2; below 1.3 nothing was shared.
constexpr double kUndisturbed = 1.3;
// An uplink is what limits if the two sides could send more than its throughput by this.
constexpr double kLimits = 0.87;
// Both directions together carry twice as much if they do not share.
constexpr double kBothWays = 1.4;

std::vector<Pair> medium_flows(const std::vector<int>& h) {
  if (h.size() >= 4) return {{h[0], h[1]}, {h[2], h[3]}};
  if (h.size() == 3) return {{h[0], h[1]}, {h[1], h[2]}, {h[2], h[0]}};
  if (h.size() == 2) return {{h[0], h[1]}, {h[1], h[0]}};
  return {};
}

SubnetKind kind_of(double slower, std::size_t n_flows) {
  if (slower >= (1 + static_cast<double>(n_flows)) / 2) return SubnetKind::bus;
  return slower <= kUndisturbed ? SubnetKind::switched : SubnetKind::unknown;
}

// A level's own hosts and medium are no other's: all at once.
void find_kinds(Tree& tree, Streams& streams) {
  std::vector<std::vector<Pair>> flows;
  std::size_t most = 0;
  for (Level& level : tree.levels) {
    flows.push_back(medium_flows(level.hosts));
    most = std::max(most, flows.back().size());
    if (level.hosts.size() == 1) level.kind = SubnetKind::lone;
  }
  std::vector<std::vector<double>> alone(flows.size());
  for (std::size_t i = 0; i < most; ++i) {
    std::vector<Pair> now;
    for (const auto& of_level : flows) {
      if (i < of_level.size()) now.push_back(of_level[i]);
    }
    const std::vector<double> rates = streams.rates(now);
    std::size_t next = 0;
    for (std::size_t l = 0; l < flows.size(); ++l) {
      if (i < flows[l].size()) alone[l].push_back(rates[next++]);
    }
  }
  std::vector<Pair> all;
  for (const auto& of_level : flows) all.insert(all.end(), of_level.begin(), of_level.end());
  if (all.empty()) return;
  const std::vector<double> together = streams.rates(all);
  std::size_t next = 0;
  for (std::size_t l = 0; l < flows.size(); ++l) {
    if (flows[l].empty()) continue;
    double slower = 0;
    for (const double rate : alone[l]) slower = std::max(slower, rate / together[next++]);
    tree.levels[l].kind = kind_of(slower, flows[l].size());
  }
}

// Hosts in turn from every branch: the first so many of them are spread over all.
std::vector<int> spread(const std::vector<std::vector<int>>& branches) {
  std::vector<int> hosts;
  for (std::size_t i = 0, n = 1; n > 0; ++i) {
    n = 0;
    for (const auto& branch : branches) {
      if (i >= branch.size()) continue;
      hosts.push_back(branch[i]);
      ++n;
    }
  }
  return hosts;
}

std::vector<int> spread_below(const Tree& tree, int level) {
  std::vector<std::vector<int>> branches;
  for (const int host : tree.levels[level].hosts) branches.push_back({host});
  for (const int child : tree.levels[level].children) branches.push_back(spread_below(tree, child));
  return spread(branches);
}

// Those beside the level first, then those beside its parent, and so on.
std::vector<int> spread_outside(const Tree& tree, int level) {
  std::vector<int> hosts;
  for (int at = level; tree.levels[at].parent >= 0; at = tree.levels[at].parent) {
    const Level& parent = tree.levels[tree.levels[at].parent];
    std::vector<std::vector<int>> branches;
    for (const int host : parent.hosts) branches.push_back({host});
    for (const int child : parent.children) {
      if (child != at) branches.push_back(spread_below(tree, child));
    }
    const std::vector<int> next = spread(branches);
    hosts.insert(hosts.end(), next.begin(), next.end());
  }
  return hosts;
}

double total(const std::vector<double>& rates) { return std::accumulate(rates.begin(), rates.end(), 0.0); }

struct Throughput {
  std::vector<Pair> flows;
  double bytes_per_s = 0;
};

// What a level's own hosts can send: each sends to its neighbour in a ring, on all levels at once, and has what the faster
// of its two flows says of its port; hosts of a bus together no more than one of them alone.
std::vector<double> own_supplies(const Tree& tree, Streams& streams) {
  std::vector<Pair> flows;
  for (const Level& level : tree.levels) {
    const std::size_t n = level.hosts.size();
    for (std::size_t i = 0; n > 1 && i < n; ++i) flows.push_back({level.hosts[i], level.hosts[(i + 1) % n]});
  }
  const std::vector<double> rates = flows.empty() ? std::vector<double>() : streams.rates(flows);
  std::vector<double> supplies;
  std::size_t first = 0;
  for (const Level& level : tree.levels) {
    const std::size_t n = level.hosts.size();
    double supply = n == 1 || level.kind == SubnetKind::bus ? level.bytes_per_s : 0;
    for (std::size_t i = 0; n > 1 && i < n && level.kind != SubnetKind::bus; ++i) {
      supply += std::max(rates[first + i], rates[first + (i + n - 1) % n]);
    }
    if (n > 1) first += n;
    supplies.push_back(supply);
  }
  return supplies;
}

class Uplinks {
 public:
  Uplinks(Tree& tree, Streams& streams)
      : tree_(tree), streams_(streams), own_(own_supplies(tree, streams)), throughput_(tree.levels.size()) {}

  void run() {
    for (int level = 1; level < n_levels(); ++level) measure(level);
    for (int level = 1; level < n_levels(); ++level) judge(level);
  }

 private:
  int n_levels() const { return static_cast<int>(tree_.levels.size()); }

  void measure(int level) {
    const std::vector<int> inside = spread_below(tree_, level);
    const std::vector<int> outside = spread_outside(tree_, level);
    Throughput& throughput = throughput_[level];
    for (std::size_t i = 0; i < std::min(inside.size(), outside.size()); ++i) {
      throughput.flows.push_back({inside[i], outside[i]});
    }
    throughput.bytes_per_s = total(streams_.rates(throughput.flows));
  }

  double supply_below(int level) const {
    double supply = own_[level];
    for (const int child : tree_.levels[level].children) supply += throughput_[child].bytes_per_s;
    return supply;
  }

  double supply_outside(int level) const {
    const int parent = tree_.levels[level].parent;
    double supply = own_[parent];
    for (const int child : tree_.levels[parent].children) {
      if (child != level) supply += throughput_[child].bytes_per_s;
    }
    return parent == 0 ? supply : supply + throughput_[parent].bytes_per_s;
  }

  void judge(int number) {
    Level& level = tree_.levels[number];
    const double capacity = throughput_[number].bytes_per_s;
    const double below = supply_below(number);
    if (capacity >= kLimits * std::min(below, supply_outside(number))) return;
    level.uplink_bytes_per_s = capacity;
    level.oversubscription = below / capacity;
    std::vector<Pair> both = throughput_[number].flows;
    for (const Pair& flow : throughput_[number].flows) both.push_back({flow.to, flow.from});
    level.half_duplex = total(streams_.rates(both)) < kBothWays * capacity;
  }

  Tree& tree_;
  Streams& streams_;
  std::vector<double> own_;
  std::vector<Throughput> throughput_;
};

}  // namespace

void find_shared(Tree& tree, Streams& streams) {
  find_kinds(tree, streams);
  Uplinks(tree, streams).run();
}

}  // namespace eco::structure
