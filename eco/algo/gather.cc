// Gather up a tree: a rank's own block and those of its subtree travel to its parent as one stream, cut into segments
// that know nothing of blocks; a segment leaves as soon as its bytes are there.
//
//   steps            n/s + depth, each of one segment s
//   bytes per link   over ECO's tree each block leaves its subnet once, all of a subnet's together
//   model            depth * alpha + n (P-1)/P / B(root)
//   order            none (data movement)
//   source           Lowekamp and Beguelin, CMU-CS-95-191, section 5; binomial: MPICH's, Thakur et al., 2005
//
// gather/subnets on {0 1} {2 3}, root 0:   3 -> 2 [3],  2 -> 0 [2 3],  1 -> 0 [1]
#include <algorithm>

#include "eco/algo/builders.h"
#include "eco/algo/patterns/combine.h"
#include "eco/algo/patterns/segments.h"
#include "eco/algo/patterns/stream.h"

namespace eco::algo {
namespace {

using sched::Buffer;
using sched::Emitter;
using sched::Region;

}  // namespace

Schedule build_gather(const CommonProblem& problem, const Tree& tree, const Params& params, int rank) {
  const std::size_t block = problem.block_bytes();
  const Stream stream = stream_of(tree, rank, Own::first);
  const int parent = place_in(tree, rank).parent;
  const Segments leaving(stream.ranks.size() * block, 1, params.segment_bytes);
  const Region mine{Buffer::input, 0, block};
  Schedule schedule(rank, problem.n_ranks);
  set_window(schedule, params);

  const auto block_of_result = [block](int of) {
    return Region{Buffer::output, static_cast<std::size_t>(of) * block, block};
  };
  const std::vector<ChildPart> incoming =
      child_parts(stream, block, params.segment_bytes, parent < 0 ? Buffer::output : Buffer::scratch);
  const std::size_t n_most = most_segments(incoming);

  if (parent < 0) {
    schedule.scratch_bytes = stream.ranks.size() * block;
    schedule.once([=](std::size_t, Emitter& e) { e.copy(mine, block_of_result(rank)); });
    schedule.repeat(n_most, [=](std::size_t k, Emitter& e) {
      for (const ChildPart& part : incoming) {
        if (k < part.segments.count()) e.recv(part.child, part.region(k));
      }
    });
    schedule.once([=](std::size_t, Emitter& e) {
      for (std::size_t p = 0; p < stream.parts.size(); ++p) {
        const Stream::Part& part = stream.parts[p];
        if (incoming[p].place.buffer == Buffer::output) continue;
        for (std::size_t i = part.begin; i < part.begin + part.count; ++i)
          e.copy({Buffer::scratch, i * block, block}, block_of_result(stream.ranks[i]));
      }
    });
    return schedule;
  }

  const bool is_leaf = incoming.empty();
  if (!is_leaf) schedule.scratch_bytes = stream.ranks.size() * block;
  schedule.repeat(leaving.count(), [=](std::size_t j, Emitter& e) {
    if (!is_leaf && j == 0) e.copy(mine, {Buffer::scratch, 0, block});
    const Region segment = leaving.region(is_leaf ? Buffer::input : Buffer::scratch, j);
    const std::size_t end = segment.offset + segment.bytes;
    for (const ChildPart& part : incoming) {
      const auto begun = [&](std::size_t place) {
        return place <= part.place.offset ? 0 : part.segments.begun_before(place - part.place.offset);
      };
      for (std::size_t k = begun(segment.offset); k < begun(end); ++k) e.recv(part.child, part.region(k));
    }
    e.send(parent, segment);
  });
  return schedule;
}

}  // namespace eco::algo
