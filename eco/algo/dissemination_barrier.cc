// Barrier by dissemination: in every round each rank tells `degree` - 1 others who has arrived so far.
//
//   steps            log(P) to the base `degree`, rounded up
//   bytes per link   one token
//   model            log(P) * alpha
//   order            tokens are sets: those of a rank may come twice
//   source           Hensgen, Finkel and Manber, IJPP 17 (1988); k messages at once: Hoefler et al., IPDPS 2006; degree = 2
//                    is the distributed binomial of Vadhiyar, Fagg and Dongarra, SC 2000, section 2.7
//
// P = 5, degree = 2:   r -> r+1, r -> r+2, r -> r+4      degree = 3:   r -> r+1, r+2   then   r -> r+3
#include "eco/algo/builders.h"
#include "eco/algo/patterns/combine.h"

namespace eco::algo {

using sched::Buffer;
using sched::Emitter;
using sched::Region;

Schedule build_barrier_dissemination(const CommonProblem& problem, const Params& params, int rank) {
  const int n = problem.n_ranks;
  constexpr std::size_t kToken = coll::kBarrierTokenBytes;
  Schedule schedule(rank, n);
  set_window(schedule, params);
  std::size_t room = kToken;
  int channel = 0;
  std::size_t known = 0;  // where the token of this round is; every round has one of its own
  schedule.once(
      [=](std::size_t, Emitter& e) { e.copy({Buffer::input, 0, kToken}, {Buffer::scratch, 0, kToken}); });
  for (int unit = 1; unit < n; unit *= params.degree, ++channel) {
    const std::size_t next = room;
    std::vector<int> distances;
    for (int digit = 1; digit < params.degree && digit * unit < n; ++digit) distances.push_back(digit * unit);
    schedule.once([=](std::size_t, Emitter& e) {
      const Region told{Buffer::scratch, known, kToken};
      const Region total{Buffer::scratch, next, kToken};
      e.copy(told, total);
      Region heard = total;
      for (const int distance : distances) {
        heard.offset += kToken;
        e.recv((rank + n - distance) % n, heard, channel);
        e.send((rank + distance) % n, told, channel);
        e.reduce(heard, total);
      }
    });
    known = next;
    room += (1 + distances.size()) * kToken;
  }
  schedule.n_channels = std::max(channel, 1);
  schedule.scratch_bytes = room;
  schedule.once([=](std::size_t, Emitter& e) {
    e.copy({Buffer::scratch, known, kToken}, {Buffer::output, 0, kToken});
  });
  return schedule;
}

}  // namespace eco::algo
