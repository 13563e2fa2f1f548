// Binomial broadcast in rank order, segmented.
//
//   steps            log2(P) rounds for one segment; the root sends log2(P) copies
//   model            log2(P) * (alpha + n beta) unsegmented
//   order            none (data movement)
//   source           Barchet-Estefanel and Mounie, 2004, table 1 (binomial, segmented binomial)
//
// P = 8, root 0:   0 -> 4, 2, 1     4 -> 6, 5     2 -> 3     6 -> 7      (farthest first)
#include "eco/algo/algorithms.h"
#include "eco/algo/patterns/candidates.h"
#include "eco/algo/patterns/pipeline.h"

namespace eco::algo {
namespace {

using coll::CommonProblem;
using net::GroupView;

class BroadcastBinomial final : public Algorithm {
 public:
  std::string_view name() const override { return "broadcast/binomial"; }
  coll::Collective collective() const override { return coll::Collective::broadcast; }

  std::optional<std::string> why_not(const CommonProblem& problem, const GroupView&) const override {
    if (problem.n_ranks < 2) return "one rank has nobody to talk to";
    if (problem.bytes == 0) return "there is nothing to send";
    return std::nullopt;
  }

  std::vector<Params> candidates(const CommonProblem& problem, const GroupView&) const override {
    return tree_candidates(problem, Shape::binomial);
  }

  sched::Schedule build(const CommonProblem& problem, const GroupView&, const Params& params,
                        int rank) const override {
    const Tree tree = shape_tree(Shape::binomial, rank_ring(problem.n_ranks, problem.root), problem.n_ranks);
    return pipelined_broadcast(problem, tree, params, rank);
  }
};

}  // namespace

const Algorithm& broadcast_binomial() {
  static const BroadcastBinomial algorithm;
  return algorithm;
}

}  // namespace eco::algo
