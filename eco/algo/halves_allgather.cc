// Allgather by recursive doubling: partners exchange the runs of blocks that they have, straight into place.
//
//   steps            log2(P) rounds; two more where P is no power of two
//   bytes per link   (P-1)/P n into every rank; n more to those who wait
//   model            log2(P) * alpha + (P-1)/P n beta
//   order            none (data movement)
//   source           Thakur, Rabenseifner and Gropp, IJHPCA 19 (2005), section 4.1
//
// P = 4:   0 <-> 1, 2 <-> 3   then   0 <-> 2, 1 <-> 3 (two blocks).  P = 5: 0 -> 1 first, and 1 -> 0 (all) last.
#include <algorithm>

#include "eco/algo/builders.h"
#include "eco/algo/patterns/combine.h"
#include "eco/algo/patterns/halves.h"
#include "eco/algo/patterns/segments.h"

namespace eco::algo {

using sched::Buffer;
using sched::Emitter;
using sched::Region;

Schedule build_allgather_halves(const CommonProblem& problem, const Params& params, int rank) {
  const Halves halves(problem.n_ranks, rank);
  const std::size_t block = problem.block_bytes();
  const Segments whole(problem.bytes, 1, params.segment_bytes);
  const Segments one(block, 1, params.segment_bytes);
  const auto place_of = [=](int of) {
    return Region{Buffer::output, static_cast<std::size_t>(of) * block, block};
  };
  Schedule schedule(rank, problem.n_ranks);
  set_window(schedule, params);
  schedule.n_channels = 2;  // doubling; to and from those who wait
  if (halves.waits) {
    schedule.repeat(one.count(),
                    [=](std::size_t j, Emitter& e) { e.send(rank + 1, one.region(Buffer::input, j), 1); });
    schedule.repeat(whole.count(),
                    [=](std::size_t j, Emitter& e) { e.recv(rank + 1, whole.region(Buffer::output, j), 1); });
    return schedule;
  }
  schedule.once([=](std::size_t, Emitter& e) { e.copy({Buffer::input, 0, block}, place_of(rank)); });
  if (halves.takes_in) {
    schedule.repeat(one.count(), [=](std::size_t j, Emitter& e) {
      e.recv(rank - 1, one.region(Buffer::output, j, place_of(rank - 1).offset), 1);
    });
  }
  for (int size = 1; size < halves.power; size *= 2) {
    const auto run_of = [&](int number) {
      const int begin = number / size * size;
      const std::size_t at = place_of(halves.first_of(begin)).offset;
      return Region{Buffer::output, at, place_of(halves.first_of(begin + size)).offset - at};
    };
    const int other = halves.number ^ size;
    const int partner = halves.rank_of(other);
    const Region have = run_of(halves.number);
    const Region want = run_of(other);
    const Segments leaving(have.bytes, 1, params.segment_bytes);
    const Segments coming(want.bytes, 1, params.segment_bytes);
    schedule.repeat(std::max(leaving.count(), coming.count()), [=](std::size_t j, Emitter& e) {
      if (j < coming.count()) e.recv(partner, coming.region(Buffer::output, j, want.offset), 0);
      if (j < leaving.count()) e.send(partner, leaving.region(Buffer::output, j, have.offset), 0);
    });
  }
  if (halves.takes_in) {
    schedule.repeat(whole.count(),
                    [=](std::size_t j, Emitter& e) { e.send(rank - 1, whole.region(Buffer::output, j), 1); });
  }
  return schedule;
}

}  // namespace eco::algo
