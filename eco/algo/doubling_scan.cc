// Scan and exscan by recursive doubling, in rank order, segmented.
//
//   steps            log2(P) rounds, rounded up
//   model            log2(P) * (alpha + n beta + 2 n gamma)
//   order            runs of ranks are combined, left with right: rank order, commutative or not
//   source           Hillis and Steele, CACM 29 (1986)
//
// P = 4:   r -> r+1 (its own), r -> r+2 (r-1 and r)
#include <algorithm>
#include <vector>

#include "eco/algo/builders.h"
#include "eco/algo/patterns/combine.h"
#include "eco/algo/patterns/segments.h"

namespace eco::algo {

using sched::Buffer;
using sched::Emitter;
using sched::Region;

Schedule build_scan_doubling(const CommonProblem& problem, const Params& params, int rank) {
  const int n = problem.n_ranks;
  std::vector<int> distances;
  for (int distance = 1; distance < n; distance *= 2) distances.push_back(distance);
  const bool inclusive = problem.collective == coll::Collective::scan;
  const Segments segments(problem, params.segment_bytes);
  // Slots: one per round for what comes, the last for what this rank and those before it make so far.
  const Slots slots(segments, distances.size() + 1, params);
  Schedule schedule(rank, n);
  set_window(schedule, params);
  schedule.n_channels = static_cast<int>(distances.size());
  schedule.scratch_bytes = slots.bytes();
  schedule.repeat(segments.count(), [=](std::size_t j, Emitter& e) {
    const Region mine = segments.region(Buffer::input, j);
    const Region result = segments.region(Buffer::output, j);
    const Region so_far = slots.region(j, distances.size(), mine.bytes);
    e.copy(mine, so_far);
    bool has_result = false;  // exscan: of the ranks before
    for (std::size_t i = 0; i < distances.size(); ++i) {
      const int distance = distances[i];
      const int channel = static_cast<int>(i);
      if (rank + distance < n) e.send(rank + distance, so_far, channel);
      if (rank < distance) continue;
      const Region before = slots.region(j, i, mine.bytes);
      e.recv(rank - distance, before, channel);
      e.reduce(before, so_far);
      if (inclusive) continue;
      if (has_result)
        e.reduce(before, result);
      else
        e.copy(before, result);
      has_result = true;
    }
    if (inclusive) e.copy(so_far, result);
  });
  return schedule;
}

}  // namespace eco::algo
