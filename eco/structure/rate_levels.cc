#include "eco/structure/rate_levels.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

namespace eco::structure {
namespace {

using net::Level;
using net::Tree;

// Rates within this of each other are one rate; levels are faster inside than across by this much.
constexpr double kSame = 0.8;
constexpr double kFaster = 1.25;
// Fewer have no two pairs to compare.
constexpr std::size_t kCrowd = 4;
// So many show all pairs of eight, and of more some pair inside any but the smallest groups.
constexpr std::size_t kMatchings = 7;
// All pairs of so many of a group are looked at.
constexpr std::size_t kOthers = 16;

// What hangs on a level: a host of its own, or a level below with a host that speaks for it.
struct Entity {
  int host = 0;
  int level = -1;
};

std::vector<Entity> entities_of(const Tree& tree, int level) {
  std::vector<Entity> entities;
  for (const int host : tree.levels[level].hosts) entities.push_back({host, -1});
  for (const int child : tree.levels[level].children) {
    entities.push_back({tree.hosts_below(child).front(), child});
  }
  return entities;
}

// Who meets whom in a round of a tournament, in which all meet all once if there are enough rounds: an odd one rests.
std::vector<std::pair<std::size_t, std::size_t>> matching(std::size_t n, std::size_t round) {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  if (n < 2) return pairs;
  const std::size_t turning = n + n % 2 - 1;
  if (round >= turning) return pairs;
  if (turning < n) pairs.emplace_back(round, turning);
  for (std::size_t i = 1; 2 * i < turning; ++i)
    pairs.emplace_back((round + i) % turning, (round + turning - i) % turning);
  return pairs;
}

struct Group {
  std::vector<int> members;  // indices of entities
  double inside = 0;         // bytes a second; 0 of one alone
};

// One level whose pairs are not all alike.
class Search {
 public:
  // `seen` is the rate of the fastest pair of a crowd.
  Search(Streams& streams, std::vector<Entity> entities, double seen)
      : streams_(streams), entities_(std::move(entities)), seen_(seen) {}

  // The groups that are levels of their own; none if single slow hosts explain the rates.
  std::vector<Group> run() {
    std::vector<Group> groups;
    std::vector<int> singles;
    std::vector<int> left;
    for (int e = 0; e < static_cast<int>(entities_.size()); ++e) left.push_back(e);
    while (!left.empty()) {
      const int speaker = left.front();
      double fastest = 0;
      for (const int e : left) {
        if (e != speaker) fastest = std::max(fastest, rate(speaker, e));
      }
      Group group;
      for (const int e : left) {
        if (e == speaker || rate(speaker, e) >= kSame * fastest) group.members.push_back(e);
      }
      if (group.members.size() < 2 || is_slow_itself(speaker, group.members, fastest)) {
        singles.push_back(speaker);
        left.erase(left.begin());
        continue;
      }
      group.inside = fastest;
      std::erase_if(left, [&](int e) {
        return std::find(group.members.begin(), group.members.end(), e) != group.members.end();
      });
      groups.push_back(std::move(group));
    }
    for (const Group& group : groups) fastest_ = std::max(fastest_, group.inside);
    std::vector<Group> levels;
    for (const Group& group : groups) {
      const bool is_level = std::any_of(groups.begin(), groups.end(), [&](const Group& other) {
        if (&other == &group) return false;
        const double across = rate(group.members[0], other.members[0]);
        return group.inside >= kFaster * across && other.inside >= kFaster * across;
      });
      if (is_level) levels.push_back(group);
    }
    if (levels.size() < 2) return {};
    for (const Group& group : groups) {
      const bool is_level = std::any_of(levels.begin(), levels.end(), [&](const Group& level) {
        return level.members.front() == group.members.front();
      });
      if (!is_level) singles.insert(singles.end(), group.members.begin(), group.members.end());
    }
    for (const int single : singles) settle(single, levels);
    return levels;
  }

