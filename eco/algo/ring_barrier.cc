// Barrier around the ring: a token collects everybody on its first turn and tells everybody on its second.
//
//   steps            2P - 2 one after the other; 2P with both turns to the end (double ring)
//   bytes per link   two tokens between neighbours
//   model            (2P - 2) * alpha
//   order            tokens are sets
//   source           extended ring: Vadhiyar, Fagg and Dongarra, SC 2000, section 2.8; double ring: Open MPI
//
// P = 3:   0 -> 1 -> 2 -> 0   then   0 -> 1      double ring   0 -> 1 -> 2 -> 0   then   0 -> 1 -> 2 -> 0
#include "eco/algo/builders.h"
#include "eco/algo/patterns/combine.h"

namespace eco::algo {

using sched::Buffer;
using sched::Emitter;
using sched::Region;

Schedule build_barrier_ring(const CommonProblem& problem, bool to_the_end, const Params& params, int rank) {
  constexpr std::size_t kToken = coll::kBarrierTokenBytes;
  const int n = problem.n_ranks;
  const int left = (rank + n - 1) % n;
  const int right = (rank + 1) % n;
  const int last_told = to_the_end ? n : n - 2;  // rank n is 0 again
  const Region own{Buffer::input, 0, kToken};
  const Region heard{Buffer::scratch, 0, kToken};
  const Region result{Buffer::output, 0, kToken};
  Schedule schedule(rank, n);
  set_window(schedule, params);
  schedule.scratch_bytes = kToken;
  schedule.once([=](std::size_t, Emitter& e) {
    if (rank == 0) {
      e.send(right, own);
      e.recv(left, result);
    } else {
      e.recv(left, heard);
      e.reduce(own, heard);
      e.send(right, heard);
    }
    if (rank > 0 && rank <= last_told) e.recv(left, result);
    if (rank > last_told) e.copy(heard, result);  // knew it on the first turn
    if (rank + 1 <= last_told) e.send(right, result);
    if (rank == 0 && to_the_end) e.recv(left, heard);
  });
  return schedule;
}

}  // namespace eco::algo
