// Neighbourhood allgather: a rank's block goes down a tree over those who hear it, and they alone pass it on.
//
//   steps            block/s + depth, each of one segment s, P trees side by side
//   bytes per link   over ECO's trees a block enters each subnet in which somebody hears it once; directly, once for each
//   model            depth * alpha + max over links of (bytes across / B)
//   order            none (data movement)
//   source           ours: the trees of Lowekamp and Beguelin (CMU-CS-95-191, section 4) over a rank's neighbours
//
// subnets {0 1} {2 3}, 0 tells 1, 2 and 3:   0 -> 2 -> 3, 0 -> 1      (directly: 0 -> 1, 0 -> 2, 0 -> 3)
//
// Who stands twice in a list of sources gets the block once and copies it; places of nobody are left as they are.
#include <algorithm>

#include "eco/algo/builders.h"
#include "eco/algo/patterns/combine.h"
#include "eco/algo/patterns/segments.h"

namespace eco::algo {

using sched::Buffer;
using sched::Emitter;
using sched::Region;

namespace {

// A block that this rank hears or has: its place in its tree, and the places in the result at which it stands.
struct Heard {
  int owner = 0;
  Place place;
  std::vector<std::size_t> slots;
};

std::vector<std::size_t> slots_of(const coll::Neighborhood& graph, int rank, int owner) {
  std::vector<std::size_t> slots;
  const auto& sources = graph.sources_of(rank);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (sources[i].rank == owner) slots.push_back(i);
  }
  return slots;
}

}  // namespace

Schedule build_neighborhood_allgather(const CommonProblem& problem, const TreeOf& tree_of,
                                      const Params& params, int rank) {
  const coll::Neighborhood& graph = *problem.neighbors;
  const std::size_t block = problem.bytes;
  const Segments segments(block, 1, params.segment_bytes);
  // Beginning with the own block, which is there already.
  std::vector<int> owners = graph.others_heard_by(rank);
  owners.insert(std::lower_bound(owners.begin(), owners.end(), rank), rank);
  std::rotate(owners.begin(), std::lower_bound(owners.begin(), owners.end(), rank), owners.end());
  std::vector<Heard> all;
  for (const int owner : owners)
    all.push_back({owner, place_in(tree_of(owner), rank), slots_of(graph, rank, owner)});
  Schedule schedule(rank, problem.n_ranks);
  set_window(schedule, params);
  // One for each owner: nobody's block waits for another's.
  schedule.n_channels = problem.n_ranks;
  schedule.repeat(segments.count(), [=](std::size_t j, Emitter& e) {
    for (const Heard& each : all) {
      const bool is_own = each.place.parent < 0;
      const Region segment = is_own ? segments.region(Buffer::input, j)
                                    : segments.region(Buffer::output, j, each.slots.front() * block);
      if (!is_own) e.recv(each.place.parent, segment, each.owner);
      for (const int child : each.place.children) e.send(child, segment, each.owner);
    }
  });
  schedule.once([=](std::size_t, Emitter& e) {
    for (const Heard& each : all) {
      const bool is_own = each.place.parent < 0;
      for (std::size_t i = is_own ? 0 : 1; i < each.slots.size(); ++i) {
        const Region first = is_own ? Region{Buffer::input, 0, block}
                                    : Region{Buffer::output, each.slots.front() * block, block};
        e.copy(first, {Buffer::output, each.slots[i] * block, block});
      }
    }
  });
  return schedule;
}

}  // namespace eco::algo
