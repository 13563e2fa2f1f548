#include "eco/algo/algorithm.h"

#include <algorithm>

#include "eco/base/errors.h"

namespace eco::algo {
namespace {

bool names_each_subnet_once(std::vector<int> order, const net::GroupView& view) {
  std::sort(order.begin(), order.end());
  if (static_cast<int>(order.size()) != view.n_subnets()) return false;
  for (int s = 0; s < view.n_subnets(); ++s) {
    if (order[static_cast<std::size_t>(s)] != s) return false;
  }
  return true;
}

}  // namespace

std::optional<std::string> Algorithm::why_not(const Problem& problem, const View& view) const {
  if (problem.n_ranks < 2) return "one rank has nobody to talk to";
  if (coll::payload_bytes(problem) == 0) return "there is nothing to send";
  if (coll::whole_bytes(problem, problem.bytes) != problem.bytes)
    return "its " + std::to_string(problem.bytes) + " bytes are no equal blocks of whole elements";
  return objection ? objection(problem, view) : std::nullopt;
}

std::optional<std::string> why_not(const Recipe& recipe, const coll::CommonProblem& problem,
                                   const net::GroupView& view) {
  const Algorithm* algorithm = find(recipe.algorithm);
  if (algorithm == nullptr) return "there is no algorithm '" + recipe.algorithm + "'";
  if (algorithm->collective != coll::algorithms_of(problem.collective)) {
    return "'" + recipe.algorithm + "' is no " + std::string(coll::name(problem.collective));
  }
  if (!recipe.params.order.empty() && !names_each_subnet_once(recipe.params.order, view)) {
    return "its order does not name each of the " + std::to_string(view.n_subnets()) + " subnets once";
  }
  if (auto reason = algorithm->why_not(problem, view)) return reason;
  if (algorithm->objection_to) return algorithm->objection_to(problem, view, recipe.params);
  if (!recipe.params.parts.empty()) return "'" + recipe.algorithm + "' has no parts";
  return std::nullopt;
}

std::vector<sched::Schedule> build_all(const Recipe& recipe, const coll::CommonProblem& problem,
                                       const net::GroupView& view) {
  const Algorithm* algorithm = find(recipe.algorithm);
  if (algorithm == nullptr) throw InvalidArgument("there is no algorithm '" + recipe.algorithm + "'");
  std::vector<sched::Schedule> schedules;
  for (int rank = 0; rank < problem.n_ranks; ++rank) {
    schedules.push_back(algorithm->build(problem, view, recipe.params, rank));
  }
  return schedules;
}

}  // namespace eco::algo
