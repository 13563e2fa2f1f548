// Two-tree broadcast: even segments go down one binary tree, odd ones down another, whose inner ranks are the leaves of
// the first.
//
//   steps            n/s + 2 log2(P), each of one segment s
//   bytes per link   n out of the root; n into and about n out of every other rank
//   model            (n/s + 2 log2(P)) * (alpha + s/B): a chain's transfer with a tree's latency
//   order            none (data movement)
//   source           Sanders, Speck and Traeff, Parallel Computing 35 (2009)
//
// P = 5, root 0:   even   0 -> 4 -> 2 -> 1, 3      odd   0 -> 1 -> 3 -> 4, 2
#include "eco/algo/builders.h"
#include "eco/algo/patterns/combine.h"
#include "eco/algo/patterns/segments.h"
#include "eco/algo/patterns/two_trees.h"

namespace eco::algo {

using sched::Buffer;
using sched::Emitter;
using sched::Region;

Schedule build_broadcast_two_tree(const CommonProblem& problem, const Params& params, int rank) {
  const std::array<Tree, 2> trees = two_trees_below(problem.root, problem.n_ranks);
  const std::array<Place, 2> places = {place_in(trees[0], rank), place_in(trees[1], rank)};
  const Segments segments(problem, params.segment_bytes, 2);
  Schedule schedule(rank, problem.n_ranks);
  set_window(schedule, params);
  schedule.n_channels = 2;  // one for each tree
  schedule.repeat(segments.count(), [=](std::size_t j, Emitter& e) {
    const Place& place = places[j % 2];
    const int channel = static_cast<int>(j % 2);
    const Region segment = segments.region(Buffer::output, j);
    if (place.parent >= 0) e.recv(place.parent, segment, channel);
    for (const int child : place.children) e.send(child, segment, channel);
  });
  return schedule;
}

}  // namespace eco::algo
