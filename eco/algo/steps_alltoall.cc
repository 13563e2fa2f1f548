// All-to-all in steps: a rank exchanges with one other at a time, and begins the next exchange when the last is over.
//
//   steps            P-1 exchanges of one block each way, cut into segments
//   bytes per link   the least there is
//   model            (P-1) * (alpha + block beta), on links that one flow fills
//   order            none (data movement)
//   source           pairwise (partners exchange): Thakur et al., 2005; circular (to one, from another): Vadhiyar, Fagg and
//                    Dongarra, SC 2000, section 2.6
//
// P = 4:   pairwise   0 <-> 1, 2 <-> 3   0 <-> 2, 1 <-> 3   0 <-> 3, 1 <-> 2      circular   r -> r+1, r -> r+2, r -> r+3
//
// No operation waits for another but for memory, so two buffers make the steps: what a step sends from, the next receives
// into, and the other way round.
#include <array>
#include <bit>

#include "eco/algo/builders.h"
#include "eco/algo/patterns/combine.h"
#include "eco/algo/patterns/segments.h"

namespace eco::algo {
namespace {

using sched::Buffer;
using sched::Emitter;
using sched::Region;

struct Step {
  int to;
  int from;
};

std::vector<Step> steps_of(bool in_pairs, int n, int rank) {
  std::vector<Step> steps;
  for (int i = 0; i < n; ++i) {
    // In pairs: bitwise, or where that leads out of the group, those whose sum is i modulo P.
    const bool bitwise = std::has_single_bit(static_cast<unsigned>(n));
    const int partner = bitwise ? rank ^ i : (i + n - rank) % n;
    const Step step = in_pairs ? Step{partner, partner} : Step{(rank + i) % n, (rank + n - i) % n};
    if (step.to != rank) steps.push_back(step);
  }
  return steps;
}

}  // namespace

Schedule build_alltoall_steps(const CommonProblem& problem, bool in_pairs, const Params& params, int rank) {
  const std::size_t block = problem.block_bytes();
  const Segments segments(block, 1, params.segment_bytes);
  const auto at = [block](int peer) { return static_cast<std::size_t>(peer) * block; };
  Schedule schedule(rank, problem.n_ranks);
  set_window(schedule, params);
  schedule.scratch_bytes = 2 * block;
  std::size_t leaving = 0;
  std::size_t coming = block;
  for (const Step& step : steps_of(in_pairs, problem.n_ranks, rank)) {
    schedule.repeat(segments.count(), [=](std::size_t j, Emitter& e) {
      const Region out = segments.region(Buffer::scratch, j, leaving);
      const Region in = segments.region(Buffer::scratch, j, coming);
      e.copy(segments.region(Buffer::input, j, at(step.to)), out);
      e.recv(step.from, in);
      e.send(step.to, out);
      e.copy(in, segments.region(Buffer::output, j, at(step.from)));
    });
    std::swap(leaving, coming);
  }
  schedule.once([=](std::size_t, Emitter& e) {
    e.copy({Buffer::input, at(rank), block}, {Buffer::output, at(rank), block});
  });
  return schedule;
}

}  // namespace eco::algo
