// All-to-all, every pair directly: each block crosses what lies between its two hosts once, which nothing can better;
// what is left to choose is the order.
//
//   steps            P-1 messages out of every rank and into it, of block/s segments each
//   bytes per link   the least there is
//   model            alpha + max over links of (bytes across / B)
//   order            none (data movement)
//   source           shifted order: Thakur et al., 2005 (pairwise, irecv/isend); other subnets first: Lowekamp and
//                    Beguelin, CMU-CS-95-191, section 5 (slow links must never idle)
//
// alltoall/flat, P = 4:   rank r sends to r+1, r+2, r+3 and receives from r-1, r-2, r-3 (modulo P), segment by segment
#include <algorithm>

#include "eco/algo/builders.h"
#include "eco/algo/patterns/combine.h"
#include "eco/algo/patterns/segments.h"

namespace eco::algo {

using sched::Buffer;
using sched::Emitter;
using sched::Region;

Schedule build_alltoall(const CommonProblem& problem, const GroupView& view, bool far_first,
                        const Params& params, int rank) {
  const std::size_t block = problem.block_bytes();
  const Segments segments(block, 1, params.segment_bytes);
  const int n = problem.n_ranks;
  std::vector<int> to;
  std::vector<int> from;
  for (int step = 1; step < n; ++step) {
    to.push_back((rank + step) % n);
    from.push_back((rank + n - step) % n);
  }
  if (far_first) {
    const auto is_far = [&](int peer) {
      return view.subnet_of_rank[static_cast<std::size_t>(peer)] !=
             view.subnet_of_rank[static_cast<std::size_t>(rank)];
    };
    std::stable_partition(to.begin(), to.end(), is_far);
    std::stable_partition(from.begin(), from.end(), is_far);
  }
  const auto at = [block](int peer) { return static_cast<std::size_t>(peer) * block; };
  Schedule schedule(rank, n);
  set_window(schedule, params);
  schedule.repeat(segments.count(), [=](std::size_t j, Emitter& e) {
    for (std::size_t i = 0; i < to.size(); ++i) {
      e.recv(from[i], segments.region(Buffer::output, j, at(from[i])));
      e.send(to[i], segments.region(Buffer::input, j, at(to[i])));
    }
  });
  schedule.once([=](std::size_t, Emitter& e) {
    e.copy({Buffer::input, at(rank), block}, {Buffer::output, at(rank), block});
  });
  return schedule;
}

}  // namespace eco::algo
