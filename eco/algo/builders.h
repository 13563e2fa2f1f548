// The builders of schedules, one file each. What varies between patterns is the tree they are given; registry.cc joins
// builders and trees to algorithms. All are pure: one rank's schedule from facts that all ranks share.
#pragma once

#include <functional>

#include "eco/algo/patterns/edges.h"
#include "eco/algo/patterns/rounds.h"
#include "eco/algo/patterns/tree.h"
#include "eco/algo/recipe.h"
#include "eco/coll/problem.h"
#include "eco/net/group_view.h"
#include "eco/sched/schedule.h"

namespace eco::algo {

using coll::CommonProblem;
using net::GroupView;
using sched::Schedule;

// Of collectives in which every rank owns something: the tree of one owner, or one rank's place in it.
using TreeOf = std::function<Tree(int owner)>;
using PlaceOf = std::function<Place(int owner)>;

// broadcast.cc: segment j down the tree of way j mod K; the first params.head and the last params.tail of them down its
// `straight` (same root).
struct Way {
  Tree tree;
  Tree straight;
};
Schedule build_broadcast(const CommonProblem& problem, const std::vector<Way>& ways, const Params& params,
                         int rank);
// reduce.cc: up a tree. Where the operation does not commute the tree is rooted at rank 0 and keeps rank order, and rank
// 0 hands the result to the root.
Schedule build_reduce(const CommonProblem& problem, const Tree& tree, const Params& params, int rank);
// allreduce.cc: up and down. An owner of segments is the root of both its trees; segment j is owner j mod K's. Of every K
// segments `first`'s is this rank's first, and the others follow in turn.
struct Owner {
  Place up;  // of the rank whose schedule it is
  Place down;
};
Schedule build_allreduce(const CommonProblem& problem, const std::vector<Owner>& owners, const Params& params,
                         int rank, std::size_t first = 0);
// scatter.cc, gather.cc: blocks travel with those of their subtree.
Schedule build_scatter(const CommonProblem& problem, const Tree& tree, const Params& params, int rank);
Schedule build_gather(const CommonProblem& problem, const Tree& tree, const Params& params, int rank);
// allgather.cc, reduce_scatter.cc: every rank's block down, or up, a tree of its own.
Schedule build_allgather(const CommonProblem& problem, const PlaceOf& place_of, const Params& params,
                         int rank);
Schedule build_reduce_scatter(const CommonProblem& problem, const PlaceOf& place_of, const Params& params,
                              int rank);
// split_broadcast.cc: halves down two binary trees, then across. two_tree_*.cc: even and odd segments over two trees.
Schedule build_broadcast_split(const CommonProblem& problem, const Params& params, int rank);
Schedule build_broadcast_two_tree(const CommonProblem& problem, const Params& params, int rank);
Schedule build_reduce_two_tree(const CommonProblem& problem, const Params& params, int rank);
// rail_trees_broadcast.cc: halves down two binary trees in each subnet, then across, over two rails both ways.
Schedule build_broadcast_rail_trees(const CommonProblem& problem, const GroupView& view, const Params& params,
                                    int rank);
// alltoall.cc: every pair directly, other subnets first where `far_first`.
Schedule build_alltoall(const CommonProblem& problem, const GroupView& view, bool far_first,
                        const Params& params, int rank);
// steps_alltoall.cc: one exchange after the other, partners in pairs or to the right. linear_alltoall.cc: few messages at
// once.
Schedule build_alltoall_steps(const CommonProblem& problem, bool in_pairs, const Params& params, int rank);
Schedule build_alltoall_linear(const CommonProblem& problem, const Params& params, int rank);
// scan.cc: prefixes from rank to rank.
Schedule build_scan_chain(const CommonProblem& problem, const Params& params, int rank);

// lanes_alltoall.cc: inside a subnet to those who collect for others, then between members of subnets.
Schedule build_alltoall_lanes(const CommonProblem& problem, const GroupView& view, const Params& params,
                              int rank);

// leaders_*.cc: up to one leader in each subnet, leaders exchange, down again: every subnet hears from every other once.
Schedule build_allreduce_leaders(const CommonProblem& problem, const GroupView& view, const Params& params,
                                 int rank);
Schedule build_allgather_leaders(const CommonProblem& problem, const GroupView& view, const Params& params,
                                 int rank);
Schedule build_alltoall_leaders(const CommonProblem& problem, const GroupView& view, const Params& params,
                                int rank);
Schedule build_reduce_scatter_leaders(const CommonProblem& problem, const GroupView& view,
                                      const Params& params, int rank);
// Scan and exscan: vectors are gathered everywhere, and every rank combines those before it.
Schedule build_scan_leaders(const CommonProblem& problem, const GroupView& view, const Params& params,
                            int rank);

// doubling_*.cc: log P rounds, in rank order.
Schedule build_allreduce_doubling(const CommonProblem& problem, const Params& params, int rank);
Schedule build_allgather_rounds(const CommonProblem& problem, const std::vector<Round>& rounds,
                                const Params& params, int rank);
Schedule build_alltoall_rounds(const CommonProblem& problem, int radix, const Params& params, int rank);
Schedule build_scan_doubling(const CommonProblem& problem, const Params& params, int rank);
// halving_reduce_scatter.cc, halves_allgather.cc: partners at powers of two. circulant_reduce_scatter.cc: any number.
Schedule build_reduce_scatter_halving(const CommonProblem& problem, const Params& params, int rank);
Schedule build_allgather_halves(const CommonProblem& problem, const Params& params, int rank);
Schedule build_reduce_scatter_circulant(const CommonProblem& problem, const Params& params, int rank);
// neighbor_allgather.cc: an even number of ranks.
Schedule build_allgather_neighbor(const CommonProblem& problem, const Params& params, int rank);

// Along the edges of a graph. neighborhood_allgather.cc: every block down a tree over those who hear it.
// neighborhood_alltoall.cc: every edge by itself; neighborhood_leaders.cc: what one subnet tells another in one message.
Schedule build_neighborhood_allgather(const CommonProblem& problem, const TreeOf& tree_of,
                                      const Params& params, int rank);
Schedule build_neighborhood_alltoall(const CommonProblem& problem, const Params& params, int rank);
Schedule build_neighborhood_alltoall_leaders(const CommonProblem& problem, const GroupView& view,
                                             const Params& params, int rank);
// The same: how many edges lead from one subnet to another, at most.
std::size_t most_edges_across(const coll::Neighborhood& graph, const GroupView& view);

// dissemination_barrier.cc: params.degree - 1 others in each round. ring_barrier.cc: two turns of a ring, the second up to
// the last who needs it or to the end.
Schedule build_barrier_dissemination(const CommonProblem& problem, const Params& params, int rank);
Schedule build_barrier_ring(const CommonProblem& problem, bool to_the_end, const Params& params, int rank);

}  // namespace eco::algo
