// A guess at the library's own collective, for where it was not measured: which candidates are worth the time of a trial,
// and what an estimate compares with.
//
//   if (const auto guess = guess_native(problem, view)) guess->algorithm;   // "broadcast/binomial"
#pragma once

#include <optional>

#include "eco/algo/recipe.h"
#include "eco/coll/problem.h"
#include "eco/net/group_view.h"

namespace eco::plan {

// Pure. A binomial tree in rank order (or flat, or a chain, where a collective has none), the whole message at once;
// nothing, and 0 s, where there is no such recipe or it can't be predicted.
std::optional<algo::Recipe> guess_native(const coll::CommonProblem& problem, const net::GroupView& view);
double guess_native_s(const coll::CommonProblem& problem, const net::GroupView& view);

}  // namespace eco::plan
