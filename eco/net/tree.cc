#include "eco/net/tree.h"

#include <algorithm>
#include <utility>

namespace eco::net {
bool Tree::is_sure() const {
  return is_known() && std::all_of(levels.begin(), levels.end(),
                                   [](const Level& level) { return level.confidence >= kSure; });
}

std::vector<int> Tree::level_of_host() const {
  std::vector<int> level_of(is_known() ? hosts_below(0).size() : 0);
  for (std::size_t level = 0; level < levels.size(); ++level) {
    for (const int host : levels[level].hosts)
      level_of[static_cast<std::size_t>(host)] = static_cast<int>(level);
  }
  return level_of;
}

Partition Tree::subnets() const {
  Partition parts;
  for (const Level& level : levels) {
    if (!level.hosts.empty()) parts.push_back(level.hosts);
  }
  std::sort(parts.begin(), parts.end());
  return parts;
}

std::vector<int> Tree::hosts_below(int level) const {
  std::vector<int> hosts;
  std::vector<int> open = {level};
  while (!open.empty()) {
    const Level& next = levels[open.back()];
    open.pop_back();
    hosts.insert(hosts.end(), next.hosts.begin(), next.hosts.end());
    open.insert(open.end(), next.children.begin(), next.children.end());
  }
  std::sort(hosts.begin(), hosts.end());
  return hosts;
}

void Tree::dissolve(int level) {
  const Level gone = levels[level];
  levels.erase(levels.begin() + level);
  Level& parent = levels[gone.parent];
  std::erase(parent.children, level);
  parent.children.insert(parent.children.end(), gone.children.begin(), gone.children.end());
  parent.hosts.insert(parent.hosts.end(), gone.hosts.begin(), gone.hosts.end());
  std::sort(parent.hosts.begin(), parent.hosts.end());
  for (Level& other : levels) {
    if (other.parent == level) other.parent = gone.parent;
    if (other.parent > level) --other.parent;
    for (int& child : other.children) child -= child > level ? 1 : 0;
  }
}

void Tree::put_parents_first() {
  std::vector<int> order;  // old numbers
  std::vector<int> open = {0};
  while (!open.empty()) {
    order.push_back(open.back());
    open.pop_back();
    const std::vector<int>& children = levels[order.back()].children;
    open.insert(open.end(), children.rbegin(), children.rend());
  }
  std::vector<int> number_of(levels.size());
  for (std::size_t i = 0; i < order.size(); ++i) number_of[order[i]] = static_cast<int>(i);
  std::vector<Level> ordered;
  for (const int old : order) {
    Level& level = ordered.emplace_back(std::move(levels[old]));
    if (level.parent >= 0) level.parent = number_of[level.parent];
    for (int& child : level.children) child = number_of[child];
  }
  levels = std::move(ordered);
}

std::vector<int> without_first(const std::vector<int>& side, int n_hosts) {
  if (side.empty() || side.front() != 0) return side;
  std::vector<int> other;
  for (int host = 0; host < n_hosts; ++host) {
    if (!std::binary_search(side.begin(), side.end(), host)) other.push_back(host);
  }
  return other;
}

std::set<std::vector<int>> Tree::splits() const {
  std::set<std::vector<int>> found;
  if (levels.empty()) return found;
  const int n = static_cast<int>(hosts_below(0).size());
  for (int level = 1; level < static_cast<int>(levels.size()); ++level) {
    const std::vector<int> below = hosts_below(level);
    const int size = static_cast<int>(below.size());
    if (size >= 2 && n - size >= 2) found.insert(without_first(below, n));
  }
  return found;
}

}  // namespace eco::net
