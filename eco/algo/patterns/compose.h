// Schedules made of other algorithms' schedules: several one after the other, or levels (inside subnets, between them).
//
//   Steps steps;                                             // what one segment goes through, as one rank sees it
//   const Region partial = steps.scratch(bytes);
//   steps.part("reduce/chain", {{subnet, reduce_there}, {other, reduce_here}}, {Buffer::input}, partial);
//   steps.part("broadcast/binomial", {{everybody, broadcast}}, {}, {Buffer::output});
//   return flow(steps_of, view, params, rank, segments, n_lanes);
//
// A part is built for its group of ranks and its piece of the problem as if it were alone; then its peers become the
// group's members, its buffers regions of the whole, its channels channels of their own. Segment after segment runs
// through all parts in turn: what may overtake what follows from the regions, so one segment is in the last part while
// the next ones are in earlier ones, and nowhere is there a barrier. The whole is as symbolic as any schedule: one loop
// over the segments, whose body runs through the parts' loops.
//
// Regions of input and output are those of the first segment and move on with the segments; scratch memory is used again
// in turn, as by Slots. Groups of one part are disjoint. A group of one rank copies its input to its output. The groups of
// native parts become groups of the whole's (Schedule::groups), the same list at all ranks.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "eco/algo/patterns/segments.h"
#include "eco/algo/recipe.h"
#include "eco/coll/problem.h"
#include "eco/net/group_view.h"
#include "eco/sched/schedule.h"

namespace eco::algo {

// Where one part runs at once with its like: `problem` counts ranks, root and blocks within `members`.
struct Group {
  std::vector<int> members;
  coll::CommonProblem problem;
};

class Steps {
 public:
  using Operations = std::function<void(sched::Emitter&)>;

  // Room of its own for this segment.
  sched::Region scratch(std::size_t bytes);
  // An algorithm of the registry, or kNativePart, in each of the groups; the regions are those of this rank in its group.
  void part(std::string algorithm, std::vector<Group> groups, sched::Region input, sched::Region output);
  // Copies and reductions of the whole itself.
  void own(Operations operations);

  struct Step {
    std::string algorithm;  // empty: own operations
    std::vector<Group> groups;
    sched::Region input;
    sched::Region output;
    Operations operations;
  };
  const std::vector<Step>& all() const { return all_; }
  std::size_t scratch_bytes() const { return scratch_bytes_; }

 private:
  std::vector<Step> all_;
  std::size_t scratch_bytes_ = 0;
};

// The steps of a segment of so many bytes. Segment j goes through lane j mod n_lanes: the same parts with other groups or
// roots, on channels of their own.
using StepsOf = std::function<Steps(std::size_t bytes, std::size_t lane)>;

sched::Schedule flow(const StepsOf& steps_of, const net::GroupView& view, const Params& params, int rank,
                     const Segments& segments, std::size_t n_lanes = 1);

// Why some part can't do what is asked of it in some group: unknown, another collective, or its own reason.
std::optional<std::string> objection_to(const Steps& steps, const net::GroupView& view);

}  // namespace eco::algo
