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
//
// With owners = 1, 2 and tail = 1, what subnet 1 passes on and what subnet 2 passes on take turns, and the last segment
// goes straight to both:
//
//   0 2 4 ...   0 -> 3 -> 6          1 3 5 ...   0 -> 6 -> 3          the last   0 -> 3, 0 -> 6
//
// A segment goes from subnet to subnet twice, however many there are. Each downlink carries in turn what the root sends and
// what another has passed on, so that the last segment finds room between the two: over equal uplinks K subnets take the
// time of n/s + K - 1 segments, a chain that of n/s + 2K - 3.
#include <algorithm>

#include "eco/algo/builders.h"
#include "eco/algo/patterns/combine.h"
#include "eco/algo/patterns/segments.h"

namespace eco::algo {

using sched::Buffer;
using sched::Emitter;
using sched::Region;

Schedule build_broadcast(const CommonProblem& problem, const std::vector<Way>& ways, const Params& params,
                         int rank) {
  const Segments segments(problem, params.segment_bytes);
  const std::size_t n = segments.count();
  const std::size_t head = std::min(n, static_cast<std::size_t>(params.head));
  const std::size_t tail = std::min(n - head, static_cast<std::size_t>(params.tail));
  const std::size_t lag = rank == ways[0].tree.root ? head : 0;
  struct Lane {
    Place place;
    int channel;
  };
  struct Lanes {
    Lane usual;
    Lane straight;
  };
  std::vector<Lanes> lanes;
  const int n_ways = static_cast<int>(ways.size());
  for (const Way& way : ways) {
    const int channel = static_cast<int>(lanes.size());
    lanes.push_back({{place_in(way.tree, rank), channel}, {place_in(way.straight, rank), n_ways + channel}});
  }
  const auto lane_of = [=](std::size_t j) {
    const Lanes& of = lanes[j % lanes.size()];
    return j < head || j >= n - tail ? of.straight : of.usual;
  };
  Schedule schedule(rank, problem.n_ranks);
  set_window(schedule, params);
  schedule.n_channels = (head + tail > 0 ? 2 : 1) * n_ways;
  schedule.repeat(n + lag, [=](std::size_t i, Emitter& e) {
    if (i < n) {
      const Region segment = segments.region(Buffer::output, i);
      const auto& [place, channel] = lane_of(i);
      if (place.parent >= 0) e.recv(place.parent, segment, channel);
      for (std::size_t c = 0; c < place.n_far; ++c) e.send(place.children[c], segment, channel);
    }
    if (i >= lag) {
      const Region segment = segments.region(Buffer::output, i - lag);
      const auto& [place, channel] = lane_of(i - lag);
      for (std::size_t c = place.n_far; c < place.children.size(); ++c)
        e.send(place.children[c], segment, channel);
    }
  });
  return schedule;
}

}  // namespace eco::algo
