// What the algorithms of leaders share: one leader in each subnet, a tree below it, and blocks packed by subnet.
//
//   const Leaders leaders(view, params, rank);
//   leaders.packed            ranks, subnet by subnet, in the order in which a gather inside brings them
//   leaders.first_of(s), leaders.count_of(s)          where subnet s's ranks stand in it
#pragma once

#include <cstddef>
#include <vector>

#include "eco/algo/patterns/stream.h"
#include "eco/algo/patterns/tree.h"
#include "eco/algo/recipe.h"
#include "eco/net/group_view.h"

namespace eco::algo {

class Leaders {
 public:
  Leaders(const net::GroupView& view, const Params& params, int rank);

  std::size_t n_subnets() const { return first_.size() - 1; }
  std::size_t first_of(std::size_t subnet) const { return first_[subnet]; }
  std::size_t count_of(std::size_t subnet) const { return first_[subnet + 1] - first_[subnet]; }
  int leader_of(std::size_t subnet) const { return packed[first_[subnet]]; }
  bool leads() const { return inside.parent < 0; }

  std::vector<int> packed;
  std::size_t subnet = 0;    // this rank's
  std::vector<int> others;   // leaders of the other subnets, in the order of subnets
  Place inside;              // this rank's place below its leader
  Stream stream;             // what passes through it on the way up
  std::size_t position = 0;  // where it stands in `packed`

 private:
  std::vector<std::size_t> first_;
};

// Where the blocks of all ranks lie packed at every rank in the end, and the channels that it took.
inline constexpr int kLeaderChannels = 3;  // up, exchange, down

}  // namespace eco::algo
