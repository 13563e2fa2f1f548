#include "eco/algo/algorithm.h"

#include <algorithm>

#include "eco/algo/at_sites.h"
#include "eco/base/errors.h"
#include "eco/net/sites.h"

namespace eco::algo {
namespace {

bool names_each_once(std::vector<int> list, int n) {
  std::sort(list.begin(), list.end());
  if (static_cast<int>(list.size()) != n) return false;
  for (int i = 0; i < n; ++i) {
    if (list[static_cast<std::size_t>(i)] != i) return false;
  }
  return true;
}

// True if the parents lead from every subnet to one and the same.
bool is_tree(const std::vector<int>& parents, int n_subnets) {
  if (static_cast<int>(parents.size()) != n_subnets) return false;
  if (std::count(parents.begin(), parents.end(), -1) != 1) return false;
  if (*std::max_element(parents.begin(), parents.end()) >= n_subnets) return false;
  for (int at : parents) {
    for (int steps = 0; at >= 0; ++steps) {
      if (steps == n_subnets) return false;
      at = parents[static_cast<std::size_t>(at)];
    }
  }
  return true;
}

// What the lists of a recipe have against this group.
std::optional<std::string> objection_to_lists(const Params& params, const net::GroupView& view) {
  const std::string n_subnets = std::to_string(view.n_subnets());
  if (!params.order.empty() && !names_each_once(params.order, view.n_subnets()))
    return "its order does not name each of the " + n_subnets + " subnets once";
  if (!params.tree.empty() && !is_tree(params.tree, view.n_subnets()))
    return "its tree does not join the " + n_subnets + " subnets";
  if (!params.ring.empty() && !names_each_once(params.ring, view.n_ranks()))
    return "its ring does not name each of the " + std::to_string(view.n_ranks()) + " ranks once";
  for (const int owner : params.owners) {
    if (owner >= view.n_subnets())
      return "its owners name subnet " + std::to_string(owner) + " of " + n_subnets;
  }
  if (params.first.empty()) return std::nullopt;
  if (static_cast<int>(params.first.size()) != view.n_subnets())
    return "it names the leaders of " + std::to_string(params.first.size()) + " subnets, not of " + n_subnets;
  for (std::size_t s = 0; s < params.first.size(); ++s) {
    if (static_cast<std::size_t>(params.first[s]) >= view.subnets[s].ranks.size())
      return "subnet " + std::to_string(s) + " has no rank " + std::to_string(params.first[s]) +
             " to lead it";
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> Algorithm::why_not(const Problem& problem, const View& view) const {
  if (problem.n_ranks < 2) return "one rank has nobody to talk to";
  if (coll::follows_graph(problem.collective) &&
      !(problem.neighbors && problem.neighbors->n_ranks() == problem.n_ranks))
    return "needs the graph of a topology";
  if (coll::payload_bytes(problem) == 0) return "there is nothing to send";
  if (coll::whole_bytes(problem, problem.bytes) != problem.bytes)
    return "its " + std::to_string(problem.bytes) + " bytes are no equal blocks of whole elements";
  if (on_rails && view.network->n_rails() < 2) return "hosts have one rail";
  return objection ? objection(problem, view) : std::nullopt;
}

std::optional<std::string> why_not_named(std::string_view name, coll::Collective collective) {
  const Algorithm* algorithm = find(name);
  const coll::Collective algorithms_of = coll::algorithms_of(collective);
  if (algorithm != nullptr && algorithm->collective == algorithms_of) return std::nullopt;
  std::string names;
  for (const Algorithm& each : registry()) {
    if (each.collective == algorithms_of) names += (names.empty() ? "" : ", ") + std::string(each.name);
  }
  return "'" + std::string(name) + "' is no " + std::string(coll::name(collective)) +
         "; its algorithms are " + names;
}

std::optional<std::string> why_not(const Recipe& recipe, const coll::CommonProblem& problem,
                                   const net::GroupView& given_view) {
  if (!recipe.params.sites.empty() && !net::are_sites(recipe.params.sites, given_view))
    return "its sites do not give each of the " + std::to_string(given_view.n_subnets()) +
           " subnets a site, numbered from 0 as they come up";
  const AtSites seen(given_view, recipe.params);
  const net::GroupView& view = seen.view();
  if (auto reason = why_not_named(recipe.algorithm, problem.collective)) return reason;
  const Algorithm* algorithm = find(recipe.algorithm);
  if (auto reason = objection_to_lists(recipe.params, view)) return reason;
  if (auto reason = algorithm->why_not(problem, view)) return reason;
  if (algorithm->objection_to) return algorithm->objection_to(problem, view, recipe.params);
  if (!recipe.params.parts.empty()) return "'" + recipe.algorithm + "' has no parts";
  if (recipe.params.islands != Islands::subnets) return "'" + recipe.algorithm + "' has no islands";
  return std::nullopt;
}

Recipe stand_in(const Recipe& recipe) {
  Recipe guess = recipe;
  const Algorithm* algorithm = find(recipe.algorithm);
  if (algorithm == nullptr) return guess;
  for (std::size_t i = 0; i < std::min(guess.params.parts.size(), algorithm->parts.size()); ++i) {
    if (guess.params.parts[i] != kNativePart) continue;
    for (const Shape shape : {Shape::chain, Shape::flat, Shape::binomial}) {  // the last that there is
      const std::string name =
          std::string(coll::name(algorithm->parts[i])) + "/" + std::string(algo::name(shape));
      if (find(name) != nullptr) guess.params.parts[i] = name;
    }
  }
  return guess;
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

bool is_on_rails(const Recipe& recipe) {
  const Algorithm* const algorithm = find(recipe.algorithm);
  return algorithm != nullptr && algorithm->on_rails;
}

}  // namespace eco::algo
