#include "eco/structure/grouping.h"

#include <algorithm>
#include <limits>

#include "eco/base/quantile.h"

namespace eco::structure {
namespace {

// Hosts that are this many times as far as a pair's own way are far from it.
constexpr double kFar = 4;
// Of fewer far ones than this each counts.
constexpr int kFewFar = 3;
// Arms follow from the nearest others of a group; more of them say nothing new.
constexpr std::size_t kNearest = 8;

class Grouping {
 public:
  Grouping(const std::vector<int>& hosts, const Latency& latency, const Error& error)
      : size_(2 * hosts.size() + 2), error_of_(error) {
    distance_.assign(size_ * size_, 0);
    across_.assign(size_ * size_, 0);
    error_.assign(size_ * size_, 0);
    for (const int host : hosts) {
      TreeNode leaf;
      leaf.host = host;
      active_.push_back(add(leaf));
    }
    for (const int a : active_) {
      for (const int b : active_) {
        if (a >= b) continue;
        const double latency_s = std::max(0.0, latency(tree_.nodes[a].host, tree_.nodes[b].host));
        set(a, b, latency_s, latency_s);
      }
    }
  }

  LatencyTree run() {
    if (active_.size() == 1) {
      TreeNode root;
      root.children = {active_.front()};
      tree_.root = add(root);
      tree_.nodes[active_.front()].parent = tree_.root;
      return std::move(tree_);
    }
    while (active_.size() > 2) {
      const std::vector<std::vector<int>> groups = sibling_groups();
      if (groups.front().size() == active_.size()) {
        tree_.root = join(groups.front());
        return std::move(tree_);
      }
      for (const std::vector<int>& group : groups) {
        if (group.size() > 1) join(group);
      }
    }
    join_last();
    return std::move(tree_);
  }

 private:
  struct Candidate {
    double distance;
    double objection;
    int a;
    int b;
  };

  int add(TreeNode node) {
    tree_.nodes.push_back(std::move(node));
    return static_cast<int>(tree_.nodes.size()) - 1;
  }
  std::size_t at(int a, int b) const {
    return static_cast<std::size_t>(a) * size_ + static_cast<std::size_t>(b);
  }
  void set(int a, int b, double distance, double across) {
    distance_[at(a, b)] = distance_[at(b, a)] = distance;
    across_[at(a, b)] = across_[at(b, a)] = across;
    error_[at(a, b)] = error_[at(b, a)] = error_of_(across);
  }
  double d(int a, int b) const { return distance_[at(a, b)]; }
  double error(int a, int b) const { return error_[at(a, b)]; }
  bool is_seen(double there_and_back_s, double across) const {
    return there_and_back_s >= kErrorsOfALink * error_of_(across);
  }

  // By how much the others contradict that x and y hang on one node; at most 0 if nobody does. One wrong latency to a far host
  // would hide every near neighbour, so of several far ones the most extreme on each side counts only if another is as extreme.
  double objection(int x, int y) const {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    double lowest = kInfinity;
    double highest = -kInfinity;
    double far_lowest = kInfinity;
    double far_highest = -kInfinity;
    int n_far = 0;
    const double far = kFar * across_[at(x, y)];
    for (const int k : active_) {
      if (k == x || k == y) continue;
      const double difference = d(x, k) - d(y, k);
      const double tolerance = error(x, k) + error(y, k);
      double low = difference + tolerance;
      double high = difference - tolerance;
      if (std::min(across_[at(x, k)], across_[at(y, k)]) > far) {
        ++n_far;
        // What is left is the second.
        if (low < far_lowest) std::swap(low, far_lowest);
        if (high > far_highest) std::swap(high, far_highest);
      }
      lowest = std::min(lowest, low);
      highest = std::max(highest, high);
    }
    if (n_far < kFewFar) {
      lowest = std::min(lowest, far_lowest);
      highest = std::max(highest, far_highest);
    }
    return highest - lowest;
  }

