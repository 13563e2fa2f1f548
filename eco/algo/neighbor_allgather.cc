// Allgather by neighbour exchange: ranks talk to their two neighbours in turn, and pass on the two blocks that came last.
//
//   steps            P/2 rounds, of two blocks each but the first; an even number of ranks
//   bytes per link   (P-1)/P n into every rank, between neighbours only
//   model            P/2 * alpha + (P-1)/P n beta
//   order            none (data movement)
//   source           Chen, Zhang, Zhang and Yuan, HPC Asia 2005
//
// P = 6:   0 <-> 1, 2 <-> 3, 4 <-> 5   then   1 <-> 2, 3 <-> 4, 5 <-> 0 (two blocks)   then   0 <-> 1, ... (two blocks)
#include <algorithm>

#include "eco/algo/builders.h"
#include "eco/algo/patterns/combine.h"
#include "eco/algo/patterns/segments.h"

namespace eco::algo {

using sched::Buffer;
using sched::Emitter;
using sched::Region;

Schedule build_allgather_neighbor(const CommonProblem& problem, const Params& params, int rank) {
  const int n = problem.n_ranks;
  const std::size_t block = problem.block_bytes();
  const auto blocks = [block](int first, int count) {
    return Region{Buffer::output, static_cast<std::size_t>(first) * block,
                  static_cast<std::size_t>(count) * block};
  };
  Schedule schedule(rank, n);
  set_window(schedule, params);
  schedule.once([=](std::size_t, Emitter& e) { e.copy({Buffer::input, 0, block}, blocks(rank, 1)); });
  const auto exchange = [&](int peer, Region come, Region leave) {
    const Segments segments(come.bytes, 1, params.segment_bytes);
    schedule.repeat(segments.count(), [=](std::size_t j, Emitter& e) {
      e.recv(peer, segments.region(Buffer::output, j, come.offset));
      e.send(peer, segments.region(Buffer::output, j, leave.offset));
    });
  };
  // An even rank looks right first, an odd one left. Pairs (2k, 2k+1) of blocks come from either side in turn, each two
  // pairs further than the last one from there.
  const int side = rank % 2 == 0 ? 1 : -1;
  const int own_pair = rank - rank % 2;
  exchange(rank + side, blocks(rank + side, 1), blocks(rank, 1));
  int last = own_pair;
  for (int round = 1; round < n / 2; ++round) {
    const int towards = round % 2 == 1 ? -side : side;
    const int peer = (rank + towards + n) % n;
    const int distance = (round + 1) / 2 * 2;
    const int pair = (own_pair + towards * distance + n) % n;
    exchange(peer, blocks(pair, 2), blocks(last, 2));
    last = pair;
  }
  return schedule;
}

}  // namespace eco::algo
