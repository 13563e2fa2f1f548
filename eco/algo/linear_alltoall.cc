// All-to-all with few messages under way: every pair directly, as in alltoall/flat, but a rank has no more than `degree`
// blocks on their way at once, and a block counts until its receiver has it.
//
//   steps            P-1 messages out of every rank and into it, of block/s segments each
//   bytes per link   the least there is
//   model            alpha + max over links of (bytes across / B), without the queues that overflow
//   order            none (data movement)
//   source           linear with synchronisation: Open MPI's basic_linear_sync, after Pjesivac-Grbovic et al., Cluster
//                    Computing 10 (2007)
//
// degree = 2, P = 5:   r -> r+1, r -> r+2; when the first is there r -> r+3, and so on
//
// Blocks leave through `degree` places of scratch memory, which are used in turn: reuse waits by itself.
#include "eco/algo/builders.h"
#include "eco/algo/patterns/combine.h"
#include "eco/algo/patterns/segments.h"

namespace eco::algo {

using sched::Buffer;
using sched::Emitter;
using sched::Region;

Schedule build_alltoall_linear(const CommonProblem& problem, const Params& params, int rank) {
  const std::size_t block = problem.block_bytes();
  const Segments segments(block, 1, params.segment_bytes);
  const int n = problem.n_ranks;
  const auto n_places = static_cast<std::size_t>(params.degree);
  const auto at = [block](int peer) { return static_cast<std::size_t>(peer) * block; };
  Schedule schedule(rank, n);
  schedule.window = {params.window, true};
  schedule.scratch_bytes = n_places * block;
  for (int step = 1; step < n; ++step) {
    const std::size_t place = static_cast<std::size_t>(step) % n_places * block;
    schedule.repeat(segments.count(),
                    [=, to = (rank + step) % n, from = (rank + n - step) % n](std::size_t j, Emitter& e) {
                      const Region out = segments.region(Buffer::scratch, j, place);
                      e.recv(from, segments.region(Buffer::output, j, at(from)));
                      e.copy(segments.region(Buffer::input, j, at(to)), out);
                      e.send(to, out);
                    });
  }
  schedule.once([=](std::size_t, Emitter& e) {
    e.copy({Buffer::input, at(rank), block}, {Buffer::output, at(rank), block});
  });
  return schedule;
}

}  // namespace eco::algo