  // Near pairs first; a group takes in another if no two of them object. There is always a group of two or more.
  std::vector<std::vector<int>> sibling_groups() const {
    std::vector<Candidate> candidates;
    Candidate best{0, std::numeric_limits<double>::infinity(), -1, -1};
    std::vector<char> objects(size_ * size_, 0);
    for (std::size_t i = 0; i < active_.size(); ++i) {
      for (std::size_t j = i + 1; j < active_.size(); ++j) {
        const int a = active_[i];
        const int b = active_[j];
        const Candidate pair{across_[at(a, b)], objection(a, b), a, b};
        if (pair.objection / pair.distance < best.objection / std::max(best.distance, 1e-12) || best.a < 0)
          best = pair;
        if (pair.objection <= 0) {
          candidates.push_back(pair);
        } else {
          objects[at(a, b)] = objects[at(b, a)] = 1;
        }
      }
    }
    if (candidates.empty()) {
      candidates.push_back(best);
      objects[at(best.a, best.b)] = objects[at(best.b, best.a)] = 0;
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& x, const Candidate& y) { return x.distance < y.distance; });
    std::vector<int> group_of(size_, -1);
    std::vector<std::vector<int>> groups;
    for (const int node : active_) {
      group_of[node] = static_cast<int>(groups.size());
      groups.push_back({node});
    }
    for (const Candidate& pair : candidates) {
      const int g = group_of[pair.a];
      const int h = group_of[pair.b];
      if (g == h) continue;
      const bool fits = std::all_of(groups[g].begin(), groups[g].end(), [&](int a) {
        return std::none_of(groups[h].begin(), groups[h].end(),
                            [&](int b) { return objects[at(a, b)] != 0; });
      });
      if (!fits) continue;
      for (const int node : groups[h]) group_of[node] = g;
      groups[g].insert(groups[g].end(), groups[h].begin(), groups[h].end());
      groups[h].clear();
    }
    std::erase_if(groups, [](const auto& group) { return group.empty(); });
    return groups;
  }

