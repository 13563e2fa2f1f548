// Two-tree reduce: even segments come up one binary tree, odd ones up another, whose inner ranks are the leaves of the
// first.
//
//   steps            n/s + 2 log2(P), each of one segment s
//   bytes per link   n into the root; n out of and about n into every other rank
//   model            (n/s + 2 log2(P)) * (alpha + s/B) + n gamma
//   order            needs a commutative operation: the two trees number ranks differently
//   source           Sanders, Speck and Traeff, Parallel Computing 35 (2009)
//
// P = 5, root 0:   even   1, 3 -> 2 -> 4 -> 0      odd   4, 2 -> 3 -> 1 -> 0
#include <algorithm>

#include "eco/algo/builders.h"
#include "eco/algo/patterns/combine.h"
#include "eco/algo/patterns/segments.h"
#include "eco/algo/patterns/two_trees.h"

namespace eco::algo {

using sched::Buffer;
using sched::Emitter;

Schedule build_reduce_two_tree(const CommonProblem& problem, const Params& params, int rank) {
  const std::array<Tree, 2> trees = two_trees_below(problem.root, problem.n_ranks);
  const std::array<Place, 2> places = {place_in(trees[0], rank), place_in(trees[1], rank)};
  const Segments segments(problem, params.segment_bytes, 2);
  const Slots slots(segments, std::max(places[0].children.size(), places[1].children.size()), params);
  Schedule schedule(rank, problem.n_ranks);
  set_window(schedule, params);
  schedule.n_channels = 2;  // one for each tree
  schedule.scratch_bytes = slots.bytes();
  schedule.repeat(segments.count(), [=](std::size_t j, Emitter& e) {
    const Place& place = places[j % 2];
    const int channel = static_cast<int>(j % 2);
    combine_upwards(e, place, segments.region(Buffer::input, j), segments.region(Buffer::output, j), slots, j,
                    channel);
  });
  return schedule;
}

}  // namespace eco::algo
