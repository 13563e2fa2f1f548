// Broadcast as scatter, then allgather: the root sends the message once in all, and the blocks meet again everywhere.
//
//   steps            those of the parts; segment j is scattered while segment j - 1 is gathered
//   bytes per link   out of the root n (P-1)/P; then what the allgather takes
//   model            binomial and ring: (log2(P) + P - 1) * alpha + 2 (P-1)/P n beta, where a tree takes log2(P) n beta
//   order            none (data movement)
//   source           van de Geijn: Barnett et al., Interprocessor collective communication library, SHPCC 1994; Thakur,
//                    Rabenseifner and Gropp, IJHPCA 19 (2005)
//
// P = 4, root 0:   0 -> 1 [1], 0 -> 2 [2 3], 2 -> 3 [3]   then   r -> r+1 three times
//
// What is left of a message that is no equal blocks goes down a binomial tree beside them.
#include "eco/algo/composed.h"

namespace eco::algo {

using coll::Collective;
using sched::Buffer;
using sched::Region;

Steps broadcast_as_scatter_allgather(const Piece& piece) {
  const std::size_t main = piece.in_blocks();
  const std::size_t block = main / static_cast<std::size_t>(piece.problem.n_ranks);
  const Region message{Buffer::output};
  const Region own{Buffer::output, static_cast<std::size_t>(piece.rank) * block};
  const int root = piece.problem.root;
  Steps steps;
  if (main > 0) {
    steps.part(piece.part(0), {piece.everybody(Collective::scatter, main, root)}, message, own);
    steps.part(piece.part(1), {piece.everybody(Collective::allgather, main)}, own, message);
  }
  if (main < piece.bytes) {
    steps.part("broadcast/binomial", {piece.everybody(Collective::broadcast, piece.bytes - main, root)}, {},
               {Buffer::output, main});
  }
  return steps;
}

}  // namespace eco::algo