  // From a member to the node that all of the group hang on.
  double arm_of(int x, const std::vector<int>& group) const {
    std::vector<int> others;
    for (const int y : group) {
      if (y != x) others.push_back(y);
    }
    if (others.size() == 1) return arm_of_two(x, others.front());
    const std::size_t n = std::min(others.size(), kNearest);
    std::partial_sort(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(n), others.end(),
                      [&](int y, int z) { return d(x, y) < d(x, z); });
    std::vector<double> arms;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = i + 1; j < n; ++j) {
        arms.push_back((d(x, others[i]) + d(x, others[j]) - d(others[i], others[j])) / 2);
      }
    }
    return std::max(0.0, base::median(std::move(arms)));
  }

  // The others say by how much x is farther than y, the nearer the better.
  double arm_of_two(int x, int y) const {
    double sum = 0;
    double weights = 0;
    for (const int k : active_) {
      if (k == x || k == y) continue;
      const double tolerance = std::max(error(x, k) + error(y, k), 1e-12);
      const double weight = 1 / (tolerance * tolerance);
      sum += weight * (d(x, k) - d(y, k));
      weights += weight;
    }
    const double farther = weights > 0 ? sum / weights : 0;
    return std::clamp((d(x, y) + farther) / 2, 0.0, d(x, y));
  }

  double nearest_across(int x, const std::vector<int>& group) const {
    double nearest = std::numeric_limits<double>::infinity();
    for (const int y : group) {
      if (y != x) nearest = std::min(nearest, across_[at(x, y)]);
    }
    return nearest;
  }

  void hang(int child, int hub, double arm_s) {
    tree_.nodes[child].parent = hub;
    tree_.nodes[child].arm_s = arm_s;
    tree_.nodes[hub].children.push_back(child);
  }

  // The member's children hang on the hub themselves where nobody could tell its link.
  void hang_or_dissolve(int member, int hub, double arm_s, double across) {
    const std::vector<int> children = tree_.nodes[member].children;
    if (children.empty() || is_seen(2 * arm_s, across)) {
      hang(member, hub, arm_s);
      return;
    }
    for (const int child : children) hang(child, hub, tree_.nodes[child].arm_s + arm_s);
    tree_.nodes[member].children.clear();
  }

  int join(const std::vector<int>& group) {
    std::vector<double> arms;
    for (const int x : group) arms.push_back(arm_of(x, group));
    const int hub = add({});
    for (const int k : active_) {
      if (std::find(group.begin(), group.end(), k) != group.end()) continue;
      // The near ones are the better known.
      double sum = 0;
      double weights = 0;
      double across = std::numeric_limits<double>::infinity();
      for (std::size_t i = 0; i < group.size(); ++i) {
        const double weight = 1 / (across_[at(group[i], k)] * across_[at(group[i], k)]);
        sum += weight * (d(group[i], k) - arms[i]);
        weights += weight;
        across = std::min(across, across_[at(group[i], k)]);
      }
      set(hub, k, std::max(0.0, sum / weights), across);
    }
    for (std::size_t i = 0; i < group.size(); ++i) {
      hang_or_dissolve(group[i], hub, arms[i], nearest_across(group[i], group));
    }
    std::erase_if(active_, [&](int k) { return std::find(group.begin(), group.end(), k) != group.end(); });
    active_.push_back(hub);
    return hub;
  }

  // Two are left: a link between them, or one node.
  void join_last() {
    const int a = active_[0];
    const int b = active_[1];
    const bool a_is_leaf = tree_.nodes[a].children.empty();
    const bool b_is_leaf = tree_.nodes[b].children.empty();
    if (a_is_leaf != b_is_leaf) {
      tree_.root = a_is_leaf ? b : a;
      hang(a_is_leaf ? a : b, tree_.root, d(a, b));
      return;
    }
    tree_.root = add({});
    const double across = across_[at(a, b)];
    // Half of the link on each side; the whole of it must be seen.
    const bool is_link = a_is_leaf || is_seen(2 * d(a, b), across);
    for (const int end : {a, b}) hang_or_dissolve(end, tree_.root, d(a, b) / 2, is_link ? 0 : 1e300);
  }

  std::size_t size_;
  const Error& error_of_;
  LatencyTree tree_;
  std::vector<int> active_;
  std::vector<double> distance_;
  std::vector<double> across_;  // the shortest way between hosts of the two nodes
  std::vector<double> error_;   // of that
};

}  // namespace

std::vector<int> LatencyTree::leaves_below(int node) const {
  std::vector<int> leaves;
  std::vector<int> open = {node};
  while (!open.empty()) {
    const int next = open.back();
    open.pop_back();
    if (nodes[next].host >= 0) leaves.push_back(next);
    open.insert(open.end(), nodes[next].children.begin(), nodes[next].children.end());
  }
  return leaves;
}

double LatencyTree::way_s(int a, int b) const {
  std::vector<int> above;
  for (int at = a; at >= 0; at = nodes[at].parent) above.push_back(at);
  double way_s = 0;
  int meet = b;
  for (; std::find(above.begin(), above.end(), meet) == above.end(); meet = nodes[meet].parent) {
    way_s += nodes[meet].arm_s;
  }
  for (const int at : above) {
    if (at == meet) break;
    way_s += nodes[at].arm_s;
  }
  return way_s;
}

void LatencyTree::dissolve(int node) {
  TreeNode& gone = nodes[node];
  std::erase(nodes[gone.parent].children, node);
  for (const int child : gone.children) {
    nodes[child].parent = gone.parent;
    nodes[child].arm_s += gone.arm_s;
    nodes[gone.parent].children.push_back(child);
  }
  gone.children.clear();
}

