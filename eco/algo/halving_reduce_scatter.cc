// Reduce-scatter by recursive halving: partners give each other the half that is the other's, halves of halves next.
//
//   steps            log2(P) rounds; two more where P is no power of two
//   bytes per link   (P-1)/P n out of every rank; n more from those who wait
//   model            log2(P) * alpha + (P-1)/P n (beta + gamma)
//   order            ranks far apart are combined first; needs a commutative operation
//   source           Thakur, Rabenseifner and Gropp, IJHPCA 19 (2005), section 4.3
//
// P = 4:   0 <-> 2, 1 <-> 3 (blocks 0 1 and 2 3)   then   0 <-> 1, 2 <-> 3.  P = 5: 0 -> 1 first, and 1 -> 0 [0] last.
#include <algorithm>

#include "eco/algo/builders.h"
#include "eco/algo/patterns/combine.h"
#include "eco/algo/patterns/halves.h"
#include "eco/algo/patterns/segments.h"

namespace eco::algo {

using sched::Buffer;
using sched::Emitter;
using sched::Region;

Schedule build_reduce_scatter_halving(const CommonProblem& problem, const Params& params, int rank) {
  const Halves halves(problem.n_ranks, rank);
  const std::size_t block = problem.block_bytes();
  const auto segments_of = [&](std::size_t bytes) {
    return Segments(bytes, problem.element_bytes, params.segment_bytes);
  };
  Schedule schedule(rank, problem.n_ranks);
  set_window(schedule, params);
  schedule.n_channels = 2;  // halving; to and from those who wait
  const Segments whole = segments_of(problem.bytes);
  const Segments one = segments_of(block);
  if (halves.waits) {
    schedule.repeat(whole.count(),
                    [=](std::size_t j, Emitter& e) { e.send(rank + 1, whole.region(Buffer::input, j), 1); });
    schedule.repeat(one.count(),
                    [=](std::size_t j, Emitter& e) { e.recv(rank + 1, one.region(Buffer::output, j), 1); });
    return schedule;
  }

  // Where this rank's sums lie: its run of blocks, from byte `first` of the vector on. Every round has room of its own.
  struct Sums {
    Buffer buffer;
    std::size_t offset;
    std::size_t first;
    std::size_t place(std::size_t byte) const { return offset + byte - first; }
  };
  Sums sums{Buffer::input, 0, 0};
  std::size_t room = 0;
  if (halves.takes_in) {
    room = problem.bytes;
    sums.buffer = Buffer::scratch;
    schedule.repeat(whole.count(), [=](std::size_t j, Emitter& e) {
      const Region theirs = whole.region(Buffer::scratch, j);
      e.recv(rank - 1, theirs, 1);
      e.reduce(whole.region(Buffer::input, j), theirs);
    });
  }
  const auto byte_of = [&](int number) { return static_cast<std::size_t>(halves.first_of(number)) * block; };
  int begin = 0;
  for (int size = halves.power / 2; size > 0; size /= 2) {
    const bool is_left = halves.number < begin + size;
    const int partner = halves.rank_of(is_left ? halves.number + size : halves.number - size);
    const int kept = is_left ? begin : begin + size;
    const int given = is_left ? begin + size : begin;
    const std::size_t keep_at = byte_of(kept);
    const std::size_t give_at = byte_of(given);
    const Segments keep = segments_of(byte_of(kept + size) - keep_at);
    const Segments give = segments_of(byte_of(given + size) - give_at);
    const Sums next{Buffer::scratch, room, keep_at};
    schedule.repeat(std::max(keep.count(), give.count()), [=](std::size_t j, Emitter& e) {
      if (j < keep.count()) e.recv(partner, keep.region(Buffer::scratch, j, next.offset), 0);
      if (j < give.count()) e.send(partner, give.region(sums.buffer, j, sums.place(give_at)), 0);
      if (j < keep.count()) {
        e.reduce(keep.region(sums.buffer, j, sums.place(keep_at)),
                 keep.region(Buffer::scratch, j, next.offset));
      }
    });
    room += byte_of(kept + size) - keep_at;
    sums = next;
    begin = kept;
  }
  schedule.scratch_bytes = room;
  const std::size_t own = sums.place(static_cast<std::size_t>(rank) * block);
  if (halves.takes_in) {
    schedule.repeat(one.count(), [=](std::size_t j, Emitter& e) {
      e.send(rank - 1, one.region(sums.buffer, j, own - block), 1);
    });
  }
  schedule.once(
      [=](std::size_t, Emitter& e) { e.copy({sums.buffer, own, block}, {Buffer::output, 0, block}); });
  return schedule;
}

}  // namespace eco::algo
