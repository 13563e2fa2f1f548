// Barrier over ECO's tree of subnets: a token is combined up to the root and sent down again.
//
//   steps            2 * depth of the tree; every link between subnets is crossed once each way
//   model            2 * sum of the latencies on the longest way
//   source           Lowekamp and Beguelin, CMU-CS-95-191, section 5
//
// Subnets {0 1} {2 3}:   1 -> 0 <- 2 <- 3   then   0 -> 2 -> 3,  0 -> 1
#include "eco/algo/algorithms.h"
#include "eco/algo/patterns/candidates.h"
#include "eco/algo/patterns/pipeline.h"

namespace eco::algo {
namespace {

using coll::CommonProblem;
using net::GroupView;

class BarrierSubnets final : public Algorithm {
 public:
  std::string_view name() const override { return "barrier/subnets"; }
  coll::Collective collective() const override { return coll::Collective::barrier; }

  std::optional<std::string> why_not(const CommonProblem& problem, const GroupView&) const override {
    if (problem.n_ranks < 2) return "one rank has nobody to wait for";
    return std::nullopt;
  }

  std::vector<Params> candidates(const CommonProblem& problem, const GroupView& view) const override {
    return subnet_candidates(problem, view, /*for_broadcast=*/false);
  }

  sched::Schedule build(const CommonProblem& problem, const GroupView& view, const Params& params,
                        int rank) const override {
    const Tree tree = subnet_tree(view, view.subnets[0].ranks[0], params);
    return pipelined_allreduce(problem, {{tree, tree}}, params, rank);
  }
};

}  // namespace

const Algorithm& barrier_subnets() {
  static const BarrierSubnets algorithm;
  return algorithm;
}

}  // namespace eco::algo
