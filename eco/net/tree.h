// The structure of a network: levels in a tree, down to the hosts.
//
//   const Tree& tree = network.tree;                // found by eco/structure
//   tree.levels[0].children                         // the levels below the root
//   tree.hosts_below(1)
//
// A level is what joins the hosts and levels below it: a switch, a bus, a site's router. A network without structure has
// one level. Where the root lies among its levels no traffic tells, only how they join: two trees are the same if they part
// the hosts in the same ways (splits()).
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "eco/net/partition.h"
#include "eco/net/subnet_kind.h"

namespace eco::net {

// Of six checks of a level five: one that is disturbed proves nothing.
inline constexpr double kSure = 0.8;

struct Level {
  int parent = -1;
  std::vector<int> children;                        // levels
  std::vector<int> hosts;                           // directly on it, ascending
  net::SubnetKind kind = net::SubnetKind::unknown;  // of the medium that its own hosts are on
  double latency_s = 0;    // between two of its own hosts, or of its children's where it has fewer than two
  double bytes_per_s = 0;  // of one pair of them
  double uplink_latency_s = 0;  // from here to the parent
  // What pairs that leave share, each way, where it is less than what the two sides could send; nothing where it is not.
  std::optional<double> uplink_bytes_per_s{};
  bool half_duplex = false;  // of the uplink
  double oversubscription =
      0;  // what those below could send over what the uplink carries; 0 where it holds nobody up
  double confidence = 1;  // that this level is there: share of the checks that agree
  std::string evidence;
};

struct Tree {
  std::vector<Level> levels;  // the root first, parents before children
  // Where it was found in a network: what the subnets are taken from, and why. Empty elsewhere.
  std::string verdict;
  bool in_parallel = true;  // pairs measured at the same time did not disturb each other
  double seconds = 0;       // that it took to find

  bool is_known() const { return !levels.empty(); }
  // Whether fresh checks confirmed every level.
  bool is_sure() const;
  // The level that each host hangs on.
  std::vector<int> level_of_host() const;
  // Hosts on one level are one subnet.
  Partition subnets() const;

  std::vector<int> hosts_below(int level) const;  // ascending
  // What each level but the root parts, as the side without host 0; only where both sides have two hosts or more.
  std::set<std::vector<int>> splits() const;
  // What hangs on a level, not the root, hangs on its parent from then on. The parent comes before it.
  void dissolve(int level);
  // Numbers the levels anew, for where a parent came after its children.
  void put_parents_first();
};

// The side of a split that names it: without host 0.
std::vector<int> without_first(const std::vector<int>& side, int n_hosts);

}  // namespace eco::net
