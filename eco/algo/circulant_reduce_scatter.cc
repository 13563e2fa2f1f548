// Reduce-scatter on a circulant graph: what is left to combine is halved, rounded up, in every round, for any number of
// ranks: the upper half goes to the rank for which it is the lower one.
//
//   steps            log2(P) rounds, rounded up, for any P
//   bytes per link   (P-1)/P n out of every rank
//   model            log2(P) * alpha + (P-1)/P n (beta + gamma)
//   order            needs a commutative operation
//   source           Traeff, Optimal, non-pipelined reduce-scatter and allreduce algorithms, arXiv 2025
//
// P = 5, blocks by their owner's distance 0..4:   3 4 go to r+3, then 2 goes to r+2, then 1 goes to r+1
#include <algorithm>

#include "eco/algo/builders.h"
#include "eco/algo/patterns/combine.h"
#include "eco/algo/patterns/segments.h"

namespace eco::algo {

using sched::Buffer;
using sched::Emitter;
using sched::Region;

Schedule build_reduce_scatter_circulant(const CommonProblem& problem, const Params& params, int rank) {
  const int n = problem.n_ranks;
  const std::size_t block = problem.block_bytes();
  const std::size_t behind = static_cast<std::size_t>(rank) * block;  // blocks of ranks before this one
  const std::size_t ahead = problem.bytes - behind;
  Schedule schedule(rank, n);
  set_window(schedule, params);
  // Scratch: sums by distance, then what comes, with room of its own for every round.
  schedule.once([=](std::size_t, Emitter& e) {
    e.copy({Buffer::input, behind, ahead}, {Buffer::scratch, 0, ahead});
    if (behind > 0) e.copy({Buffer::input, 0, behind}, {Buffer::scratch, ahead, behind});
  });
  std::size_t room = problem.bytes;
  std::vector<Round> rounds = circulant_rounds(n);
  std::reverse(rounds.begin(), rounds.end());
  int channel = 0;
  for (const Round& round : rounds) {
    const auto [distance, count] = round.front();
    const std::size_t bytes = static_cast<std::size_t>(count) * block;
    const std::size_t leaving = static_cast<std::size_t>(distance) * block;
    const Segments segments(bytes, problem.element_bytes, params.segment_bytes);
    schedule.repeat(segments.count(), [=, to = (rank + distance) % n, from = (rank + n - distance) % n](
                                          std::size_t j, Emitter& e) {
      const Region theirs = segments.region(Buffer::scratch, j, room);
      e.recv(from, theirs, channel);
      e.send(to, segments.region(Buffer::scratch, j, leaving), channel);
      e.reduce(theirs, segments.region(Buffer::scratch, j));
    });
    room += bytes;
    ++channel;
  }
  schedule.scratch_bytes = room;
  schedule.n_channels = std::max(channel, 1);
  schedule.once(
      [=](std::size_t, Emitter& e) { e.copy({Buffer::scratch, 0, block}, {Buffer::output, 0, block}); });
  return schedule;
}

}  // namespace eco::algo
