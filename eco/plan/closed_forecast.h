// What the closed form of a recipe's algorithm says (eco/model), beside the predictor's forecast.
//
//   if (const auto closed = closed_forecast(recipe, problem, view)) {
//     closed->seconds; closed->form->formula;           // "(P-1) (g(s) + L) + g(s) (k-1)"
//   }
//   if (const auto closed = closed_by_rates(recipe, problem, view)) closed->least_s, closed->most_s;
//
// The formulas know one class of pairs; a group that has several is taken for a cluster of the dearest of them (or of the
// cheapest), so that whatever a schedule does to spare the slow links is not seen, nor what messages do to each other on
// a link that they share. Orders, heads and send windows are not in it.
#pragma once

#include <optional>

#include "eco/algo/recipe.h"
#include "eco/coll/problem.h"
#include "eco/model/closed_forms.h"
#include "eco/net/group_view.h"
#include "eco/plan/forecast.h"

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

struct ClosedRange {
  double least_s = 0;  // the group as a cluster of its cheapest pairs
  double most_s = 0;   // of its dearest
  const model::ClosedForm* form = nullptr;
};

// Pure. The same with the parameters that the rates and latencies of the network give, so for any network: of what the
// predictor, which has the same rates, says about an algorithm with a formula. All-to-all is taken at its upper bound.
std::optional<ClosedRange> closed_by_rates(const algo::Recipe& recipe, const coll::CommonProblem& problem,
                                           const net::GroupView& view);

// A prediction further outside the range of its closed form is worth a look. Of all candidates with a formula, 8 B to 1 MiB
// on one switch of 8 ranks (docs/models.md), messages that are neither cut nor bundled take what the formula says to the
// last digits shown; segments are within this factor, since formulas count a short last segment as a whole one.
inline constexpr double kClosedFactor = 2;

// The closed form that a prediction differs from by more than kClosedFactor, if it has one that it does not agree with.
std::optional<ClosedRange> contradiction(const Candidate& candidate, const coll::CommonProblem& problem,
                                         const net::GroupView& view);

}  // namespace eco::plan
