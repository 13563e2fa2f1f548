// Map: Ranking predicts what it must of a problem's candidates and sorts them; leave_out() is how it spares most of them,
// leave_out_by_estimate() how it does so for large groups, and walk_the_best() how larger ones have estimates looked after.
#include "eco/plan/ranking.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "eco/algo/algorithm.h"
#include "eco/base/errors.h"
#include "eco/plan/large_group.h"

namespace eco::plan {
namespace {

using algo::Recipe;
using coll::CommonProblem;
using net::GroupView;

// Forms of recipes (all but the segment) of which more than one segment size is predicted. Of 540 cells (nine collectives of
// 1 KiB to 4 MiB on five to sixteen hosts of ten networks) the best candidate is left out in two, for one that takes 0.7 %
// longer at most; with 8 forms in three, 1.6 %, for a fifth less time. Without the windows in the forms, tried with the
// four best recipes instead, 11 cells lost up to 49 %: on a bus, and where reductions are paced, a window decides.
constexpr std::size_t kFormsRefined = 12;
// Of a large group so many forms are simulated, the best by estimate (estimates are wrong by up to a fifth, in some
// patterns by two).
constexpr std::size_t kFormsSimulated = 16;
// Of so many of these the windows too, which estimates do not tell apart.
constexpr std::size_t kWindowsSimulated = 4;
// Of a larger one, where all are estimates, recipes are predicted as they are until so many of the best have been, or so many in
// all, if that walks no more operations each.
constexpr int kWalkedAtTheTop = 3;
constexpr std::size_t kMostWalked = 6;
constexpr double kMostOperationsWalked = 100'000;

// Predicts the candidates of one problem. All of them, or, with `prune`, in two steps that leave most of them out: of each
// form one segment size; of the best forms all segment sizes.
class Ranking {
 public:
  Ranking(const CommonProblem& problem, const GroupView& view, const ForecastOptions& options, bool prune)
      : problem_(problem), view_(view), options_(options), prune_(prune) {
    for (const algo::Algorithm& algorithm : algo::registry()) {
      if (algorithm.collective != coll::algorithms_of(problem.collective)) continue;
      if (const auto reason = algorithm.why_not(problem, view)) {
        unable_.push_back({{algorithm.name, {}}, {}, *reason});
        continue;
      }
      for (algo::Params& params : algorithm.candidates(problem, view)) {
        left_.push_back({{algorithm.name, std::move(params)}, {}, {}});
      }
    }
  }

  std::vector<Candidate> run() && {
    if (is_by_estimate_alone(problem_, view_)) large_.emplace(problem_, view_, options_);
    if (prune_) {
      sort_out();
      if (is_by_estimate(problem_, view_) && !large_) leave_out_by_estimate();
      leave_out();
    } else {
      for (const Candidate& candidate : left_) predict(candidate.recipe);
    }
    sort_able();
    if (are_best_walked(problem_, view_)) walk_the_best();
    able_.insert(able_.end(), std::make_move_iterator(unable_.begin()),
                 std::make_move_iterator(unable_.end()));
    return std::move(able_);
  }

 private:
  static Recipe form_of(Recipe recipe) {
    recipe.params.segment_bytes = 0;
    return recipe;
  }

  static Recipe without_window(Recipe recipe) {
    recipe.params.window = 0;
    return recipe;
  }

  // Seconds, or infinity where it has lost or cannot be.
  double predict(const Recipe& recipe) {
    ForecastOptions limited = options_;
    if (prune_) limited.stop_after_s = std::min(options_.stop_after_s, kHopeless * best_s_);
    Candidate candidate = large_ ? estimated(recipe) : predicted(recipe, limited);
    const double infinity = std::numeric_limits<double>::infinity();
    if (!candidate.why_not.empty()) {
      unable_.push_back(std::move(candidate));
      return infinity;
    }
    const double seconds = candidate.forecast.given_up ? infinity : candidate.forecast.seconds;
    best_s_ = std::min(best_s_, seconds);
    able_.push_back(std::move(candidate));
    return seconds;
  }

  Candidate predicted(const Recipe& recipe, const ForecastOptions& limited) const {
    if (auto refused = algo::why_not(recipe, problem_, view_)) return {recipe, {}, *std::move(refused)};
    return candidate_of(recipe, problem_, view_, limited);
  }

  Candidate estimated(const Recipe& recipe) const {
    auto estimate = large_->estimate(recipe);
    if (!estimate) return {recipe, {}, "groups of fewer ranks can't have it"};
    // It has not been given up by the time, which would have been the smaller group's.
    return {recipe, std::move(*estimate), {}};
  }

  // Recipes that differ in their segments only.
  struct Form {
    Recipe common;                          // without segments
    std::vector<const Candidate*> members;  // ascending segments
    double seconds = 0;                     // of the one in the middle
    const Recipe& middle() const { return members[members.size() / 2]->recipe; }
  };

  // What is left to be predicted, by form.
  void sort_out() {
    for (const Candidate& candidate : left_) {
      Recipe common = form_of(candidate.recipe);
      const auto known = std::find_if(forms_.begin(), forms_.end(),
                                      [&](const Form& other) { return other.common == common; });
      known == forms_.end() ? forms_.push_back({std::move(common), {&candidate}, 0})
                            : known->members.push_back(&candidate);
    }
  }

