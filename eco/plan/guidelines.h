// Performance guidelines: what one collective may take at most, since others do its work too. What breaks one is mended by
// doing just that.
//
//   for (const Violation& broken : violations({{problem, seconds, recipe}, ...})) ...
//   const std::vector<Candidate> mended = repairs(broken, served, view, options);
//
// After Traeff, Gropp and Thakur, Self-consistent MPI performance requirements (EuroPVM/MPI 2007).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "eco/algo/recipe.h"
#include "eco/coll/problem.h"
#include "eco/net/group_view.h"
#include "eco/plan/forecast.h"

namespace eco::plan {

// `left` takes no longer than all of `right` one after the other, each of as many bytes (coll::CommonProblem::bytes).
struct Guideline {
  coll::Collective left;
  std::vector<coll::Collective> right;
};
// "allreduce <= reduce + broadcast".
std::string text(const Guideline& guideline);

// One more holds for all collectives: fewer bytes take no longer than more.
std::span<const Guideline> guidelines();
inline constexpr const char* kMonotone = "no slower than more bytes";

// Medians of few runs differ by so much from one run of a program to the next: a guideline is broken beyond.
inline constexpr double kGuidelineAllowance = 0.05;

// What a call takes as it is served now.
struct Served {
  coll::CommonProblem problem;
  double seconds = 0;                  // not measured: 0
  std::optional<algo::Recipe> recipe;  // nothing: the native collective
  bool in_a_row = false;               // as in Row: compared with its like alone
};

struct Violation {
  std::size_t broken = 0;             // which of those that are served
  const Guideline* rule = nullptr;    // none: kMonotone
  std::vector<std::size_t> does_too;  // what does the work in less time
  double bound_s = 0;                 // what it takes

  std::string text() const { return rule != nullptr ? plan::text(*rule) : kMonotone; }
};

// Pure. Rooted collectives are compared with those of the same root, others with those of rank 0.
std::vector<Violation> violations(std::span<const Served> served);

// Pure. The recipes that do what the violation says, proved, the best by prediction first, at most `how_many`: a composition of
// the parts as they are served (a native one by what is most like it), or the recipe of more bytes. None where no
// composition exists, or the library alone can do it.
std::vector<Candidate> repairs(const Violation& violation, std::span<const Served> served,
                               const net::GroupView& view, const ForecastOptions& options,
                               std::size_t how_many);

}  // namespace eco::plan
