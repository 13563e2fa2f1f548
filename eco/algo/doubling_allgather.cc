// Allgather by doubling, in rank order: in every round a rank sends all it has. With radix k + 1 (bruck) to k others at
// once; on the circulant graph a round less than doubles, so that all rounds are even.
//
//   steps            log2(P) rounds, rounded up, for any P; log(P) to the base k + 1 with k ports
//   bytes per link   (P-1)/P n into every rank
//   model            log2(P) * alpha + (P-1)/P n beta
//   order            none (data movement)
//   source           Bruck et al., IEEE TPDS 8 (1997); Thakur et al., 2005. Circulant graph: Traeff, Optimal,
//                    non-pipelined reduce-scatter and allreduce algorithms, arXiv 2025
//
// P = 5:   r <- r+1 (1 block), r <- r+2 (2 blocks), r <- r+4 (1 block), then turned into place
// circulant:   r <- r+1 (1 block), r <- r+2 (1 block), r <- r+3 (2 blocks)
#include <algorithm>

#include "eco/algo/builders.h"
#include "eco/algo/patterns/combine.h"
#include "eco/algo/patterns/segments.h"

namespace eco::algo {

using sched::Buffer;
using sched::Emitter;
using sched::Region;

Schedule build_allgather_rounds(const CommonProblem& problem, const std::vector<Round>& rounds,
                                const Params& params, int rank) {
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
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    struct Exchange {
      int from;
      int to;
      std::size_t offset;
      Segments segments;
    };
    std::vector<Exchange> exchanges;
    std::size_t n_most = 0;
    for (const Hop& hop : rounds[i]) {
      const Region theirs = blocks(hop.distance, hop.count);
      exchanges.push_back({(rank + hop.distance) % n, (rank + n - hop.distance) % n, theirs.offset,
                           Segments(theirs.bytes, 1, params.segment_bytes)});
      n_most = std::max(n_most, exchanges.back().segments.count());
    }
    const int channel = static_cast<int>(i);
    schedule.repeat(n_most, [=](std::size_t j, Emitter& e) {
      for (const Exchange& exchange : exchanges) {
        if (j >= exchange.segments.count()) continue;
        e.recv(exchange.from, exchange.segments.region(Buffer::scratch, j, exchange.offset), channel);
        e.send(exchange.to, exchange.segments.region(Buffer::scratch, j), channel);
      }
    });
  }
  schedule.n_channels = std::max(static_cast<int>(rounds.size()), 1);
  const int n_after = n - rank;
  schedule.once([=](std::size_t, Emitter& e) {
    const std::size_t split = static_cast<std::size_t>(n_after) * block;
    e.copy(blocks(0, n_after), {Buffer::output, problem.bytes - split, split});
    if (rank > 0) e.copy(blocks(n_after, rank), {Buffer::output, 0, problem.bytes - split});
  });
  return schedule;
}

}  // namespace eco::algo