  double fastest() const { return fastest_; }
  double across(const std::vector<Group>& levels) {
    double rate_across = 0;
    for (std::size_t i = 1; i < levels.size(); ++i) {
      rate_across = std::max(rate_across, rate(levels[0].members[0], levels[i].members[0]));
    }
    return rate_across;
  }

 private:
  double rate(int a, int b) {
    const auto key = std::minmax(a, b);
    const auto found = rates_.find(key);
    if (found != rates_.end()) return found->second;
    return rates_[key] = streams_.alone({entities_[key.first].host, entities_[key.second].host});
  }

  // Whether others of its group are faster among themselves: then it is the speaker that is slow. Where others were seen to be
  // faster, the group may be several that reach each other as well as they reach a slow speaker: all pairs of some of them are asked.
  bool is_slow_itself(int speaker, const std::vector<int>& members, double fastest) {
    std::vector<int> others = members;
    std::erase(others, speaker);
    int asked = 0;
    for (std::size_t i = 0; i + 1 < others.size() && asked < 3; ++i, ++asked) {
      if (rate(others[i], others[i + 1]) >= kFaster * fastest) return true;
    }
    if (seen_ < kFaster * fastest) return false;
    others.resize(std::min(others.size(), kOthers));
    for (std::size_t round = 0; round + 1 < kOthers; ++round) {
      Streams::Group flows;
      for (const auto& [a, b] : matching(others.size(), round))
        flows.push_back({entities_[others[a]].host, entities_[others[b]].host});
      if (flows.empty()) return false;
      const std::vector<double> rates = streams_.rates(flows);
      if (*std::max_element(rates.begin(), rates.end()) >= kFaster * fastest) return true;
    }
    return false;
  }

  // A slow host belongs to the group that it reaches faster than all others; to none if there is no such group.
  void settle(int single, std::vector<Group>& levels) {
    std::size_t best = 0;
    double fastest = 0;
    double next = 0;
    for (std::size_t g = 0; g < levels.size(); ++g) {
      const double to_group = rate(single, levels[g].members[0]);
      if (to_group > fastest) {
        next = fastest;
        fastest = to_group;
        best = g;
      } else {
        next = std::max(next, to_group);
      }
    }
    if (fastest >= kFaster * next && !shares_the_link_of(levels[best], single))
      levels[best].members.push_back(single);
  }

  // A host above all groups reaches that with the fastest link best too, but over that link, which others come by.
  bool shares_the_link_of(const Group& level, int single) {
    const int first = level.members[0];
    int other = -1;
    for (int e = 0; e < static_cast<int>(entities_.size()); ++e) {
      const bool is_inside = std::find(level.members.begin(), level.members.end(), e) != level.members.end();
      if (is_inside || e == single || !rates_.contains(std::minmax(e, first))) continue;
      if (other < 0 || rate(e, first) > rate(other, first)) other = e;
    }
    if (other < 0) return false;
    const int second = level.members[1];
    const double alone = rate(single, first) + rate(other, second);
    const double together = streams_.total(
        {{entities_[single].host, entities_[first].host}, {entities_[other].host, entities_[second].host}});
    return together < kSame * alone;
  }

