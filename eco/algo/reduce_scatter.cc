// Reduce-scatter of equal blocks: every block is combined up a tree of its own, towards the rank that gets it.
//
//   steps            block/s + depth, each of one segment s, P trees side by side
//   bytes per link   over ECO's trees each block leaves each other subnet once, combined
//   model            depth * alpha + (n - n_own) / B(uplink) + n gamma
//   order            an element is combined along one tree; needs a commutative operation
//   source           Lowekamp and Beguelin, CMU-CS-95-191, sections 5 and 7. Flat is the pairwise exchange, the chain the
//                    ring: Thakur et al., 2005
#include <algorithm>

#include "eco/algo/builders.h"
#include "eco/algo/patterns/combine.h"
#include "eco/algo/patterns/segments.h"

namespace eco::algo {

using sched::Buffer;
using sched::Emitter;

Schedule build_reduce_scatter(const CommonProblem& problem, const PlaceOf& place_of, const Params& params,
                              int rank) {
  const std::size_t block = problem.block_bytes();
  const Segments segments(block, problem.element_bytes, params.segment_bytes);
  struct OwnerPlace {
    Place place;
    Slots slots;
  };
  std::vector<OwnerPlace> owners;
  std::size_t scratch = 0;
  for (int owner = 0; owner < problem.n_ranks; ++owner) {
    Place place = place_of(owner);
    const Slots slots(segments, place.children.size(), params, scratch);
    scratch += slots.bytes();
    owners.push_back({std::move(place), slots});
  }
  Schedule schedule(rank, problem.n_ranks);
  set_window(schedule, params);
  schedule.n_channels = problem.n_ranks;
  schedule.scratch_bytes = scratch;
  schedule.repeat(segments.count(), [=](std::size_t j, Emitter& e) {
    // The own block last: what others wait for leaves first.
    for (std::size_t i = 1; i <= owners.size(); ++i) {
      const std::size_t owner = (static_cast<std::size_t>(rank) + i) % owners.size();
      const auto& [place, slots] = owners[owner];
      combine_upwards(e, place, segments.region(Buffer::input, j, owner * block),
                      segments.region(Buffer::output, j), slots, j, static_cast<int>(owner));
    }
  });
  return schedule;
}

}  // namespace eco::algo
