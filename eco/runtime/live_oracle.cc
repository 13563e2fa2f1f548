#include "eco/runtime/live_oracle.h"

#include <algorithm>
#include <set>
#include <utility>

namespace eco::runtime {
namespace {

// Questions about a candidate of which every run began too late to count, before it is given up: each names its common start
// further ahead than the one before.
constexpr int kMostAsked = 3;

class LiveOracle {
 public:
  LiveOracle(Trials& trials, const coll::CommonProblem& problem,
             const std::vector<std::vector<algo::Recipe>>& recipes, std::function<bool()> may_go_on)
      : trials_(&trials), problem_(problem), recipes_(&recipes), may_go_on_(std::move(may_go_on)) {}

  std::optional<std::vector<tune::Runs>> operator()(std::span<const tune::Choice> choices, int times) {
    std::vector<tune::Runs> all(choices.size());
    for (int i = 0; i < kMostAsked; ++i) {
      std::vector<std::size_t> left;
      for (std::size_t c = 0; c < choices.size(); ++c) {
        if (all[c].empty()) left.push_back(c);
      }
      if (left.empty()) break;
      if (!may_go_on_()) return std::nullopt;
      run(choices, left, times, all);
    }
    return all;
  }

 private:
  void run(std::span<const tune::Choice> choices, const std::vector<std::size_t>& left, int times,
           std::vector<tune::Runs>& all) {
    Trial trial{problem_, {}, true, true};
    for (const std::size_t c : left) {
      trial.candidates.emplace_back((*recipes_)[choices[c].form][choices[c].point]);
      trial.is_checked = checked_.contains(choices[c]) && trial.is_checked;
    }
    trial.calls_in_a_row = calls_in_a_row_;
    const TrialResult result =
        trials_->order(trial, [&](const Cost&) { return Repetitions{times, 1, false}; });
    const auto ran = [](const std::vector<double>& seconds) { return !seconds.empty(); };
    if (std::any_of(result.seconds.begin(), result.seconds.end(), ran))
      calls_in_a_row_ = result.calls_in_a_row;  // what one search compares is timed alike
    for (std::size_t i = 0; i < left.size(); ++i) {
      all[left[i]] = result.seconds[i];
      // What failed its check is checked again.
      if (!result.seconds[i].empty()) checked_.insert(choices[left[i]]);
    }
  }

  Trials* trials_;
  coll::CommonProblem problem_;
  const std::vector<std::vector<algo::Recipe>>* recipes_;
  std::function<bool()> may_go_on_;
  std::set<tune::Choice> checked_;
  int calls_in_a_row_ = Trial::kAsCheckShows;
};

}  // namespace

tune::Oracle live_oracle(Trials& trials, const coll::CommonProblem& problem,
                         const std::vector<std::vector<algo::Recipe>>& recipes,
                         std::function<bool()> may_go_on) {
  return LiveOracle(trials, problem, recipes, std::move(may_go_on));
}

}  // namespace eco::runtime
