// Reduce as reduce-scatter, then gather: every rank combines one block, the root collects them.
//
//   steps            those of the parts; segment j is combined while segment j - 1 is gathered
//   bytes per link   (P-1)/P n per rank to combine, (P-1)/P n into the root
//   model            halving and binomial: 2 log2(P) alpha + 2 (P-1)/P n beta + (P-1)/P n gamma, where a binomial tree
//                    takes log2(P) n (beta + gamma)
//   order            that of the reduce-scatter
//   source           Rabenseifner, ICCS 2004
//
// P = 4, root 0:   0 <-> 2, 1 <-> 3   0 <-> 1, 2 <-> 3   then   1 -> 0 [1], 3 -> 2 [3], 2 -> 0 [2 3]
//
// What is left of a vector that is no equal blocks is combined up a binomial tree beside them.
#include "eco/algo/composed.h"

namespace eco::algo {

using coll::Collective;
using sched::Buffer;
using sched::Region;

Steps reduce_as_reduce_scatter_gather(const Piece& piece) {
  const std::size_t main = piece.in_blocks();
  const int root = piece.problem.root;
  Steps steps;
  if (main > 0) {
    const Region own = steps.scratch(main / static_cast<std::size_t>(piece.problem.n_ranks));
    steps.part(piece.part(0), {piece.everybody(Collective::reduce_scatter, main)}, {Buffer::input}, own);
    steps.part(piece.part(1), {piece.everybody(Collective::gather, main, root)}, own, {Buffer::output});
  }
  if (main < piece.bytes) {
    steps.part("reduce/binomial", {piece.everybody(Collective::reduce, piece.bytes - main, root)},
               {Buffer::input, main}, {Buffer::output, main});
  }
  return steps;
}

}  // namespace eco::algo
