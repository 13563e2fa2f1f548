// Allreduce (and barrier) by leaders: up inside each subnet, the leaders exchange what their subnets make, down again.
//
//   steps            depth up + 1 + depth down: one crossing of the slow links, where up-and-down a tree takes two
//   bytes per link   n out of a subnet for each other subnet; more than allreduce/subnets from three subnets on
//   model            alpha(between) + 2 depth * alpha(inside) + (K-1) n / B(uplink) + n gamma
//   order            all leaders combine in the order of the subnets, so all obtain the same expression; rank order where
//                    subnets are runs of ranks
//   source           Kielmann et al., MagPIe, PPoPP 1999; Lowekamp and Beguelin, CMU-CS-95-191, section 7
//
// {0 1} {2 3}:   1 -> 0, 3 -> 2   then   0 <-> 2   then   0 -> 1, 2 -> 3
#include "eco/algo/builders.h"
#include "eco/algo/patterns/combine.h"
#include "eco/algo/patterns/leaders.h"

namespace eco::algo {

using sched::Buffer;
using sched::Emitter;
using sched::Region;

Schedule build_allreduce_leaders(const CommonProblem& problem, const GroupView& view, const Params& params,
                                 int rank) {
  const Leaders leaders(view, params, rank);
  const Segments segments(problem, params.segment_bytes);
  const Slots below(segments, leaders.inside.children.size(), params);
  const Slots subnets(segments, leaders.leads() ? leaders.n_subnets() : 0, params, below.bytes());
  Schedule schedule(rank, problem.n_ranks);
  set_window(schedule, params);
  schedule.n_channels = kLeaderChannels;
  schedule.scratch_bytes = below.bytes() + subnets.bytes();
  schedule.repeat(segments.count(),
                  [=, children = ascending(leaders.inside.children)](std::size_t j, Emitter& e) {
                    const Region mine = segments.region(Buffer::input, j);
                    const Region result = segments.region(Buffer::output, j);
                    const Region of_subnet = combine_with_children(e, children, mine, below, j, 0);
                    if (!leaders.leads()) {
                      e.send(leaders.inside.parent, of_subnet, 0);
                      e.recv(leaders.inside.parent, result, 2);
                    } else {
                      const auto slot = [&](std::size_t s) { return subnets.region(j, s, mine.bytes); };
                      for (const int other : leaders.others) e.send(other, of_subnet, 1);
                      for (std::size_t s = 0; s < leaders.n_subnets(); ++s) {
                        if (s == leaders.subnet)
                          e.copy(of_subnet, slot(s));
                        else
                          e.recv(leaders.leader_of(s), slot(s), 1);
                      }
                      const Region total = slot(leaders.n_subnets() - 1);
                      for (std::size_t s = leaders.n_subnets() - 1; s-- > 0;) e.reduce(slot(s), total);
                      e.copy(total, result);
                    }
                    for (const int child : leaders.inside.children) e.send(child, result, 2);
                  });
  return schedule;
}

}  // namespace eco::algo
