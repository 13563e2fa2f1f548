// Segments flowing through trees: what all tree algorithms have in common.
#pragma once

#include <vector>

#include "eco/algo/patterns/segments.h"
#include "eco/algo/patterns/tree.h"
#include "eco/coll/problem.h"
#include "eco/sched/schedule.h"

namespace eco::algo {

// Every segment flows from the root to the leaves, each rank passing it on as soon as it has it.
// One channel; n / segment + depth steps of one segment.
sched::Schedule pipelined_broadcast(const coll::CommonProblem& problem, const Tree& tree,
                                    const Params& params, int rank);

// The same, but the first params.head segments flow down `head_tree` (same root), on a channel of their own, and the
// root serves the near children of a segment only after the far children of so many later ones: its own subnet is the
// one that can wait while the others fill.
sched::Schedule pipelined_broadcast(const coll::CommonProblem& problem, const Tree& tree,
                                    const Tree& head_tree, const Params& params, int rank);

// An owner of segments: they are combined up one tree and distributed down another, both rooted at the owner.
struct Owner {
  Tree up;
  Tree down;
};

// Segment j belongs to owner j mod K: it is combined towards the owner and sent on from there, all segments in flight
// at once. Every rank receives what one rank has computed, so all obtain the same expression. Needs a commutative
// operation (children are combined before the rank's own contribution). 2 K channels.
sched::Schedule pipelined_allreduce(const coll::CommonProblem& problem, const std::vector<Owner>& owners,
                                    const Params& params, int rank);

}  // namespace eco::algo
