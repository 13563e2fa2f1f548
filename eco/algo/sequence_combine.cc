// Short reductions by moving data: all contributions are brought to whoever wants the result, who combines them alone.
//
//   steps            those of an allgather (allreduce) or a gather (reduce), of P vectors
//   bytes per link   P n out of the whole group's vectors: for short ones
//   model            allgather(P n) or gather(P n) + P n gamma
//   order            rank order, commutative or not; all ranks combine alike
//   source           Vadhiyar, Fagg and Dongarra, SC 2000, table 1 (allgather or gather followed by operation)
//
// P = 3:   every rank gets 0's, 1's and 2's vector and makes v0 + (v1 + v2)
#include "eco/algo/composed.h"

namespace eco::algo {
namespace {

using coll::Collective;
using sched::Buffer;
using sched::Emitter;
using sched::Region;

// Right to left, so that each operand stands left of what is there.
void combine_all(Steps& steps, const Region& vectors, std::size_t bytes, std::size_t n) {
  steps.own([=](Emitter& e) {
    const auto vector = [&](std::size_t of) {
      return Region{vectors.buffer, vectors.offset + of * bytes, bytes};
    };
    const Region result{Buffer::output, 0, bytes};
    e.copy(vector(n - 1), result);
    for (std::size_t of = n - 1; of-- > 0;) e.reduce(vector(of), result);
  });
}

}  // namespace

Steps allreduce_as_allgather_combine(const Piece& piece) {
  const auto n = static_cast<std::size_t>(piece.problem.n_ranks);
  Steps steps;
  const Region vectors = steps.scratch(n * piece.bytes);
  steps.part(piece.part(0), {piece.everybody(Collective::allgather, n * piece.bytes)}, {Buffer::input},
             vectors);
  combine_all(steps, vectors, piece.bytes, n);
  return steps;
}

Steps reduce_as_gather_combine(const Piece& piece) {
  const auto n = static_cast<std::size_t>(piece.problem.n_ranks);
  const int root = piece.problem.root;
  const bool wants = piece.rank == root;
  Steps steps;
  const Region vectors = steps.scratch(wants ? n * piece.bytes : 0);
  steps.part(piece.part(0), {piece.everybody(Collective::gather, n * piece.bytes, root)}, {Buffer::input},
             vectors);
  if (wants) combine_all(steps, vectors, piece.bytes, n);
  return steps;
}

}  // namespace eco::algo
