// Reduce-scatter as reduce to rank 0, then scatter, for short vectors: the other reduce-scatters that keep rank order
// need subnets of consecutive ranks.
//
//   steps            those of the parts, each cut into segments of its own
//   bytes per link   n up the reduce's tree, n (P-1)/P out of rank 0
//   model            reduce(n) + scatter(n)
//   order            that of the reduce: rank order, commutative or not
//   source           Thakur, Rabenseifner and Gropp, IJHPCA 19 (2005), section 4.3 (the former algorithm of MPICH)
//
// P = 4, binomial:   1 -> 0 <- 2 <- 3   then   0 -> 2 [2 3], 2 -> 3 [3], 0 -> 1 [1]
#include "eco/algo/composed.h"

namespace eco::algo {

using coll::Collective;
using sched::Buffer;
using sched::Region;

Steps reduce_scatter_as_reduce_then_scatter(const Piece& piece) {
  const std::size_t all = piece.problem.bytes;
  Steps steps;
  const Region vector = steps.scratch(piece.rank == 0 ? all : 0);
  steps.part(piece.part(0), {piece.everybody(Collective::reduce, all)}, {Buffer::input}, vector);
  steps.part(piece.part(1), {piece.everybody(Collective::scatter, all)}, vector, {Buffer::output});
  return steps;
}

}  // namespace eco::algo
