#include "eco/plan/guidelines.h"

#include <algorithm>
#include <array>
#include <utility>

#include "eco/algo/algorithm.h"
#include "eco/plan/native_guess.h"
#include "eco/plan/proving.h"

namespace eco::plan {
namespace {

using algo::Recipe;
using coll::Collective;

// Bytes are those of the whole message where a collective has blocks, so the two sides are of as many.
const std::array kGuidelines = std::to_array<Guideline>({
    {Collective::allreduce, {Collective::reduce, Collective::broadcast}},
    {Collective::allreduce, {Collective::reduce_scatter, Collective::allgather}},
    {Collective::allreduce, {Collective::scan, Collective::broadcast}},
    {Collective::reduce, {Collective::allreduce}},
    {Collective::reduce, {Collective::reduce_scatter, Collective::gather}},
    {Collective::reduce_scatter, {Collective::reduce, Collective::scatter}},
    {Collective::reduce_scatter, {Collective::allreduce}},
    {Collective::scan, {Collective::exscan}},  // and its own part
    {Collective::broadcast, {Collective::scatter, Collective::allgather}},
    {Collective::broadcast, {Collective::allreduce}},  // where all but the root have zeros
    {Collective::scatter, {Collective::broadcast}},
    {Collective::scatter, {Collective::alltoall}},
    {Collective::gather, {Collective::allgather}},
    {Collective::gather, {Collective::reduce}},  // zeros in all blocks but its own
    {Collective::gather, {Collective::alltoall}},
    {Collective::allgather, {Collective::gather, Collective::broadcast}},
    {Collective::allgather, {Collective::allreduce}},
    {Collective::allgather, {Collective::alltoall}},
});

// Of as many bytes, timed alike.
const Served* find(std::span<const Served> served, Collective collective, const Served& like) {
  const bool same_kind = coll::is_rooted(collective) && coll::is_rooted(like.problem.collective);
  const int root = same_kind ? like.problem.root : 0;
  for (const Served& one : served) {
    const bool same_root = !coll::is_rooted(collective) || one.problem.root == root;
    const bool alike = one.problem.bytes == like.problem.bytes && one.in_a_row == like.in_a_row;
    if (one.problem.collective == collective && same_root && alike && one.seconds > 0) return &one;
  }
  return nullptr;
}

bool is_beyond(double seconds, double bound_s) { return seconds > (1 + kGuidelineAllowance) * bound_s; }

// Of the same collective and root, the next one of more bytes.
const Served* next_larger(std::span<const Served> served, const Served& than) {
  const Served* next = nullptr;
  for (const Served& one : served) {
    const bool alike = one.problem.collective == than.problem.collective &&
                       one.problem.root == than.problem.root && one.in_a_row == than.in_a_row;
    if (!alike || one.seconds <= 0 || one.problem.bytes <= than.problem.bytes) continue;
    if (next == nullptr || one.problem.bytes < next->problem.bytes) next = &one;
  }
  return next;
}

std::string algorithm_of(const Served& served, const net::GroupView& view) {
  if (served.recipe) return served.recipe->algorithm;
  const auto guess = guess_native(served.problem, view);
  return guess ? guess->algorithm : std::string();
}

// Compositions of just these parts, in all their segments.
std::vector<Recipe> composed_of(const Violation& violation, std::span<const Served> served,
                                const net::GroupView& view) {
  std::vector<Recipe> all;
  const coll::CommonProblem& problem = served[violation.broken].problem;
  std::vector<std::string> parts;
  for (const std::size_t part : violation.does_too) parts.push_back(algorithm_of(served[part], view));
  for (const algo::Algorithm& algorithm : algo::registry()) {
    if (algorithm.collective != problem.collective || algorithm.parts != violation.rule->right) continue;
    if (algorithm.why_not(problem, view)) continue;
    for (algo::Params& params : algorithm.candidates(problem, view)) {
      params.parts = parts;
      Recipe recipe{algorithm.name, std::move(params)};
      if (std::find(all.begin(), all.end(), recipe) == all.end()) all.push_back(std::move(recipe));
    }
  }
  return all;
}

}  // namespace

std::string text(const Guideline& guideline) {
  std::string text = std::string(coll::name(guideline.left)) + " <=";
  for (const Collective collective : guideline.right) {
    text += (collective == guideline.right.front() ? " " : " + ") + std::string(coll::name(collective));
  }
  return text;
}

std::span<const Guideline> guidelines() { return kGuidelines; }

std::vector<Violation> violations(std::span<const Served> served) {
  std::vector<Violation> all;
  const auto index = [&](const Served* one) { return static_cast<std::size_t>(one - served.data()); };
  for (const Served& one : served) {
    if (one.seconds <= 0) continue;
    for (const Guideline& rule : kGuidelines) {
      if (rule.left != one.problem.collective) continue;
      Violation violation{index(&one), &rule, {}, 0};
      for (const Collective part : rule.right) {
        const Served* does_too = find(served, part, one);
        if (does_too == nullptr) break;
        violation.does_too.push_back(index(does_too));
        violation.bound_s += does_too->seconds;
      }
      const bool known = violation.does_too.size() == rule.right.size();
      if (known && is_beyond(one.seconds, violation.bound_s)) all.push_back(std::move(violation));
    }
    const Served* larger = next_larger(served, one);
    if (larger != nullptr && is_beyond(one.seconds, larger->seconds)) {
      all.push_back({index(&one), nullptr, {index(larger)}, larger->seconds});
    }
  }
  return all;
}

std::vector<Candidate> repairs(const Violation& violation, std::span<const Served> served,
                               const net::GroupView& view, const ForecastOptions& options,
                               std::size_t how_many) {
  const coll::CommonProblem& problem = served[violation.broken].problem;
  std::vector<Recipe> recipes;
  if (violation.rule != nullptr) {
    recipes = composed_of(violation, served, view);
  } else if (const auto& larger = served[violation.does_too.front()].recipe) {
    recipes.push_back(*larger);
  }
  std::vector<Candidate> able;
  for (const Recipe& recipe : recipes) {
    if (algo::why_not(recipe, problem, view)) continue;
    Candidate candidate = candidate_of(recipe, problem, view, options);
    if (candidate.why_not.empty()) able.push_back(std::move(candidate));
  }
  std::stable_sort(able.begin(), able.end(), [](const Candidate& a, const Candidate& b) {
    return a.forecast.seconds < b.forecast.seconds;
  });
  std::vector<Candidate> best;
  for (Candidate& candidate : able) {
    if (best.size() == how_many) break;
    if (!prove(candidate.recipe, problem, view)) best.push_back(std::move(candidate));
  }
  return best;
}

}  // namespace eco::plan
