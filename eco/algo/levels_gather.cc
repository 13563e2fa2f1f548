// Gather in levels: to one leader inside each subnet, and every subnet's blocks from its leader to the root.
//
//   steps            those of the parts: a gather inside, a gather between for each size that subnets have
//   bytes per link   what a subnet's ranks give out of it, once: the least there is
//   model            gather inside + gathers between, of n - n_own in all
//   order            none (data movement)
//   source           Kielmann et al., MagPIe, PPoPP 1999; Lowekamp and Beguelin, CMU-CS-95-191, sections 5 and 7; several
//                    leaders: Bayatpour et al., SC 2017
//
// {0 1} {2 3}, root 0:   1 -> 0 [1], 3 -> 2 [3]   then   2 -> 0 [2 3]; in layers, as levels_scatter.cc has them
#include "eco/algo/composed.h"

namespace eco::algo {

using coll::Collective;
using sched::Buffer;
using sched::Emitter;
using sched::Region;

Steps gather_in_levels(const Piece& piece) {
  const Levels levels(piece, piece.problem.root);
  const Layers layers = levels.layers(piece.problem.root);
  const std::size_t piece_of_block = piece.bytes;
  const std::size_t n_own = levels.members(levels.subnet()).size();
  const bool is_root = piece.rank == piece.problem.root;
  Steps steps;
  const Region own = steps.scratch(levels.leads() ? layers.depth() * piece_of_block : 0);
  const Region come = steps.scratch(is_root ? layers.ranks.size() * piece_of_block : 0);
  steps.part(piece.part(0), levels.inside_in_blocks(Collective::gather, piece_of_block), {Buffer::input},
             own);
  if (is_root) {
    // The root is in every layer, whether or not its subnet has so many.
    steps.own([=, depth = layers.depth(), pieces = piece.pieces()](Emitter& e) {
      for (std::size_t i = n_own; i < depth; ++i) e.copy(pieces.in(own, i % n_own), pieces.in(own, i));
    });
  }
  for (const Layer& layer : layers.all) {
    steps.part(piece.part(1), {levels.between_in_blocks(Collective::gather, layer, piece_of_block)},
               piece.pieces().in(own, layer.begin), piece.pieces().in(come, layer.place));
  }
  if (is_root) {
    steps.own([=, ranks = layers.ranks, is_spare = layers.is_spare, pieces = piece.pieces()](Emitter& e) {
      for (std::size_t i = 0; i < ranks.size(); ++i) {
        if (!is_spare[i]) e.copy(pieces.in(come, i), pieces.of(Buffer::output, ranks[i]));
      }
    });
  }
  return steps;
}

}  // namespace eco::algo
