// All-to-all by doubling, for short blocks: in round d every block whose way has bit d goes d ranks further. With radix
// k + 1 (bruck) the rounds are digits, and blocks go to k others at once.
//
//   steps            log2(P) rounds of P/2 blocks each; log(P) to the base k + 1, of P k/(k+1) blocks each, with k ports
//   bytes per link   n/2 out of every rank in every round
//   model            log2(P) * (alpha + n/2 beta)
//   order            none (data movement)
//   source           Bruck et al., IEEE TPDS 8 (1997)
//
// P = 4, blocks by distance 0..3:   distances 1 3 go 1 further, then distances 2 3 go 2 further
#include <algorithm>

#include "eco/algo/builders.h"
#include "eco/algo/patterns/combine.h"

namespace eco::algo {

using sched::Buffer;
using sched::Emitter;
using sched::Region;

Schedule build_alltoall_rounds(const CommonProblem& problem, int radix, const Params& params, int rank) {
  const int n = problem.n_ranks;
  const std::size_t block = problem.block_bytes();
  // Scratch: the blocks by the distance they have to go; then what leaves and what comes in a round.
  const auto by_distance = [block](int distance) {
    return Region{Buffer::scratch, static_cast<std::size_t>(distance) * block, block};
  };
  const std::size_t leaving = problem.bytes;
  const std::size_t coming = 2 * problem.bytes;
  Schedule schedule(rank, n);
  set_window(schedule, params);
  schedule.scratch_bytes = 3 * problem.bytes;
  const auto in_order = [block](Buffer buffer, int of) {
    return Region{buffer, static_cast<std::size_t>(of) * block, block};
  };
  schedule.once([=](std::size_t, Emitter& e) {
    for (int distance = 0; distance < n; ++distance)
      e.copy(in_order(Buffer::input, (rank + distance) % n), by_distance(distance));
  });
  int round = 0;
  for (int unit = 1; unit < n; unit *= radix, ++round) {
    schedule.once([=](std::size_t, Emitter& e) {
      std::size_t packed = 0;  // of this round, one digit after the other
      for (int digit = 1; digit < radix && digit * unit < n; ++digit) {
        const std::size_t first = packed;
        for (int distance = 0; distance < n; ++distance) {
          if (distance / unit % radix != digit) continue;
          e.copy(by_distance(distance), {Buffer::scratch, leaving + packed, block});
          packed += block;
        }
        e.recv((rank + n - digit * unit) % n, {Buffer::scratch, coming + first, packed - first}, round);
        e.send((rank + digit * unit) % n, {Buffer::scratch, leaving + first, packed - first}, round);
      }
      packed = 0;
      for (int digit = 1; digit < radix && digit * unit < n; ++digit) {
        for (int distance = 0; distance < n; ++distance) {
          if (distance / unit % radix != digit) continue;
          e.copy({Buffer::scratch, coming + packed, block}, by_distance(distance));
          packed += block;
        }
      }
    });
  }
  schedule.n_channels = std::max(round, 1);
  schedule.once([=](std::size_t, Emitter& e) {
    for (int distance = 0; distance < n; ++distance)
      e.copy(by_distance(distance), in_order(Buffer::output, (rank + n - distance) % n));
  });
  return schedule;
}

}  // namespace eco::algo
