// Broadcast along the ring in rank order (a pipelined chain that starts at the root).
//
//   steps            n/s + P - 2, each of one segment s
//   bytes per link   n once into and once out of every rank: optimal for bandwidth on one switch
//   model            (n/s + P - 2) * (alpha + s beta)
//   order            none (data movement)
//   source           Barchet-Estefanel and Mounie, 2004, table 1 (segmented chain, "pipeline")
//
// P = 4, root 1:   1 -> 2 -> 3 -> 0
#include "eco/algo/algorithms.h"
#include "eco/algo/patterns/candidates.h"
#include "eco/algo/patterns/pipeline.h"

namespace eco::algo {
namespace {

using coll::CommonProblem;
using net::GroupView;

class BroadcastRing final : public Algorithm {
 public:
  std::string_view name() const override { return "broadcast/ring"; }
  coll::Collective collective() const override { return coll::Collective::broadcast; }

  std::optional<std::string> why_not(const CommonProblem& problem, const GroupView&) const override {
    if (problem.n_ranks < 2) return "one rank has nobody to talk to";
    if (problem.bytes == 0) return "there is nothing to send";
    return std::nullopt;
  }

  std::vector<Params> candidates(const CommonProblem& problem, const GroupView&) const override {
    return tree_candidates(problem, Shape::chain);
  }

  sched::Schedule build(const CommonProblem& problem, const GroupView&, const Params& params,
                        int rank) const override {
    const Tree tree = shape_tree(Shape::chain, rank_ring(problem.n_ranks, problem.root), problem.n_ranks);
    return pipelined_broadcast(problem, tree, params, rank);
  }
};

}  // namespace

const Algorithm& broadcast_ring() {
  static const BroadcastRing algorithm;
  return algorithm;
}

}  // namespace eco::algo
