#include "eco/plan/faster_under.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "eco/algo/algorithm.h"
#include "eco/plan/ranking.h"
#include "eco/plan/search.h"
#include "eco/plan/shortlist.h"

namespace eco::plan {

std::vector<algo::Recipe> faster_under(const coll::CommonProblem& problem, const net::GroupView& loaded,
                                       double present_s, const FasterOptions& options) {
  std::vector<algo::Recipe> faster;
  std::vector<Candidate> ranked = rank_candidates(problem, loaded, options.forecast, true);
  const auto drop_unfit = [](std::vector<Candidate>& candidates) {
    std::erase_if(candidates, [](const Candidate& each) {
      return each.recipe.has_native_parts() || algo::is_on_rails(each.recipe);
    });
  };
  drop_unfit(ranked);
  if (ranked.empty() || !ranked.front().why_not.empty()) return faster;
  SearchOptions how;
  how.forecast = options.forecast;
  how.time_is_up = options.time_is_up;
  std::vector<Candidate> found = search(problem, loaded, ranked, how).found;
  drop_unfit(found);
  ranked.insert(ranked.begin(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
  const double most_s = present_s / (1 + options.gain_needed);
  for (const Candidate* candidate : shortlist(ranked, options.how_many, problem, loaded)) {
    if (candidate->forecast.seconds < most_s) faster.push_back(candidate->recipe);
  }
  return faster;
}

}  // namespace eco::plan
