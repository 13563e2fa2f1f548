// Reduce up a tree, in segments.
//
//   steps            n/s + depth of the tree, each of one segment s
//   bytes per link   over ECO's tree n: a subnet is left once
//   model            (n/s + depth) * (alpha + s/B) + n gamma
//   order            any tree if the operation commutes; else a tree of runs from rank 0, which hands over the result
//   source           Lowekamp and Beguelin, CMU-CS-95-191, section 5 (the broadcast pattern, upwards)
//
// reduce/subnets on {0 1} {2 3}, root 0, between = flat, inside = chain:   1 -> 0 <- 2 <- 3
#include "eco/algo/builders.h"
#include "eco/algo/patterns/combine.h"
#include "eco/algo/patterns/segments.h"

namespace eco::algo {

using sched::Buffer;
using sched::Emitter;
using sched::Region;

Schedule build_reduce(const CommonProblem& problem, const Tree& tree, const Params& params, int rank) {
  const Segments segments(problem, params.segment_bytes);
  Place place = place_in(tree, rank);
  if (!problem.commutative) place.children = ascending(place.children);
  const Slots slots(segments, place.children.size(), params);
  Schedule schedule(rank, problem.n_ranks);
  set_window(schedule, params);
  schedule.n_channels = 2;  // up; and from the tree's root to the collective's
  schedule.scratch_bytes = slots.bytes();
  schedule.repeat(segments.count(),
                  [=, tree_root = tree.root, root = problem.root](std::size_t j, Emitter& e) {
                    const Region mine = segments.region(Buffer::input, j);
                    const Region result = segments.region(Buffer::output, j);
                    const Region total = combine_with_children(e, place.children, mine, slots, j, 0);
                    if (place.parent >= 0) e.send(place.parent, total, 0);
                    if (tree_root == root && rank == root) e.copy(total, result);
                    if (tree_root != root && rank == tree_root) e.send(root, total, 1);
                    if (tree_root != root && rank == root) e.recv(tree_root, result, 1);
                  });
  return schedule;
}

}  // namespace eco::algo
