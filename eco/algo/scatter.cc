// Scatter down a tree: a rank receives the blocks of its subtree as one stream, cut into segments that know nothing of
// blocks, and passes each child's part on as it comes.
//
//   steps            n/s + depth, each of one segment s
//   bytes per link   over ECO's tree each block enters its subnet once, all of a subnet's together
//   model            depth * alpha + n (P-1)/P / B(root)
//   order            none (data movement)
//   source           Lowekamp and Beguelin, CMU-CS-95-191, section 5; binomial: MPICH's, Thakur et al., 2005
//
// scatter/subnets on {0 1} {2 3}, root 0:   0 -> 2 [3 2],  2 -> 3 [3],  0 -> 1 [1]
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

Schedule build_scatter(const CommonProblem& problem, const Tree& tree, const Params& params, int rank) {
  const std::size_t block = problem.block_bytes();
  const Stream stream = stream_of(tree, rank, Own::last);
  const int parent = place_in(tree, rank).parent;
  const Segments arriving(stream.ranks.size() * block, 1, params.segment_bytes);
  const Region result{Buffer::output, 0, block};
  Schedule schedule(rank, problem.n_ranks);
  set_window(schedule, params);

  const auto block_of_input = [block](int of) {
    return Region{Buffer::input, static_cast<std::size_t>(of) * block, block};
  };
  const std::vector<ChildPart> outgoing =
      child_parts(stream, block, params.segment_bytes, parent < 0 ? Buffer::input : Buffer::scratch);
  const std::size_t n_most = most_segments(outgoing);

  if (parent < 0) {
    schedule.scratch_bytes = stream.ranks.size() * block;
    schedule.once([=](std::size_t, Emitter& e) {
      for (std::size_t p = 0; p < stream.parts.size(); ++p) {
        const Stream::Part& part = stream.parts[p];
        if (outgoing[p].place.buffer == Buffer::input) continue;
        for (std::size_t i = part.begin; i < part.begin + part.count; ++i)
          e.copy(block_of_input(stream.ranks[i]), {Buffer::scratch, i * block, block});
      }
    });
    schedule.repeat(n_most, [=](std::size_t k, Emitter& e) {
      for (const ChildPart& part : outgoing) {
        if (k < part.segments.count()) e.send(part.child, part.region(k));
      }
    });
    schedule.once([=](std::size_t, Emitter& e) { e.copy(block_of_input(rank), result); });
    return schedule;
  }

  const bool is_leaf = outgoing.empty();
  if (!is_leaf) schedule.scratch_bytes = stream.ranks.size() * block;
  schedule.repeat(arriving.count(), [=](std::size_t j, Emitter& e) {
    const Region segment = arriving.region(is_leaf ? Buffer::output : Buffer::scratch, j);
    e.recv(parent, segment);
    const std::size_t end = segment.offset + segment.bytes;
    for (const ChildPart& part : outgoing) {
      const auto ended = [&](std::size_t place) {
        return place <= part.place.offset ? 0 : part.segments.ended_by(place - part.place.offset);
      };
      for (std::size_t k = ended(segment.offset); k < ended(end); ++k) e.send(part.child, part.region(k));
    }
    if (!is_leaf && j + 1 == arriving.count()) e.copy({Buffer::scratch, stream.own * block, block}, result);
  });
  return schedule;
}

}  // namespace eco::algo
