// Allgather: every rank's block goes down a tree of its own, all at once. No rank is a root for more than its block.
//
//   steps            block/s + depth, each of one segment s, P trees side by side
//   bytes per link   over ECO's trees each block enters each other subnet once: n - n_own into a subnet, the least there is
//   model            depth * alpha + (n - n_own) / B(downlink)
//   order            none (data movement)
//   source           Lowekamp and Beguelin, CMU-CS-95-191, sections 5 and 7 (no single root for the many-to-many ones).
//                    The chain around the ring is the ring allgather: Thakur et al., 2005
//
// allgather/subnets on {0 1} {2 3}:   0 -> 2 -> 3, 0 -> 1   |   1 -> 3 -> 2, 1 -> 0   |   ...  (leaders take turns)
#include "eco/algo/builders.h"
#include "eco/algo/patterns/combine.h"
#include "eco/algo/patterns/segments.h"

namespace eco::algo {

using sched::Buffer;
using sched::Emitter;
using sched::Region;

Schedule build_allgather(const CommonProblem& problem, const PlaceOf& place_of, const Params& params,
                         int rank) {
  const std::size_t block = problem.block_bytes();
  const Segments segments(block, 1, params.segment_bytes);
  std::vector<Place> places;
  for (int owner = 0; owner < problem.n_ranks; ++owner) places.push_back(place_of(owner));
  Schedule schedule(rank, problem.n_ranks);
  set_window(schedule, params);
  // One for each owner: nobody's block waits for another's.
  schedule.n_channels = problem.n_ranks;
  const std::size_t own = static_cast<std::size_t>(rank) * block;
  schedule.once(
      [=](std::size_t, Emitter& e) { e.copy({Buffer::input, 0, block}, {Buffer::output, own, block}); });
  schedule.repeat(segments.count(), [=](std::size_t j, Emitter& e) {
    // Beginning with the own block, which is there already.
    for (std::size_t i = 0; i < places.size(); ++i) {
      const std::size_t owner = (static_cast<std::size_t>(rank) + i) % places.size();
      const Place& place = places[owner];
      const Region segment = segments.region(Buffer::output, j, owner * block);
      const int channel = static_cast<int>(owner);
      if (place.parent >= 0) e.recv(place.parent, segment, channel);
      for (const int child : place.children) e.send(child, segment, channel);
    }
  });
  return schedule;
}

}  // namespace eco::algo
