// Whether a recipe may enter a table: its schedules verified as data, at a cost that the message's length does not raise.
//
//   if (const auto fault = prove(recipe, problem, view)) refuse(*fault);
#pragma once

#include <optional>
#include <string>

#include "eco/algo/recipe.h"
#include "eco/coll/problem.h"
#include "eco/net/group_view.h"

namespace eco::plan {

// Pure. Proves the recipe's schedules (sched::verify), with input and output apart and, for allreduces, in one buffer.
// Long messages are stood for by shorter ones that are cut alike. Segments are proved in full number up to a limit
// that fills every window and reuses every slot of scratch memory; the last one may stand for another short one of
// half its length, and segments of odd lengths for rounder ones. A message (or block) that is not cut into segments is
// proved with fewer elements, of which as many are left over when the ranks share them. Groups of more than 512 ranks
// are stood for by one of the same subnets with fewer ranks, proved under a full and under a proportional window
// (docs/adr/0022). What is wrong, or nothing.
std::optional<std::string> prove(const algo::Recipe& recipe, const coll::CommonProblem& problem,
                                 const net::GroupView& view);

}  // namespace eco::plan
