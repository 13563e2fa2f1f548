// What the closed form of a recipe's algorithm says (eco/model), beside the predictor's forecast.
//
//   if (const auto closed = closed_forecast(recipe, problem, view)) {
//     closed->seconds; closed->form->formula;           // "(P-1) (g(s) + L) + g(s) (k-1)"
//   }
//
// The formulas know one class of pairs; a group that has several is taken for a cluster of the dearest of them, so
// that whatever a schedule does to spare the slow links is not seen. Orders, heads and send windows are not in it.
#pragma once

#include <optional>

#include "eco/algo/recipe.h"
#include "eco/coll/problem.h"
#include "eco/model/closed_forms.h"
#include "eco/net/group_view.h"

namespace eco::plan {

struct ClosedForecast {
  double seconds = 0;
  const model::ClosedForm* form = nullptr;
  const net::ClassPLogP* pairs = nullptr;  // of view.network
};

// Pure. Nothing if the network was measured without pLogP of a class that the group has, if there is no formula for the
// algorithm with these parameters, or no gamma for an all-to-all.
std::optional<ClosedForecast> closed_forecast(const algo::Recipe& recipe, const coll::CommonProblem& problem,
                                              const net::GroupView& view);

}  // namespace eco::plan
