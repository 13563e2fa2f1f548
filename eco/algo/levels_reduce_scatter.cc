// Reduce-scatter in levels: reduce to one leader inside each subnet, what belongs to a subnet from the other leaders to
// its own, and from there to its members.
//
//   steps            those of the parts: a reduce, K reduces at once, a scatter
//   bytes per link   n - n_own out of each subnet, combined: the least there is
//   model            reduce inside + reduce between + scatter inside, of n
//   order            that of the parts; rank order where subnets are runs of ranks and the parts keep it
//   source           Kielmann et al., MagPIe, PPoPP 1999; Lowekamp and Beguelin, CMU-CS-95-191, sections 5 and 7; several
//                    leaders: Bayatpour et al., SC 2017
//
// {0 1} {2 3}:   1 -> 0, 3 -> 2 (vectors)   then   0 -> 2 (blocks 2 3), 2 -> 0 (blocks 0 1)   then   0 -> 1, 2 -> 3
#include "eco/algo/composed.h"

namespace eco::algo {

using coll::Collective;
using sched::Buffer;
using sched::Emitter;
using sched::Region;

Steps reduce_scatter_in_levels(const Piece& piece) {
  const Levels levels(piece);
  const std::size_t piece_of_block = piece.bytes;
  const std::size_t all = levels.packed().size() * piece_of_block;
  const std::size_t of_own = levels.members(levels.subnet()).size() * piece_of_block;
  Steps steps;
  const Region packed = steps.scratch(all);
  const Region combined = steps.scratch(levels.leads() ? all : 0);
  const Region result = steps.scratch(levels.leads() ? of_own : 0);
  steps.own([=, ranks = levels.packed(), pieces = piece.pieces()](Emitter& e) {
    for (std::size_t i = 0; i < ranks.size(); ++i)
      e.copy(pieces.of(Buffer::input, ranks[i]), pieces.in(packed, i));
  });
  steps.part(piece.part(0), levels.inside(Collective::reduce, all), packed, combined);
  for (std::size_t s = 0; s < levels.count(); ++s) {
    const std::size_t bytes = levels.members(s).size() * piece_of_block;
    steps.part(piece.part(1), {levels.between(Collective::reduce, bytes, s)},
               {combined.buffer, combined.offset + levels.first_of(s) * piece_of_block}, result);
  }
  steps.part(piece.part(2), levels.inside_in_blocks(Collective::scatter, piece_of_block), result,
             {Buffer::output});
  return steps;
}

}  // namespace eco::algo
