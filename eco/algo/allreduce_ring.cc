// Ring allreduce in rank order, every rank the owner of every P-th segment.
//
//   steps            2 (P-1) for one segment, all segments in flight
//   bytes per rank   2 (P-1)/P n out and as much in: optimal for bandwidth on one switch
//   model            2 (P-1) alpha + 2 (P-1)/P n beta + (P-1)/P n gamma
//   order            segment j is combined j+1, j+2, ..., j (modulo P); needs a commutative operation
//   source           Patarasuk and Yuan, JPDC 69 (2009); segments instead of P blocks, so that the two halves overlap
//
// P = 3, segment 0:   1 -> 2 -> 0 combined on the way,   then   0 -> 1 -> 2
#include <algorithm>

#include "eco/algo/algorithms.h"
#include "eco/algo/patterns/candidates.h"
#include "eco/algo/patterns/pipeline.h"

namespace eco::algo {
namespace {

using coll::CommonProblem;
using net::GroupView;

class AllreduceRing final : public Algorithm {
 public:
  std::string_view name() const override { return "allreduce/ring"; }
  coll::Collective collective() const override { return coll::Collective::allreduce; }

  std::optional<std::string> why_not(const CommonProblem& problem, const GroupView&) const override {
    if (problem.n_ranks < 2) return "one rank has nobody to talk to";
    if (problem.bytes == 0) return "there is nothing to combine";
    if (!problem.commutative) return "needs a commutative operation";
    return std::nullopt;
  }

  std::vector<Params> candidates(const CommonProblem& problem, const GroupView&) const override {
    return tree_candidates(problem, Shape::chain);
  }

  sched::Schedule build(const CommonProblem& problem, const GroupView&, const Params& params,
                        int rank) const override {
    std::vector<Owner> owners;
    for (int owner = 0; owner < problem.n_ranks; ++owner) {
      // Up: owner + 1 is the leaf and the owner's left neighbour its last child, so both ways lead to the right.
      std::vector<int> leftwards = rank_ring(problem.n_ranks, owner + 1);
      std::reverse(leftwards.begin(), leftwards.end());
      owners.push_back({shape_tree(Shape::chain, leftwards, problem.n_ranks),
                        shape_tree(Shape::chain, rank_ring(problem.n_ranks, owner), problem.n_ranks)});
    }
    return pipelined_allreduce(problem, owners, params, rank);
  }
};

}  // namespace

const Algorithm& allreduce_ring() {
  static const AllreduceRing algorithm;
  return algorithm;
}

}  // namespace eco::algo
