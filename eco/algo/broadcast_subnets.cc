// Broadcast over ECO's tree of subnets, pipelined through both levels.
//
//   steps            n/s + depth of the tree, each of one segment s
//   bytes per link   n: a subnet is entered once, and every host of it is served once
//   model            (n/s + depth) * (alpha + s/B) with B the rate of the slowest link on the way
//   order            none (data movement)
//   source           Lowekamp and Beguelin, CMU-CS-95-191, section 4; pipelining as in Barchet-Estefanel and Mounie,
//                    2004, table 1 (segmented chain)
//
// Subnets {0 1 2} {3 4 5} {6 7}, root 0, between = chain, inside = chain:
//
//   0 -> 3 -> 6 -> 7          a segment goes on to the next subnet before it is spread in its own
//   |    `-> 4 -> 5
//   `-> 1 -> 2
//
// With head = h the first h segments go 0 -> 3 and 0 -> 6 at once: a chain of store-and-forward media loses a segment's
// time per medium while it fills, and that is how the last subnet starts early.
#include "eco/algo/algorithms.h"
#include "eco/algo/patterns/candidates.h"
#include "eco/algo/patterns/pipeline.h"

namespace eco::algo {
namespace {

using coll::CommonProblem;
using net::GroupView;

class BroadcastSubnets final : public Algorithm {
 public:
  std::string_view name() const override { return "broadcast/subnets"; }
  coll::Collective collective() const override { return coll::Collective::broadcast; }

  std::optional<std::string> why_not(const CommonProblem& problem, const GroupView&) const override {
    if (problem.n_ranks < 2) return "one rank has nobody to talk to";
    if (problem.bytes == 0) return "there is nothing to send";
    return std::nullopt;
  }

  std::vector<Params> candidates(const CommonProblem& problem, const GroupView& view) const override {
    return subnet_candidates(problem, view, /*for_broadcast=*/true);
  }

  sched::Schedule build(const CommonProblem& problem, const GroupView& view, const Params& params,
                        int rank) const override {
    Params straight = params;
    straight.between = Shape::flat;
    return pipelined_broadcast(problem, subnet_tree(view, problem.root, params),
                               subnet_tree(view, problem.root, straight), params, rank);
  }
};

}  // namespace

const Algorithm& broadcast_subnets() {
  static const BroadcastSubnets algorithm;
  return algorithm;
}

}  // namespace eco::algo
