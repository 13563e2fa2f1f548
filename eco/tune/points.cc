#include "eco/tune/points.h"

#include <algorithm>
#include <sstream>

#include "eco/algo/algorithm.h"
#include "eco/sched/schedule.h"

namespace eco::tune {
namespace {

using algo::Recipe;
using coll::CommonProblem;
using net::GroupView;

// Messages for which algorithms offer other forms: short ones (trees that are not pipelined), and ones that everybody cuts.
constexpr std::size_t kShort = 1024;
constexpr std::size_t kLong = std::size_t{8} << 20;

CommonProblem of_bytes(CommonProblem problem, std::size_t bytes) {
  problem.bytes = coll::whole_bytes(problem, bytes);
  return problem;
}

Recipe uncut(Recipe recipe) {
  recipe.params.segment_bytes = 0;
  recipe.params.window = 0;
  return recipe;
}

// An algorithm's forms, and whether it knows segments at all.
struct Offered {
  std::vector<Recipe> all;
  bool cuts = false;
};

Offered offered_by(const algo::Algorithm& algorithm, const CommonProblem& problem, const GroupView& view) {
  Offered offered;
  for (const std::size_t bytes : {problem.bytes, kShort, kLong}) {
    const CommonProblem other = of_bytes(problem, bytes);
    if (algorithm.why_not(other, view)) continue;
    for (const algo::Params& params : algorithm.candidates(other, view)) {
      offered.cuts = offered.cuts || params.segment_bytes != 0;
      Recipe form = uncut({algorithm.name, params});
      if (std::find(offered.all.begin(), offered.all.end(), form) == offered.all.end())
        offered.all.push_back(std::move(form));
    }
  }
  return offered;
}

std::size_t n_operations(const Recipe& recipe, const CommonProblem& problem, const GroupView& view) {
  std::size_t n = 0;
  for (const sched::Schedule& schedule : algo::build_all(recipe, problem, view))
    n += sched::count_operations(schedule);
  return n;
}

// Segments that are as long as what the form cuts, or longer, are the whole once more.
std::vector<Recipe> with_segments(const Recipe& form, const CommonProblem& problem, const GroupView& view,
                                  std::size_t least_bytes) {
  std::vector<Recipe> all;
  const auto add = [&](std::size_t segment) {
    Recipe recipe = form;
    recipe.params.segment_bytes = segment;
    if (algo::why_not(recipe, problem, view)) return false;
    // Segments that go ahead need a pipeline behind them; without one they are another form.
    const auto n_ahead = static_cast<std::size_t>(recipe.params.head);
    if (n_ahead > 0 && (segment == 0 || problem.bytes / segment < 2 * (n_ahead + 1))) return false;
    all.push_back(std::move(recipe));
    return true;
  };
  const std::size_t whole = add(0) ? n_operations(all.back(), problem, view) : 0;
  bool cut = whole == 0;
  for (std::size_t segment = coll::payload_bytes(problem) / 2; segment >= least_bytes; segment /= 2) {
    const std::size_t even = segment / problem.element_bytes * problem.element_bytes;
    if (even < least_bytes || !add(even)) continue;
    cut = cut || n_operations(all.back(), problem, view) != whole;
    if (!cut) all.pop_back();
  }
  return all;
}

}  // namespace

std::string form_name(const Recipe& recipe) {
  std::istringstream words(recipe.text());
  std::string name;
  for (std::string word; words >> word;) {
    if (word.starts_with("segment=") || word == "window=0") continue;
    name += (name.empty() ? "" : " ") + word;
  }
  return name;
}

std::vector<FormRecipes> all_forms(const CommonProblem& problem, const GroupView& view,
                                   std::size_t least_bytes) {
  std::vector<FormRecipes> forms;
  for (const algo::Algorithm& algorithm : algo::registry()) {
    if (algorithm.collective != coll::algorithms_of(problem.collective)) continue;
    if (algorithm.why_not(problem, view)) continue;
    const Offered offered = offered_by(algorithm, problem, view);
    for (const Recipe& form : offered.all) {
      std::vector<Recipe> recipes =
          with_segments(form, problem, view, offered.cuts ? std::max<std::size_t>(least_bytes, 1) : SIZE_MAX);
      if (!recipes.empty()) forms.push_back({form_name(form), std::move(recipes)});
    }
  }
  return forms;
}

}  // namespace eco::tune
