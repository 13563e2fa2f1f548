// Allgather in levels: gather to one leader inside each subnet, every subnet's blocks together from its leader to the
// others, all blocks from leaders inside.
//
//   steps            those of the parts: a gather, K broadcasts at once, a broadcast
//   bytes per link   n - n_own into each subnet, the least there is
//   model            gather inside + broadcast between + broadcast inside, of n
//   order            none (data movement)
//   source           Kielmann et al., MagPIe, PPoPP 1999; Lowekamp and Beguelin, CMU-CS-95-191, sections 5 and 7; several
//                    leaders: Bayatpour et al., SC 2017
//
// {0 1} {2 3}:   1 -> 0 [1], 3 -> 2 [3]   then   0 -> 2 [0 1], 2 -> 0 [2 3]   then   0 -> 1, 2 -> 3 [0 1 2 3]
#include "eco/algo/composed.h"

namespace eco::algo {

using coll::Collective;
using sched::Buffer;
using sched::Emitter;
using sched::Region;

Steps allgather_in_levels(const Piece& piece) {
  const Levels levels(piece);
  const std::size_t piece_of_block = piece.bytes;
  const std::size_t all = levels.packed().size() * piece_of_block;
  Steps steps;
  const Region packed = steps.scratch(all);
  const auto of_subnet = [&](std::size_t s) {
    return Region{packed.buffer, packed.offset + levels.first_of(s) * piece_of_block};
  };
  steps.part(piece.part(0), levels.inside_in_blocks(Collective::gather, piece_of_block), {Buffer::input},
             of_subnet(levels.subnet()));
  for (std::size_t s = 0; s < levels.count(); ++s) {
    const std::size_t bytes = levels.members(s).size() * piece_of_block;
    steps.part(piece.part(1), {levels.between(Collective::broadcast, bytes, s)}, {}, of_subnet(s));
  }
  steps.part(piece.part(2), levels.inside(Collective::broadcast, all), {}, packed);
  steps.own([=, ranks = levels.packed(), pieces = piece.pieces()](Emitter& e) {
    for (std::size_t i = 0; i < ranks.size(); ++i)
      e.copy(pieces.in(packed, i), pieces.of(Buffer::output, ranks[i]));
  });
  return steps;
}

}  // namespace eco::algo