  // All forms but the best by estimate, and what differs from the very best in the window only.
  void leave_out_by_estimate() {
    const LargeGroup large(problem_, view_, options_);
    const auto has_window = [](const Form& form) { return form.common.params.window != 0; };
    const auto windowed = std::stable_partition(forms_.begin(), forms_.end(), std::not_fn(has_window));
    std::for_each(forms_.begin(), windowed,
                  [&](Form& form) { form.seconds = large.estimate_s(form.middle()); });
    sort_forms(windowed);
    const auto n_free = static_cast<std::size_t>(windowed - forms_.begin());
    const auto is_of_the_best = [&](const Form& form) {
      const auto best = forms_.begin() + static_cast<std::ptrdiff_t>(std::min(kWindowsSimulated, n_free));
      return std::any_of(forms_.begin(), best,
                         [&](const Form& other) { return other.common == without_window(form.common); });
    };
    std::vector<Form> kept;
    for (std::size_t f = 0; f < forms_.size(); ++f) {
      if (f < n_free ? f < kFormsSimulated : is_of_the_best(forms_[f])) {
        kept.push_back(forms_[f]);
        continue;
      }
      for (const Candidate* member : forms_[f].members) give_up(member->recipe);
    }
    forms_ = std::move(kept);
  }

  void leave_out() {
    for (Form& form : forms_) form.seconds = predict(form.middle());
    sort_forms(forms_.end());
    for (std::size_t f = 0; f < forms_.size(); ++f) {
      for (const Candidate* member : forms_[f].members) {
        if (&member->recipe == &forms_[f].middle()) continue;
        f < kFormsRefined ? static_cast<void>(predict(member->recipe)) : give_up(member->recipe);
      }
    }
  }

  void sort_forms(std::vector<Form>::iterator end) {
    std::stable_sort(forms_.begin(), end, [](const Form& a, const Form& b) { return a.seconds < b.seconds; });
  }

  void sort_able() {
    std::stable_sort(able_.begin(), able_.end(), [](const Candidate& a, const Candidate& b) {
      if (a.forecast.given_up != b.forecast.given_up) return b.forecast.given_up;
      return a.forecast.seconds < b.forecast.seconds;
    });
  }

  // Estimates of recipes that differ in segments and windows only are wrong by like factors: so one is walked, and the others are
  // corrected by it, until the best have been walked themselves. What may be better still after so many counts as given up.
  void walk_the_best() {
    std::vector<Recipe> walked;
    double best_s = std::numeric_limits<double>::infinity();
    const auto is_walked = [&](const Candidate& candidate) {
      return std::find(walked.begin(), walked.end(), candidate.recipe) != walked.end();
    };
    const auto is_walkable = [](const Candidate& candidate) {
      return !candidate.forecast.given_up && candidate.forecast.n_operations <= kMostOperationsWalked;
    };
    const auto is_open = [&](const Candidate& candidate) {
      return is_walkable(candidate) && !is_walked(candidate);
    };
    while (walked.size() < kMostWalked) {
      int n_best = 0;
      const auto first = std::find_if(able_.begin(), able_.end(), [&](const Candidate& candidate) {
        return is_open(candidate) || (is_walked(candidate) && ++n_best == kWalkedAtTheTop);
      });
      if (first == able_.end() || is_walked(*first)) return;
      walked.push_back(first->recipe);
      const double estimated_s = first->forecast.seconds;
      try {
        first->forecast = walked_forecast(first->recipe, problem_, view_, options_);
      } catch (const InvalidArgument& error) {
        unable_.push_back({first->recipe, {}, error.what()});
        able_.erase(first);
        continue;
      }
      best_s = std::min(best_s, first->forecast.seconds);
      const double factor = first->forecast.seconds / estimated_s;
      const Recipe form = without_window(form_of(first->recipe));
      for (Candidate& other : able_) {
        if (is_walked(other) || other.forecast.given_up || !(without_window(form_of(other.recipe)) == form))
          continue;
        // What can't be walked gets no better by it: nobody would look.
        other.forecast.seconds *= is_walkable(other) ? factor : std::max(factor, 1.0);
      }
      sort_able();
    }
    for (Candidate& candidate : able_) {
      if (!is_open(candidate) || candidate.forecast.seconds > best_s) continue;
      candidate.forecast.seconds = best_s;
      candidate.forecast.given_up = true;
    }
    sort_able();
  }

  void give_up(const Recipe& recipe) {
    Candidate candidate{recipe, {}, {}};
    candidate.forecast.seconds = best_s_;
    candidate.forecast.given_up = true;
    able_.push_back(std::move(candidate));
  }

  const CommonProblem& problem_;
  const GroupView& view_;
  const ForecastOptions& options_;
  const bool prune_;
  std::optional<LargeGroup> large_;  // where candidates are estimates
  double best_s_ = std::numeric_limits<double>::infinity();
  std::vector<Candidate> left_;
  std::vector<Form> forms_;
  std::vector<Candidate> able_;
  std::vector<Candidate> unable_;
};

}  // namespace

bool differs_in_window_only(const Recipe& a, const Recipe& b) {
  Recipe same = b;
  same.params.window = a.params.window;
  return a == same && a.params.window != b.params.window;
}

std::vector<Candidate> rank_candidates(const CommonProblem& problem, const GroupView& view,
                                       const ForecastOptions& options, bool prune) {
  return Ranking(problem, view, options, prune).run();
}

}  // namespace eco::plan
