// Ranks that do collectives among themselves, inside a larger group.
#pragma once

#include <compare>
#include <initializer_list>
#include <utility>
#include <vector>

namespace eco::coll {

struct RankGroup {
  RankGroup() = default;
  RankGroup(std::vector<int> members, int in_lane = 0) : ranks(std::move(members)), lane(in_lane) {}
  RankGroup(std::initializer_list<int> members) : ranks(members) {}

  std::vector<int> ranks;  // in the order in which their contributions stand
  // The collectives of one group begin in the same order everywhere; those of the same ranks in another lane are another
  // group's, and do not wait for them.
  int lane = 0;

  friend bool operator==(const RankGroup&, const RankGroup&) = default;
  friend auto operator<=>(const RankGroup&, const RankGroup&) = default;
};

}  // namespace eco::coll
