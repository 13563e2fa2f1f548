// Barrier around the ring in rank order: a token collects everybody, a second round lets everybody go.
//
//   steps            2 (P-1)
//   model            2 (P-1) alpha: fewest messages, and each link of the ring crossed in one direction only
//   source           Vadhiyar, Fagg and Dongarra, SC 2000, table 1 (barrier: extended ring)
//
// P = 3:   1 -> 2 -> 0   then   0 -> 1 -> 2
#include <algorithm>

#include "eco/algo/algorithms.h"
#include "eco/algo/patterns/candidates.h"
#include "eco/algo/patterns/pipeline.h"

namespace eco::algo {
namespace {

using coll::CommonProblem;
using net::GroupView;

class BarrierRing final : public Algorithm {
 public:
  std::string_view name() const override { return "barrier/ring"; }
  coll::Collective collective() const override { return coll::Collective::barrier; }

  std::optional<std::string> why_not(const CommonProblem& problem, const GroupView&) const override {
    if (problem.n_ranks < 2) return "one rank has nobody to wait for";
    return std::nullopt;
  }

  std::vector<Params> candidates(const CommonProblem& problem, const GroupView&) const override {
    return tree_candidates(problem, Shape::chain);
  }

  sched::Schedule build(const CommonProblem& problem, const GroupView&, const Params& params,
                        int rank) const override {
    std::vector<int> leftwards = rank_ring(problem.n_ranks, 1);
    std::reverse(leftwards.begin(), leftwards.end());
    const Owner owner{shape_tree(Shape::chain, leftwards, problem.n_ranks),
                      shape_tree(Shape::chain, rank_ring(problem.n_ranks, 0), problem.n_ranks)};
    return pipelined_allreduce(problem, {owner}, params, rank);
  }
};

}  // namespace

const Algorithm& barrier_ring() {
  static const BarrierRing algorithm;
  return algorithm;
}

}  // namespace eco::algo
