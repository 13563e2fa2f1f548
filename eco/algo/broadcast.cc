// Broadcast down a tree, in segments.
//
//   steps            n/s + depth of the tree, each of one segment s
//   bytes per link   over ECO's tree n: a subnet is entered once, and every host of it is served once
//   model            (n/s + depth) * (alpha + s/B) with B the rate of the slowest link on the way
//   order            none (data movement)
//   source           ECO's tree: Lowekamp and Beguelin, CMU-CS-95-191, section 4; flat, chain, binomial and their
//                    segmented forms: Barchet-Estefanel and Mounie, 2004, table 1
//
// broadcast/subnets on {0 1 2} {3 4 5} {6 7}, root 0, between = chain, inside = chain:
//
//   0 -> 3 -> 6 -> 7          a segment goes on to the next subnet before it is spread in its own
//   |    `-> 4 -> 5
//   `-> 1 -> 2
//
// With head = h the first h segments go 0 -> 3 and 0 -> 6 at once: a chain of store-and-forward media loses a segment's
// time per medium while it fills, and that is how the last subnet starts early. The root serves the near children of a
// segment only after the far children of so many later ones: its own subnet is the one that can wait.
#include <algorithm>

#include "eco/algo/builders.h"
#include "eco/algo/patterns/combine.h"
#include "eco/algo/patterns/segments.h"

namespace eco::algo {

using sched::Buffer;
using sched::Emitter;
using sched::Region;

Schedule build_broadcast(const CommonProblem& problem, const Tree& tree, const Tree& head_tree,
                         const Params& params, int rank) {
  const Segments segments(problem, params.segment_bytes);
  const std::size_t n = segments.count();
  const std::size_t head = std::min(n, static_cast<std::size_t>(params.head));
  const std::size_t lag = rank == tree.root ? head : 0;
  Schedule schedule(rank, problem.n_ranks);
  set_window(schedule, params);
  schedule.n_channels = head > 0 ? 2 : 1;
  schedule.repeat(n + lag, [=, main = place_in(tree, rank), first = place_in(head_tree, rank)](std::size_t i,
                                                                                               Emitter& e) {
    if (i < n) {
      const Place& place = i < head ? first : main;
      const int channel = i < head ? 1 : 0;
      const Region segment = segments.region(Buffer::output, i);
      if (place.parent >= 0) e.recv(place.parent, segment, channel);
      for (std::size_t c = 0; c < place.n_far; ++c) e.send(place.children[c], segment, channel);
    }
    if (i >= lag) {
      const std::size_t j = i - lag;
      const Place& place = j < head ? first : main;
      const Region segment = segments.region(Buffer::output, j);
      for (std::size_t c = place.n_far; c < place.children.size(); ++c)
        e.send(place.children[c], segment, j < head ? 1 : 0);
    }
  });
  return schedule;
}

}  // namespace eco::algo
