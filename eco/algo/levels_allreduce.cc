// Allreduce (and barrier) in levels: reduce to one leader inside each subnet, allreduce between leaders, broadcast inside.
//
//   steps            those of the parts; different segments are in different parts at once
//   bytes per link   n out of and into a subnet times what the allreduce between takes: 2 (K-1)/K with a ring of K subnets
//   model            the sum of the parts' latencies, the largest of their transfers, + n gamma
//   order            that of the parts; rank order where subnets are runs of ranks and the parts keep it. Leaders agree on
//                    one expression, everybody receives it
//   source           Kielmann et al., MagPIe, PPoPP 1999; several leaders: Bayatpour et al., SC 2017
//
// {0 1} {2 3}, leaders = 2:   even segments 1 -> 0, 3 -> 2, then 0 <-> 2, then 0 -> 1, 2 -> 3; odd ones by 1 and 3
#include "eco/algo/composed.h"

namespace eco::algo {

using coll::Collective;
using sched::Buffer;
using sched::Region;

Steps allreduce_in_levels(const Piece& piece) {
  const Levels levels(piece);
  const Region result{Buffer::output};
  Steps steps;
  const Region of_subnet = steps.scratch(levels.leads() ? piece.bytes : 0);
  steps.part(piece.part(0), levels.inside(Collective::reduce, piece.bytes), {Buffer::input}, of_subnet);
  const bool is_barrier = piece.problem.collective == Collective::barrier;
  steps.part(piece.part(1), {levels.between(piece.problem.collective, is_barrier ? 0 : piece.bytes)},
             of_subnet, result);
  steps.part(piece.part(2), levels.inside(Collective::broadcast, piece.bytes), {}, result);
  return steps;
}

}  // namespace eco::algo
