// Reduce-scatter by leaders, for short vectors: whole vectors up inside each subnet, leaders give each other what belongs
// to the other's subnet, and blocks go to the members.
//
//   steps            depth up + 1 + 1: one crossing of the slow links
//   bytes per link   a subnet's partial results for each other subnet out, once: the least there is
//   model            alpha(between) + (depth + 1) alpha(inside) + (n - n_own) / B(uplink) + n gamma
//   order            all blocks are combined in the order of the subnets; rank order where these are runs of ranks
//   source           Kielmann et al., MagPIe, PPoPP 1999; Lowekamp and Beguelin, CMU-CS-95-191, sections 5 and 7
//
// {0 1} {2 3}:   1 -> 0, 3 -> 2 (vectors)   then   0 -> 2 (blocks 2 3), 2 -> 0 (blocks 0 1)   then   0 -> 1 (block 1) ...
#include "eco/algo/builders.h"
#include "eco/algo/patterns/combine.h"
#include "eco/algo/patterns/leaders.h"

namespace eco::algo {

using sched::Buffer;
using sched::Emitter;
using sched::Region;

Schedule build_reduce_scatter_leaders(const CommonProblem& problem, const GroupView& view,
                                      const Params& params, int rank) {
  const Leaders leaders(view, params, rank);
  const std::size_t block = problem.block_bytes();
  const Segments segments(problem, params.segment_bytes);
  const std::vector<int> children = ascending(leaders.inside.children);
  const Slots below(segments, children.size(), params);
  Schedule schedule(rank, problem.n_ranks);
  set_window(schedule, params);
  schedule.n_channels = kLeaderChannels;
  const Region result{Buffer::output, 0, block};

  if (!leaders.leads()) {
    schedule.scratch_bytes = below.bytes();
    schedule.repeat(segments.count(), [=](std::size_t j, Emitter& e) {
      const Region total = combine_with_children(e, children, segments.region(Buffer::input, j), below, j, 0);
      e.send(leaders.inside.parent, total, 0);
    });
    schedule.once([=](std::size_t, Emitter& e) { e.recv(leaders.leader_of(leaders.subnet), result, 2); });
    return schedule;
  }

  // Scratch beyond the slots: the subnet's vector by rank, the blocks for each other subnet packed, and for each subnet
  // what it makes of this subnet's blocks.
  const std::size_t m = leaders.count_of(leaders.subnet);
  const std::size_t vector = below.bytes();
  const std::size_t leaving = vector + problem.bytes;
  const std::size_t coming = leaving + problem.bytes;
  schedule.scratch_bytes = coming + leaders.n_subnets() * m * block;
  const auto scratch = [](std::size_t offset, std::size_t bytes) {
    return Region{Buffer::scratch, offset, bytes};
  };
  const auto of_rank = [=](int r) { return scratch(vector + static_cast<std::size_t>(r) * block, block); };
  const auto from = [=](std::size_t s) { return scratch(coming + s * m * block, m * block); };

  schedule.repeat(segments.count(), [=](std::size_t j, Emitter& e) {
    const Region total = combine_with_children(e, children, segments.region(Buffer::input, j), below, j, 0);
    e.copy(total, segments.region(Buffer::scratch, j, vector));
  });
  for (std::size_t i = 0; i < leaders.n_subnets(); ++i) {
    const std::size_t s = (leaders.subnet + 1 + i) % leaders.n_subnets();
    schedule.once([=](std::size_t, Emitter& e) {
      const bool own = s == leaders.subnet;
      const Region packed =
          own ? from(s) : scratch(leaving + leaders.first_of(s) * block, leaders.count_of(s) * block);
      for (std::size_t b = 0; b < leaders.count_of(s); ++b)
        e.copy(of_rank(leaders.packed[leaders.first_of(s) + b]), scratch(packed.offset + b * block, block));
      if (own) return;
      e.recv(leaders.leader_of(s), from(s), 1);
      e.send(leaders.leader_of(s), packed, 1);
    });
  }
  schedule.once([=](std::size_t, Emitter& e) {
    const std::size_t last = leaders.n_subnets() - 1;
    for (std::size_t s = last; s-- > 0;) e.reduce(from(s), from(last));
    for (std::size_t b = 0; b < m; ++b) {
      const int member = leaders.packed[leaders.first_of(leaders.subnet) + b];
      const Region theirs = scratch(from(last).offset + b * block, block);
      if (member == rank)
        e.copy(theirs, result);
      else
        e.send(member, theirs, 2);
    }
  });
  return schedule;
}

}  // namespace eco::algo
