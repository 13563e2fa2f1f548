// What Python asks about: a problem on a group of ranks, all from plain values.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "eco/algo/algorithm.h"
#include "eco/base/errors.h"
#include "eco/coll/problem.h"
#include "eco/net/group_view.h"
#include "eco/net/io.h"

namespace eco::python {

inline std::string all_names() {
  std::string names;
  for (const coll::Collective collective : coll::all_collectives()) {
    names += (names.empty() ? "" : ", ") + std::string(coll::name(collective));
  }
  return names;
}

inline coll::Collective collective_named(const std::string& name) {
  const auto known = coll::collective_from_name(name);
  if (!known) throw InvalidArgument("collective '" + name + "' is none of " + all_names());
  return *known;
}

struct Question {
  coll::CommonProblem problem;
  net::GroupView view;

  Question(const std::string& network, std::vector<int> host_of_rank, const std::string& collective,
           std::size_t bytes, int root) {
    problem.collective = collective_named(collective);
    view = net::make_view(std::make_shared<const net::Network>(net::parse_network(network, "network")),
                          std::move(host_of_rank));
    if (root < 0 || root >= view.n_ranks()) {
      throw InvalidArgument("root " + std::to_string(root) + " is not among the " +
                            std::to_string(view.n_ranks()) + " ranks");
    }
    problem.n_ranks = view.n_ranks();
    problem.root = coll::is_rooted(problem.collective) ? root : 0;
    // Reductions are explained for doubles; sizes are cut to whole elements and equal blocks.
    const bool is_barrier = problem.collective == coll::Collective::barrier;
    if (coll::is_reduction(problem.collective) && !is_barrier) problem.element_bytes = sizeof(double);
    problem.bytes = is_barrier ? 0 : coll::whole_bytes(problem, bytes);
  }

  int root_subnet() const {
    return coll::is_rooted(problem.collective) ? view.subnet_of_rank[static_cast<std::size_t>(problem.root)]
                                               : 0;
  }
};

// Throws InvalidArgument where the recipe does not fit the question.
inline algo::Recipe parse_fitting(const Question& question, const std::string& recipe) {
  algo::Recipe parsed = algo::parse_recipe(recipe);
  if (const auto reason = algo::why_not(parsed, question.problem, question.view)) {
    throw InvalidArgument("recipe '" + recipe + "': " + *reason);
  }
  return parsed;
}

// What stands for the recipe where its messages are wanted.
inline std::vector<sched::Schedule> build_to_predict(const Question& question, const std::string& recipe) {
  return algo::build_all(algo::stand_in(parse_fitting(question, recipe)), question.problem, question.view);
}

inline std::vector<sched::Schedule> build(const Question& question, const std::string& recipe) {
  return algo::build_all(parse_fitting(question, recipe), question.problem, question.view);
}

}  // namespace eco::python
