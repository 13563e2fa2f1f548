// Scan and exscan along the ranks: each passes on what the ranks up to it make together, in segments.
//
//   steps            n/s + P - 1, each of one segment s
//   bytes per link   n between neighbours in rank order; a link between subnets once for every such pair across it
//   model            (n/s + P - 1) * (alpha + s/B) + n gamma
//   order            rank order, commutative or not
//   source           the linear scan of Open MPI and LAM/MPI, segmented
//
// P = 4:   0 -> 1 -> 2 -> 3
#include "eco/algo/builders.h"
#include "eco/algo/patterns/combine.h"
#include "eco/algo/patterns/segments.h"

namespace eco::algo {

using sched::Buffer;
using sched::Emitter;
using sched::Region;

Schedule build_scan_chain(const CommonProblem& problem, const Params& params, int rank) {
  const Segments segments(problem, params.segment_bytes);
  const Slots slots(segments, 1, params);
  const bool inclusive = problem.collective == coll::Collective::scan;
  const bool is_last = rank + 1 == problem.n_ranks;
  Schedule schedule(rank, problem.n_ranks);
  set_window(schedule, params);
  if (rank > 0) schedule.scratch_bytes = slots.bytes();
  schedule.repeat(segments.count(), [=](std::size_t j, Emitter& e) {
    const Region mine = segments.region(Buffer::input, j);
    const Region result = segments.region(Buffer::output, j);
    const Region slot = slots.region(j, 0, mine.bytes);
    if (rank == 0) {
      if (inclusive) e.copy(mine, result);
      e.send(rank + 1, mine);
    } else if (inclusive) {
      e.recv(rank - 1, slot);  // of all before
      e.copy(mine, result);
      e.reduce(slot, result);
      if (!is_last) e.send(rank + 1, result);
    } else {
      e.recv(rank - 1, result);
      if (is_last) return;
      e.copy(mine, slot);
      e.reduce(result, slot);
      e.send(rank + 1, slot);
    }
  });
  return schedule;
}

}  // namespace eco::algo
