// Every recipe that an exhaustive search measures for one problem: all forms, each with its segment sizes m / 2^i (the
// first phase of the 2000 paper, section 3), the largest first.
//
//   const std::vector<FormRecipes> forms = all_forms(problem, view);
//   forms[0].name, forms[0].recipes.front()       // whole messages
//
// A form is a recipe's algorithm with all parameters but the segment. The paper's ("methods") are "broadcast/chain" and its
// like; of ECO's trees each shape and order is one. Send windows are left out: they repair congestion, and change little else.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "eco/algo/recipe.h"
#include "eco/coll/problem.h"
#include "eco/net/group_view.h"

namespace eco::tune {

struct FormRecipes {
  std::string name;                   // form_name()
  std::vector<algo::Recipe> recipes;  // the largest segment first; no two of the same schedule
};

// The recipe's text without its segment, and without a window that is none.
std::string form_name(const algo::Recipe& recipe);

// Pure. Segments are no smaller than `least_bytes` (the paper's basic type) and whole elements.
std::vector<FormRecipes> all_forms(const coll::CommonProblem& problem, const net::GroupView& view,
                                   std::size_t least_bytes = 8);

}  // namespace eco::tune
