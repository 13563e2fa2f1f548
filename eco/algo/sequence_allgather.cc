// Allgather as gather to rank 0, then broadcast of all blocks.
//
//   steps            those of the parts, each cut into segments of its own
//   bytes per link   n (P-1)/P into rank 0, n down the broadcast's tree
//   model            gather(n) + broadcast(n)
//   order            none (data movement)
//   source           Vadhiyar, Fagg and Dongarra, SC 2000, table 1
//
// P = 4, binomial:   1 -> 0 [1], 3 -> 2 [3], 2 -> 0 [2 3]   then   0 -> 2, 0 -> 1, 2 -> 3 of all four
#include "eco/algo/composed.h"

namespace eco::algo {

using coll::Collective;
using sched::Buffer;

Steps allgather_as_gather_broadcast(const Piece& piece) {
  const std::size_t all = piece.problem.bytes;
  Steps steps;
  steps.part(piece.part(0), {piece.everybody(Collective::gather, all)}, {Buffer::input}, {Buffer::output});
  steps.part(piece.part(1), {piece.everybody(Collective::broadcast, all)}, {}, {Buffer::output});
  return steps;
}

}  // namespace eco::algo
