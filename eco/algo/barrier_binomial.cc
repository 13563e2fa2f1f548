// Barrier over a binomial tree in rank order: a token up to rank 0 and down again.
//
//   steps            2 log2(P)
//   model            2 log2(P) alpha
//   source           Vadhiyar, Fagg and Dongarra, SC 2000, table 1 (barrier: distributed binomial)
//
// P = 4:   1 -> 0 <- 2 <- 3   then   0 -> 2 -> 3,  0 -> 1
#include "eco/algo/algorithms.h"
#include "eco/algo/patterns/candidates.h"
#include "eco/algo/patterns/pipeline.h"

namespace eco::algo {
namespace {

using coll::CommonProblem;
using net::GroupView;

class BarrierBinomial final : public Algorithm {
 public:
  std::string_view name() const override { return "barrier/binomial"; }
  coll::Collective collective() const override { return coll::Collective::barrier; }

  std::optional<std::string> why_not(const CommonProblem& problem, const GroupView&) const override {
    if (problem.n_ranks < 2) return "one rank has nobody to wait for";
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

const Algorithm& barrier_binomial() {
  static const BarrierBinomial algorithm;
  return algorithm;
}

}  // namespace eco::algo
