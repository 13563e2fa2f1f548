// Allgather by doubling, in rank order: in every round a rank sends all it has.
//
//   steps            log2(P) rounds, rounded up, for any P
//   model            log2(P) * alpha + (P-1)/P n beta
//   order            none (data movement)
//   source           Bruck et al., IEEE TPDS 8 (1997); Thakur et al., 2005
//
// P = 5:   r <- r+1 (1 block), r <- r+2 (2 blocks), r <- r+4 (1 block), then turned into place
#include <algorithm>

#include "eco/algo/builders.h"
#include "eco/algo/patterns/combine.h"
#include "eco/algo/patterns/segments.h"

namespace eco::algo {

using sched::Buffer;
using sched::Emitter;
using sched::Region;

Schedule build_allgather_doubling(const CommonProblem& problem, const Params& params, int rank) {
  const int n = problem.n_ranks;
  const std::size_t block = problem.block_bytes();
  const auto blocks = [block](int first, int count) {
    return Region{Buffer::scratch, static_cast<std::size_t>(first) * block,
                  static_cast<std::size_t>(count) * block};
  };
  Schedule schedule(rank, n);
  set_window(schedule, params);
  schedule.scratch_bytes = problem.bytes;  // from this rank's block on, around the ring
  schedule.once([=](std::size_t, Emitter& e) { e.copy({Buffer::input, 0, block}, blocks(0, 1)); });
  int round = 0;
  for (int have = 1; have < n; have *= 2, ++round) {
    const int count = std::min(have, n - have);
    const int from = (rank + have) % n;
    const int to = (rank + n - have) % n;
    const Segments segments(static_cast<std::size_t>(count) * block, 1, params.segment_bytes);
    schedule.repeat(segments.count(), [=](std::size_t j, Emitter& e) {
      e.recv(from, segments.region(Buffer::scratch, j, blocks(have, 0).offset), round);
      e.send(to, segments.region(Buffer::scratch, j), round);
    });
  }
  schedule.n_channels = std::max(round, 1);
  const int n_after = n - rank;
  schedule.once([=](std::size_t, Emitter& e) {
    const std::size_t split = static_cast<std::size_t>(n_after) * block;
    e.copy(blocks(0, n_after), {Buffer::output, problem.bytes - split, split});
    if (rank > 0) e.copy(blocks(n_after, rank), {Buffer::output, 0, problem.bytes - split});
  });
  return schedule;
}

}  // namespace eco::algo
