// Scatter in levels: every subnet's blocks from the root to one leader there, and from there to its members.
//
//   steps            those of the parts: a scatter between for each size that subnets have, a scatter inside
//   bytes per link   what a subnet's ranks get into it, once: the least there is
//   model            scatters between, of n - n_own in all + scatter inside
//   order            none (data movement)
//   source           Kielmann et al., MagPIe, PPoPP 1999; Lowekamp and Beguelin, CMU-CS-95-191, sections 5 and 7; several
//                    leaders: Bayatpour et al., SC 2017
//
// {0 1} {2 3}, root 0:   0 -> 2 [2 3]   then   0 -> 1 [1], 2 -> 3 [3]
//
// A scatter's blocks are equal and subnets are not, so what leaves the root goes in layers: {0 1 2} {3 4} have a layer of the
// first two members of each, then one of the third.
#include "eco/algo/composed.h"

namespace eco::algo {

using coll::Collective;
using sched::Buffer;
using sched::Emitter;
using sched::Region;

Steps scatter_in_levels(const Piece& piece) {
  const Levels levels(piece, piece.problem.root);
  const Layers layers = levels.layers(piece.problem.root);
  const std::size_t piece_of_block = piece.bytes;
  Steps steps;
  const Region leaving =
      steps.scratch(piece.rank == piece.problem.root ? layers.ranks.size() * piece_of_block : 0);
  const Region own = steps.scratch(levels.leads() ? layers.depth() * piece_of_block : 0);
  if (piece.rank == piece.problem.root) {
    steps.own([=, ranks = layers.ranks, pieces = piece.pieces()](Emitter& e) {
      for (std::size_t i = 0; i < ranks.size(); ++i)
        e.copy(pieces.of(Buffer::input, ranks[i]), pieces.in(leaving, i));
    });
  }
  for (const Layer& layer : layers.all) {
    steps.part(piece.part(0), {levels.between_in_blocks(Collective::scatter, layer, piece_of_block)},
               piece.pieces().in(leaving, layer.place), piece.pieces().in(own, layer.begin));
  }
  steps.part(piece.part(1), levels.inside_in_blocks(Collective::scatter, piece_of_block), own,
             {Buffer::output});
  return steps;
}

}  // namespace eco::algo
