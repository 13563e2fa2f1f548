// Allgather by leaders: blocks up inside each subnet, leaders exchange their subnets' blocks in one message each way,
// and everything down again. Scan and exscan of short vectors are the same with vectors for blocks: then every rank
// combines those of the ranks before it.
//
//   steps            depth up + 1 + depth down, whatever the number of ranks: one crossing of the slow links
//   bytes per link   allgather: a subnet's blocks out to each other subnet, the others' in: the least there is
//   model            alpha(between) + 2 depth * alpha(inside) + (n - n_own) / B(downlink)
//   order            scan: rank order, commutative or not
//   source           Kielmann et al., MagPIe, PPoPP 1999; Lowekamp and Beguelin, CMU-CS-95-191, sections 5 and 7
//
// {0 1} {2 3}:   1 -> 0 [1], 3 -> 2 [3]   then   0 -> 2 [0 1], 2 -> 0 [2 3]   then   0 -> 1 [0 1 2 3], 2 -> 3 [...]
#include <algorithm>

#include "eco/algo/builders.h"
#include "eco/algo/patterns/combine.h"
#include "eco/algo/patterns/leaders.h"

namespace eco::algo {
namespace {

using sched::Buffer;
using sched::Emitter;
using sched::Region;

// Brings every rank's input of `block` bytes to every rank, packed as leaders.packed says, from `place` on.
void bring_all(Schedule& schedule, const Leaders& leaders, std::size_t block, Region place,
               std::size_t segment_bytes) {
  const auto blocks = [=](std::size_t first, std::size_t count) {
    return Region{place.buffer, place.offset + first * block, count * block};
  };
  const auto cut = [=](Region region, std::size_t j) {
    return Segments(region.bytes, 1, segment_bytes).region(region.buffer, j, region.offset);
  };
  const auto n_cuts = [=](Region region) { return Segments(region.bytes, 1, segment_bytes).count(); };
  const Region mine = blocks(leaders.position, 1);
  const Region subtree = blocks(leaders.position, leaders.stream.ranks.size());

  schedule.once([=](std::size_t, Emitter& e) {
    e.copy({Buffer::input, 0, block}, mine);
    for (const Stream::Part& part : leaders.stream.parts) {
      const Region theirs = blocks(leaders.position + part.begin, part.count);
      for (std::size_t j = 0; j < n_cuts(theirs); ++j) e.recv(part.child, cut(theirs, j), 0);
    }
  });
  if (!leaders.leads()) {
    schedule.repeat(n_cuts(subtree),
                    [=](std::size_t j, Emitter& e) { e.send(leaders.inside.parent, cut(subtree, j), 0); });
  }
  // All subnets' blocks side by side, the own ones first: they are there. What leaves and what comes take turns, so that
  // no leader looks ahead over nothing but sends.
  std::vector<Region> of_subnets;
  std::size_t n_most = 0;
  for (std::size_t i = 0; i < leaders.n_subnets(); ++i) {
    const std::size_t s = (leaders.subnet + i) % leaders.n_subnets();
    of_subnets.push_back(blocks(leaders.first_of(s), leaders.count_of(s)));
    n_most = std::max(n_most, n_cuts(of_subnets.back()));
  }
  schedule.repeat(n_most, [=](std::size_t j, Emitter& e) {
    for (std::size_t i = 0; i < of_subnets.size(); ++i) {
      if (j >= n_cuts(of_subnets[i])) continue;
      const Region piece = cut(of_subnets[i], j);
      if (!leaders.leads()) {
        e.recv(leaders.inside.parent, piece, 2);
      } else if (i == 0) {
        for (const int other : leaders.others) e.send(other, piece, 1);
      } else {
        e.recv(leaders.leader_of((leaders.subnet + i) % leaders.n_subnets()), piece, 1);
      }
      for (const int child : leaders.inside.children) e.send(child, piece, 2);
    }
  });
}

}  // namespace

Schedule build_allgather_leaders(const CommonProblem& problem, const GroupView& view, const Params& params,
                                 int rank) {
  const Leaders leaders(view, params, rank);
  const std::size_t block = problem.block_bytes();
  Schedule schedule(rank, problem.n_ranks);
  set_window(schedule, params);
  schedule.n_channels = kLeaderChannels;
  bool sorted = true;
  for (std::size_t i = 0; i < leaders.packed.size(); ++i)
    sorted = sorted && leaders.packed[i] == static_cast<int>(i);
  if (sorted) {
    bring_all(schedule, leaders, block, {Buffer::output, 0, problem.bytes}, params.segment_bytes);
    return schedule;
  }
  schedule.scratch_bytes = problem.bytes;
  bring_all(schedule, leaders, block, {Buffer::scratch, 0, problem.bytes}, params.segment_bytes);
  schedule.repeat(leaders.packed.size(), [=, packed = leaders.packed](std::size_t i, Emitter& e) {
    e.copy({Buffer::scratch, i * block, block},
           {Buffer::output, static_cast<std::size_t>(packed[i]) * block, block});
  });
  return schedule;
}

Schedule build_scan_leaders(const CommonProblem& problem, const GroupView& view, const Params& params,
                            int rank) {
  const Leaders leaders(view, params, rank);
  const std::size_t vector = problem.bytes;
  Schedule schedule(rank, problem.n_ranks);
  set_window(schedule, params);
  schedule.n_channels = kLeaderChannels;
  schedule.scratch_bytes = vector * leaders.packed.size();
  bring_all(schedule, leaders, vector, {Buffer::scratch, 0, schedule.scratch_bytes}, params.segment_bytes);

  std::vector<Region> of_rank(leaders.packed.size());
  for (std::size_t i = 0; i < leaders.packed.size(); ++i)
    of_rank[static_cast<std::size_t>(leaders.packed[i])] = {Buffer::scratch, i * vector, vector};
  // Right to left, so that each operand stands left of what is there.
  const int last = problem.collective == coll::Collective::scan ? rank : rank - 1;
  if (last < 0) return schedule;
  schedule.once([=](std::size_t, Emitter& e) {
    const Region result{Buffer::output, 0, vector};
    e.copy(of_rank[static_cast<std::size_t>(last)], result);
    for (auto r = static_cast<std::size_t>(last); r-- > 0;) e.reduce(of_rank[r], result);
  });
  return schedule;
}

}  // namespace eco::algo
