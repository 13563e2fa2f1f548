// All-to-all by doubling, for short blocks: in round d every block whose way has bit d goes d ranks further.
//
//   steps            log2(P) rounds of P/2 blocks each
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

Schedule build_alltoall_doubling(const CommonProblem& problem, const Params& params, int rank) {
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
  for (int step = 1; step < n; step *= 2, ++round) {
    schedule.once([=](std::size_t, Emitter& e) {
      std::size_t bytes = 0;
      for (int distance = 0; distance < n; ++distance) {
        if ((distance & step) == 0) continue;
        e.copy(by_distance(distance), {Buffer::scratch, leaving + bytes, block});
        bytes += block;
      }
      e.recv((rank + n - step) % n, {Buffer::scratch, coming, bytes}, round);
      e.send((rank + step) % n, {Buffer::scratch, leaving, bytes}, round);
      bytes = 0;
      for (int distance = 0; distance < n; ++distance) {
        if ((distance & step) == 0) continue;
        e.copy({Buffer::scratch, coming + bytes, block}, by_distance(distance));
        bytes += block;
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
