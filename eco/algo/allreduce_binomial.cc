// Reduce up a binomial tree and broadcast down the same tree, in rank order, segmented.
//
//   steps            2 log2(P) rounds for one segment
//   model            2 log2(P) * (alpha + n beta) + log2(P) n gamma unsegmented
//   order            an element is combined along one tree; needs a commutative operation
//   source           Vadhiyar, Fagg and Dongarra, SC 2000, table 1 (allreduce: binomial)
//
// P = 4:   1 -> 0 <- 2 <- 3   then   0 -> 2 -> 3,  0 -> 1
#include "eco/algo/algorithms.h"
#include "eco/algo/patterns/candidates.h"
#include "eco/algo/patterns/pipeline.h"

namespace eco::algo {
namespace {

using coll::CommonProblem;
using net::GroupView;

class AllreduceBinomial final : public Algorithm {
 public:
  std::string_view name() const override { return "allreduce/binomial"; }
  coll::Collective collective() const override { return coll::Collective::allreduce; }

  std::optional<std::string> why_not(const CommonProblem& problem, const GroupView&) const override {
    if (problem.n_ranks < 2) return "one rank has nobody to talk to";
    if (problem.bytes == 0) return "there is nothing to combine";
    if (!problem.commutative) return "needs a commutative operation";
    return std::nullopt;
  }

  std::vector<Params> candidates(const CommonProblem& problem, const GroupView&) const override {
    return tree_candidates(problem, Shape::binomial);
  }

  sched::Schedule build(const CommonProblem& problem, const GroupView&, const Params& params,
                        int rank) const override {
    const Tree tree = shape_tree(Shape::binomial, rank_ring(problem.n_ranks, 0), problem.n_ranks);
    return pipelined_allreduce(problem, {{tree, tree}}, params, rank);
  }
};

}  // namespace

const Algorithm& allreduce_binomial() {
  static const AllreduceBinomial algorithm;
  return algorithm;
}

}  // namespace eco::algo
