// Allreduce over ECO's trees of subnets: every subnet owns every K-th segment.
//
//   steps            segments of all owners in flight at once; each goes up its owner's tree and down again
//   bytes per link   of K subnets, an uplink carries n (K-1)/K out for segments that others own and n/K (K-1) out for
//                    its own results: 2 n (K-1)/K each way, what a ring over the subnets would carry
//   model            2 (K-1)/K n / B(uplink) + (depth up + depth down) * (alpha + s/B)
//   order            an element is combined along one tree, its owner's; needs a commutative operation
//   source           Lowekamp and Beguelin, CMU-CS-95-191, section 5 (up and down the broadcast pattern); owners in
//                    turn instead of one root: its section 7
//
// Subnets {0 1} {2 3}, between = flat, inside = chain; even segments belong to subnet 0, odd ones to subnet 1:
//
//   even segment:  1 -> 0 <- 2 <- 3   then   0 -> 2 -> 3,  0 -> 1
//   odd segment:   3 -> 2 <- 0 <- 1   then   2 -> 0 -> 1,  2 -> 3
#include "eco/algo/algorithms.h"
#include "eco/algo/patterns/candidates.h"
#include "eco/algo/patterns/pipeline.h"

namespace eco::algo {
namespace {

using coll::CommonProblem;
using net::GroupView;

class AllreduceSubnets final : public Algorithm {
 public:
  std::string_view name() const override { return "allreduce/subnets"; }
  coll::Collective collective() const override { return coll::Collective::allreduce; }

  std::optional<std::string> why_not(const CommonProblem& problem, const GroupView&) const override {
    if (problem.n_ranks < 2) return "one rank has nobody to talk to";
    if (problem.bytes == 0) return "there is nothing to combine";
    if (!problem.commutative) return "needs a commutative operation";
    return std::nullopt;
  }

  std::vector<Params> candidates(const CommonProblem& problem, const GroupView& view) const override {
    return subnet_candidates(problem, view, /*for_broadcast=*/false);
  }

  sched::Schedule build(const CommonProblem& problem, const GroupView& view, const Params& params,
                        int rank) const override {
    std::vector<Owner> owners;
    for (int s = 0; s < view.n_subnets(); ++s) {
      const auto& ranks = view.subnets[static_cast<std::size_t>(s)].ranks;
      // Owner s leads with the s-th rank of each subnet, so that leading is shared.
      const int root = ranks[static_cast<std::size_t>(s) % ranks.size()];
      const Tree tree = subnet_tree(view, root, params, s);
      owners.push_back({tree, tree});
    }
    return pipelined_allreduce(problem, owners, params, rank);
  }
};

}  // namespace

const Algorithm& allreduce_subnets() {
  static const AllreduceSubnets algorithm;
  return algorithm;
}

}  // namespace eco::algo