namespace {

constexpr int kNone = -1;

// Of each node, as far as it is from one.
std::vector<double> ways_from(const LatencyTree& tree, int from) {
  std::vector<double> way_s(tree.nodes.size(), -1);
  std::vector<bool> is_reached(tree.nodes.size(), false);
  std::vector<int> open = {from};
  way_s[from] = 0;
  is_reached[from] = true;
  while (!open.empty()) {
    const int at = open.back();
    open.pop_back();
    const auto reach = [&](int next, double arm_s) {
      if (next < 0 || is_reached[next]) return;
      is_reached[next] = true;
      way_s[next] = way_s[at] + arm_s;
      open.push_back(next);
    };
    reach(tree.nodes[at].parent, tree.nodes[at].arm_s);
    for (const int child : tree.nodes[at].children) reach(child, tree.nodes[child].arm_s);
  }
  return way_s;
}

}  // namespace

bool LatencyTree::is_junction(int node) const { return nodes[node].children.size() > 1; }

int LatencyTree::farthest_junction(const std::vector<double>& way_s, int but_below) const {
  int found = root;
  for (int node = 0; node < static_cast<int>(nodes.size()); ++node) {
    bool counts = is_junction(node) && way_s[node] > way_s[found];
    for (int at = node; counts && at >= 0; at = nodes[at].parent) counts = at != but_below;
    if (counts) found = node;
  }
  return found;
}

// Hangs everything from a node.
void LatencyTree::hang_from(int node) {
  if (node == root) return;
  const int old_root = root;
  int below = node;
  double arm_s = nodes[node].arm_s;
  for (int above = nodes[node].parent; above >= 0;) {
    const int next = nodes[above].parent;
    std::erase(nodes[above].children, below);
    nodes[below].children.push_back(above);
    nodes[above].parent = below;
    std::swap(nodes[above].arm_s, arm_s);
    below = above;
    above = next;
  }
  nodes[node].parent = -1;
  nodes[node].arm_s = 0;
  root = node;
  // It was a place on a link.
  if (nodes[old_root].children.size() == 1) dissolve(old_root);
}

void LatencyTree::hang_from_middle() {
  // The two that are farthest from each other are the farthest from any.
  const int one = farthest_junction(ways_from(*this, root), kNone);
  const std::vector<double> from_one = ways_from(*this, one);
  const std::vector<double> from_other = ways_from(*this, farthest_junction(from_one, kNone));
  int middle = kNone;
  const auto farthest_s = [&](int node) { return std::max(from_one[node], from_other[node]); };
  for (int node = 0; node < static_cast<int>(nodes.size()); ++node) {
    const bool is_place_on_a_line = node == root && nodes[node].children.size() == 2;
    if (!is_junction(node) || is_place_on_a_line) continue;
    if (middle == kNone || farthest_s(node) < farthest_s(middle)) middle = node;
  }
  if (middle != kNone) hang_from(middle);
}

void LatencyTree::hang_from_line() {
  const std::vector<double> way_s = ways_from(*this, root);
  const int end = farthest_junction(way_s, kNone);
  if (end == root || nodes[root].children.size() < 3) return;
  int beyond = end;
  while (nodes[beyond].parent != root) beyond = nodes[beyond].parent;
  const double beside_s = way_s[farthest_junction(way_s, beyond)];
  const double line_s = nodes[beyond].arm_s;
  if (way_s[end] - beside_s < line_s / 2) return;  // the middle of all is not on it
  const auto place = static_cast<int>(nodes.size());
  std::erase(nodes[root].children, beyond);
  for (const int side : {root, beyond}) {
    nodes[side].parent = place;
    nodes[side].arm_s = line_s / 2;
  }
  TreeNode new_root;
  new_root.children = {root, beyond};
  nodes.push_back(std::move(new_root));
  root = place;
}

LatencyTree group_hosts(const std::vector<int>& hosts, const Latency& latency, const Error& error) {
  LatencyTree tree = Grouping(hosts, latency, error).run();
  tree.hang_from_middle();
  return tree;
}

}  // namespace eco::structure
