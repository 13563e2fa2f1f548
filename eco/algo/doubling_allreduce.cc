// Allreduce (and barrier) by recursive doubling, in rank order, segmented.
//
//   steps            log2(P) rounds; two more where P is no power of two
//   model            log2(P) * (alpha + n beta + n gamma)
//   order            neighbouring runs of ranks are combined, left with right, by both partners alike: rank order,
//                    commutative or not, and the same expression everywhere
//   source           Thakur, Rabenseifner and Gropp, IJHPCA 19 (2005), section 4.5
//
// P = 4:   0 <-> 1, 2 <-> 3   then   0 <-> 2, 1 <-> 3.  P = 5: 0 -> 1 first, and 1 -> 0 last.
#include "eco/algo/builders.h"
#include "eco/algo/patterns/combine.h"
#include "eco/algo/patterns/halves.h"
#include "eco/algo/patterns/segments.h"

namespace eco::algo {

using sched::Buffer;
using sched::Emitter;
using sched::Region;

Schedule build_allreduce_doubling(const CommonProblem& problem, const Params& params, int rank) {
  const Halves halves(problem.n_ranks, rank);
  std::vector<int> partners;
  for (int distance = 1; distance < halves.power && !halves.waits; distance *= 2)
    partners.push_back(halves.rank_of(halves.number ^ distance));

  const Segments segments(problem, params.segment_bytes);
  const Slots slots(segments, partners.size() + 2, params);
  Schedule schedule(rank, problem.n_ranks);
  set_window(schedule, params);
  schedule.n_channels = 2;  // doubling; to and from those who wait
  schedule.scratch_bytes = slots.bytes();
  schedule.repeat(segments.count(), [=](std::size_t j, Emitter& e) {
    const Region mine = segments.region(Buffer::input, j);
    const Region result = segments.region(Buffer::output, j);
    if (halves.waits) {
      e.send(rank + 1, mine, 1);
      e.recv(rank + 1, result, 1);
      return;
    }
    const auto slot = [&](std::size_t i) { return slots.region(j, i, mine.bytes); };
    Region total = slot(partners.size());
    e.copy(mine, total);
    if (halves.takes_in) {
      const Region left = slot(partners.size() + 1);
      e.recv(rank - 1, left, 1);
      e.reduce(left, total);
    }
    for (std::size_t i = 0; i < partners.size(); ++i) {
      const Region theirs = slot(i);
      e.recv(partners[i], theirs, 0);
      e.send(partners[i], total, 0);
      if (partners[i] < rank) {
        e.reduce(theirs, total);
      } else {
        e.reduce(total, theirs);
        total = theirs;
      }
    }
    e.copy(total, result);
    if (halves.takes_in) e.send(rank - 1, result, 1);
  });
  return schedule;
}

}  // namespace eco::algo