  Streams& streams_;
  std::vector<Entity> entities_;
  double seen_;
  std::map<std::pair<int, int>, double> rates_;
  double fastest_ = 0;
};

std::string rate_words(double inside, double across) {
  return std::to_string(std::lround(inside / 1e3)) + " kB/s inside, " +
         std::to_string(std::lround(across / 1e3)) + " kB/s across";
}

void add_levels(Tree& tree, int parent, const std::vector<Entity>& entities, const std::vector<Group>& groups,
                double across) {
  for (const Group& group : groups) {
    Level level;
    level.parent = parent;
    level.bytes_per_s = group.inside;
    level.latency_s = tree.levels[parent].latency_s;
    level.evidence = rate_words(group.inside, across);
    const int number = static_cast<int>(tree.levels.size());
    for (const int member : group.members) {
      const Entity& entity = entities[member];
      if (entity.level < 0) {
        level.hosts.push_back(entity.host);
        std::erase(tree.levels[parent].hosts, entity.host);
      } else {
        level.children.push_back(entity.level);
        std::erase(tree.levels[parent].children, entity.level);
        tree.levels[entity.level].parent = number;
      }
    }
    std::sort(level.hosts.begin(), level.hosts.end());
    tree.levels.push_back(std::move(level));
    tree.levels[parent].children.push_back(number);
  }
  tree.levels[parent].bytes_per_s = across;
}

int depth_of(const Tree& tree, int level) {
  int depth = 0;
  for (int at = tree.levels[level].parent; at >= 0; at = tree.levels[at].parent) ++depth;
  return depth;
}

// Levels of one depth have no resource in common: what is inside them can be asked at once.
std::vector<std::vector<int>> by_depth(const Tree& tree) {
  std::vector<std::vector<int>> depths;
  for (int level = 0; level < static_cast<int>(tree.levels.size()); ++level) {
    const auto depth = static_cast<std::size_t>(depth_of(tree, level));
    if (depths.size() <= depth) depths.resize(depth + 1);
    depths[depth].push_back(level);
  }
  return depths;
}

// The rates of some matchings of each level's entities, all levels together.
std::vector<std::vector<double>> ask_crowds(Streams& streams,
                                            const std::vector<std::vector<Entity>>& of_level) {
  std::vector<std::vector<double>> crowds(of_level.size());
  for (std::size_t round = 0; round < kMatchings; ++round) {
    std::vector<Streams::Group> flows(of_level.size());
    for (std::size_t l = 0; l < of_level.size(); ++l) {
      const auto& entities = of_level[l];
      if (entities.size() < kCrowd) continue;
      for (const auto& [a, b] : matching(entities.size(), round)) {
        flows[l].push_back({entities[a].host, entities[b].host});
      }
    }
    const std::vector<std::vector<double>> rates = streams.rates_of_groups(flows);
    for (std::size_t l = 0; l < rates.size(); ++l) {
      crowds[l].insert(crowds[l].end(), rates[l].begin(), rates[l].end());
    }
  }
  return crowds;
}

}  // namespace

void find_rate_levels(Tree& tree, Streams& streams) {
  for (const std::vector<int>& levels : by_depth(tree)) {
    std::vector<std::vector<Entity>> entities;
    std::vector<Streams::Group> first_pairs(levels.size());
    std::vector<std::size_t> asked;
    for (std::size_t l = 0; l < levels.size(); ++l) {
      entities.push_back(entities_of(tree, levels[l]));
      if (entities[l].size() < 2) continue;
      asked.push_back(l);
      first_pairs[l] = {{entities[l][0].host, entities[l][1].host}};
    }
    if (asked.empty()) continue;
    const std::vector<std::vector<double>> alone_of = streams.rates_of_groups(first_pairs);
    const std::vector<std::vector<double>> crowds = ask_crowds(streams, entities);
    for (const std::size_t l : asked) {
      const std::vector<double>& rates = crowds[l];
      const double alone = alone_of[l].front();
      tree.levels[levels[l]].bytes_per_s = alone;
      if (entities[l].size() < kCrowd) continue;
      const auto [slowest, fastest] = std::minmax_element(rates.begin(), rates.end());
      // All alike: of a switch as fast as alone, of a bus slower.
      if (*slowest >= kSame * *fastest && *slowest >= kSame * alone) continue;
      const double shared = alone / static_cast<double>(entities[l].size() / 2);
      if (*slowest >= kSame * *fastest && *fastest <= kFaster * shared) continue;
      Search search(streams, entities[l], *fastest);
      const std::vector<Group> groups = search.run();
      if (search.fastest() > 0) tree.levels[levels[l]].bytes_per_s = search.fastest();
      if (!groups.empty()) add_levels(tree, levels[l], entities[l], groups, search.across(groups));
    }
  }
}

}  // namespace eco::structure
