// Reduce in levels: to one leader inside each subnet, and from leaders to the root.
//
//   steps            those of the parts; segment j leaves a subnet while segment j + 1 is combined in it
//   bytes per link   a subnet is left once, by n
//   model            (n/s + depth inside + depth between) * (alpha + s/B) + n gamma with trees for parts
//   order            that of the parts; rank order where subnets are runs of ranks and the parts keep it
//   source           Lowekamp and Beguelin, CMU-CS-95-191, section 5; Kielmann et al., MagPIe, PPoPP 1999; several
//                    leaders: Bayatpour et al., SC 2017
//
// {0 1 2} {3 4 5}, root 0:   2 -> 1 -> 0, 5 -> 4 -> 3   then   3 -> 0
#include "eco/algo/composed.h"

namespace eco::algo {

using coll::Collective;
using sched::Buffer;
using sched::Region;

Steps reduce_in_levels(const Piece& piece) {
  const int root = piece.problem.root;
  const Levels levels(piece, root);
  const auto root_subnet =
      static_cast<std::size_t>(piece.view.subnet_of_rank[static_cast<std::size_t>(root)]);
  Steps steps;
  const Region of_subnet = steps.scratch(levels.leads() ? piece.bytes : 0);
  steps.part(piece.part(0), levels.inside(Collective::reduce, piece.bytes), {Buffer::input}, of_subnet);
  steps.part(piece.part(1), {levels.between(Collective::reduce, piece.bytes, root_subnet)}, of_subnet,
             {Buffer::output});
  return steps;
}

}  // namespace eco::algo
