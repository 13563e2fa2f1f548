// Broadcast in levels: from the root to one leader in each other subnet, and from leaders inside their subnets.
//
//   steps            those of the parts; segment j goes on inside a subnet while segment j + 1 comes to it
//   bytes per link   a subnet is entered once, by n
//   model            (n/s + depth between + depth inside) * (alpha + s/B) with trees for parts
//   order            none (data movement)
//   source           Lowekamp and Beguelin, CMU-CS-95-191, section 4 (subnets, then inside); Kielmann et al., MagPIe, PPoPP
//                    1999; any algorithm on a level, several leaders: Bayatpour et al., SC 2017
//
// {0 1 2} {3 4 5}, root 0, leaders = 2:   even segments 0 -> 3, odd ones 0 -> 4; then 0 -> 1, 2; 3 -> 4, 5; 4 -> 3, 5
#include "eco/algo/composed.h"

namespace eco::algo {

using coll::Collective;
using sched::Buffer;
using sched::Region;

Steps broadcast_in_levels(const Piece& piece) {
  const int root = piece.problem.root;
  const Levels levels(piece, root);
  const auto root_subnet =
      static_cast<std::size_t>(piece.view.subnet_of_rank[static_cast<std::size_t>(root)]);
  const Region message{Buffer::output};
  Steps steps;
  steps.part(piece.part(0), {levels.between(Collective::broadcast, piece.bytes, root_subnet)}, {}, message);
  steps.part(piece.part(1), levels.inside(Collective::broadcast, piece.bytes), {}, message);
  return steps;
}

}  // namespace eco::algo
