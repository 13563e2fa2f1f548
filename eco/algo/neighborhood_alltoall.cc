// Neighbourhood all-to-all, every edge by itself: each block crosses what lies between its two hosts once.
//
//   steps            one message along every edge, of block/s segments each
//   bytes per link   the least there is
//   model            alpha + max over links of (bytes across / B)
//   order            none (data movement)
//   source           the definition in MPI, with peers in shifted order
//
// 0 tells 1 and 3, 1 tells 2:   0 -> 1, 0 -> 3, 1 -> 2 at the same time
#include "eco/algo/builders.h"
#include "eco/algo/patterns/combine.h"
#include "eco/algo/patterns/segments.h"

namespace eco::algo {

using sched::Buffer;
using sched::Emitter;

Schedule build_neighborhood_alltoall(const CommonProblem& problem, const Params& params, int rank) {
  const std::size_t block = problem.bytes;
  const Segments segments(block, 1, params.segment_bytes);
  Schedule schedule(rank, problem.n_ranks);
  set_window(schedule, params);
  schedule.repeat(segments.count(), [=, in = edges_in(*problem.neighbors, rank),
                                     out = edges_out(*problem.neighbors, rank)](std::size_t j, Emitter& e) {
    for (const Edge& edge : in) e.recv(edge.peer, segments.region(Buffer::output, j, edge.slot * block));
    for (const Edge& edge : out) e.send(edge.peer, segments.region(Buffer::input, j, edge.slot * block));
  });
  schedule.once([=, edges = self_edges(*problem.neighbors, rank)](std::size_t, Emitter& e) {
    for (const SelfEdge& edge : edges)
      e.copy({Buffer::input, edge.from * block, block}, {Buffer::output, edge.to * block, block});
  });
  return schedule;
}

}  // namespace eco::algo
