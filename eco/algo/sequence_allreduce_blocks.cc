// Allreduce as reduce-scatter, then allgather: every rank combines one block and gives it to all.
//
//   steps            those of the parts; segment j is combined while segment j - 1 is gathered
//   bytes per link   2 (P-1)/P n per rank, the least there is, with any of the rings, halves and circulant graphs
//   model            halving and doubling: 2 log2(P) alpha + 2 (P-1)/P n beta + (P-1)/P n gamma
//   order            that of the reduce-scatter, one expression for each block: all ranks obtain the same
//   source           Rabenseifner, ICCS 2004 (halving and doubling); Patarasuk and Yuan, JPDC 69 (2009) (rings); Traeff,
//                    Optimal, non-pipelined reduce-scatter and allreduce algorithms, arXiv 2025 (circulant graph)
//
// P = 4, halving and doubling:   0 <-> 2, 1 <-> 3 (halves)   0 <-> 1, 2 <-> 3 (quarters)   and the same way back
//
// What is left of a vector that is no equal blocks is combined by recursive doubling beside them.
#include <algorithm>

#include "eco/algo/composed.h"

namespace eco::algo {

using coll::Collective;
using sched::Buffer;
using sched::Region;

Steps reduce_scatter_then_allgather(const Piece& piece, const std::vector<int>& members) {
  const std::size_t main = piece.in_blocks();
  const std::size_t block = main / members.size();
  const auto place = std::find(members.begin(), members.end(), piece.rank) - members.begin();
  const Region own{Buffer::output, static_cast<std::size_t>(place) * block};
  const auto of_all = [&](Collective collective) {
    return std::vector<Group>{{members, piece.problem_of(collective, members.size(), main)}};
  };
  Steps steps;
  if (main > 0) {
    steps.part(piece.part(0), of_all(Collective::reduce_scatter), {Buffer::input}, own);
    steps.part(piece.part(1), of_all(Collective::allgather), own, {Buffer::output});
  }
  if (main < piece.bytes) {
    steps.part("allreduce/doubling", {piece.everybody(Collective::allreduce, piece.bytes - main)},
               {Buffer::input, main}, {Buffer::output, main});
  }
  return steps;
}

Steps allreduce_as_reduce_scatter_allgather(const Piece& piece) {
  return reduce_scatter_then_allgather(piece, rank_ring(piece.problem.n_ranks, 0));
}

}  // namespace eco::algo
