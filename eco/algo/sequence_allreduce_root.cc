// Allreduce as reduce to rank 0, then broadcast: any way up, any other way down.
//
//   steps            those of the parts; segment j goes down while later ones come up
//   bytes per link   n up and n down along the trees
//   model            the sum of the parts' latencies, the larger of their transfers
//   order            that of the reduce; one rank computes it, so all obtain the same expression
//   source           Vadhiyar, Fagg and Dongarra, SC 2000, table 1
//
// P = 4, parts = reduce/binomial,broadcast/chain:   1 -> 0 <- 2 <- 3   then   0 -> 1 -> 2 -> 3
#include "eco/algo/composed.h"

namespace eco::algo {

using coll::Collective;
using sched::Buffer;

Steps allreduce_as_reduce_broadcast(const Piece& piece) {
  Steps steps;
  steps.part(piece.part(0), {piece.everybody(Collective::reduce, piece.bytes)}, {Buffer::input},
             {Buffer::output});
  steps.part(piece.part(1), {piece.everybody(Collective::broadcast, piece.bytes)}, {}, {Buffer::output});
  return steps;
}

}  // namespace eco::algo
