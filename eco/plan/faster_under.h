// Recipes that are predicted to be faster than the present one on a network as loaded as it is now.
//
//   for (const algo::Recipe& recipe : faster_under(problem, loaded, present_s, options)) ...
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "eco/algo/recipe.h"
#include "eco/coll/problem.h"
#include "eco/net/group_view.h"
#include "eco/plan/forecast.h"

namespace eco::plan {

struct FasterOptions {
  std::size_t how_many = 2;
  double gain_needed = 0.05;  // a share
  ForecastOptions forecast{.most_operations = 3'000};
  // Asked between steps. Without it the search beyond the repertoire (search.h) takes its fixed number of them.
  std::function<bool()> time_is_up{};
};

// Pure. Best first, each proved; none with native parts, which would want communicators of the library, and none on rails, of
// which nothing is known now. `present_s`: what the present choice is predicted, or measured, to take there.
std::vector<algo::Recipe> faster_under(const coll::CommonProblem& problem, const net::GroupView& loaded,
                                       double present_s, const FasterOptions& options = {});

}  // namespace eco::plan
