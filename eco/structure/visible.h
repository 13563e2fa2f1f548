// What of a true tree any traffic can tell apart.
//
//   const std::vector<TrueSplit> truth = visible_splits(network);
//
// Traffic sees ways between hosts, so a tree is no more than the ways in which its links part the hosts: where the root lies
// cannot be told, and a level that joins only two links is none. Of the links that part two hosts or more from two or more,
// one is seen
//   by latency  if there and back over it is at least kResolution of the shortest way over it between four hosts, two on each
//               side that do not meet before it: less drowns in the error of the minima;
//   by rate     if two hosts that meet at one of its ends are kFasterThanLink times as fast as it, and two beyond the other,
//               and it is the slowest link between some pair;
//   by sharing  if neither shows it, but what one side can send and the other receive is more than it carries.
// All three are to be found.
#pragma once

#include <vector>

#include "eco/structure/true_network.h"

namespace eco::structure {

inline constexpr double kFasterThanLink = 1.5;

enum class SeenBy { latency, rate, sharing, nothing };

struct TrueSplit {
  std::vector<int> side;  // hosts, ascending, without host 0
  SeenBy seen_by = SeenBy::nothing;
  double share = 0;        // of the way over it, there and back
  double bytes_per_s = 0;  // of the link
  double could_carry = 0;  // the less of what both sides can send
  bool half_duplex = false;
  int n_links = 1;  // in a row, of the true tree
};

// All links that part two hosts or more from two or more, seen or not. Those that are not seen by latency or rate count as
// merged when the others are judged.
std::vector<TrueSplit> true_splits(const TrueNetwork& network);

// The level that each host hangs on once what is not seen is merged, by any number.
std::vector<int> visible_groups(const TrueNetwork& network);

}  // namespace eco::structure
