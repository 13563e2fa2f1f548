#include "eco/plan/native_guess.h"

#include <string>

#include "eco/algo/algorithm.h"
#include "eco/plan/forecast.h"

namespace eco::plan {
namespace {

// What keeps ECO's own Executor from an end in a large group keeps no library.
constexpr std::size_t kLibraryLooksAhead = std::size_t{1} << 20;

}  // namespace

// Along a graph there is only flat: one message for each edge.
std::optional<algo::Recipe> guess_native(const coll::CommonProblem& problem, const net::GroupView& view) {
  for (const algo::Shape shape : {algo::Shape::binomial, algo::Shape::flat, algo::Shape::chain}) {
    algo::Recipe recipe;
    recipe.algorithm = std::string(coll::name(coll::algorithms_of(problem.collective))) + "/" +
                       std::string(algo::name(shape));
    recipe.params.inside = recipe.params.between = shape;
    if (!algo::why_not(recipe, problem, view)) return recipe;
  }
  return std::nullopt;
}

double guess_native_s(const coll::CommonProblem& problem, const net::GroupView& view) {
  const std::optional<algo::Recipe> guess = guess_native(problem, view);
  if (!guess) return 0;
  const Candidate candidate = candidate_of(*guess, problem, view, {.window_capacity = kLibraryLooksAhead});
  return candidate.why_not.empty() ? candidate.forecast.seconds : 0;
}

}  // namespace eco::plan
