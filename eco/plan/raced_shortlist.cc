#include "eco/plan/raced_shortlist.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "eco/plan/proving.h"
#include "eco/tune/points.h"
#include "eco/tune/searches.h"

namespace eco::plan {
namespace {

// What a search chooses from, and where it is in the ranking.
struct Field {
  tune::Space space;
  std::vector<std::vector<algo::Recipe>> recipes;
  std::vector<std::vector<const Candidate*>> candidates;
};

Field field_of(const std::vector<Candidate>& ranked, const coll::CommonProblem& problem) {
  std::map<std::string, std::vector<const Candidate*>> by_form;
  for (const Candidate& candidate : ranked) {
    const bool predicted = candidate.why_not.empty() && !candidate.forecast.given_up;
    if (predicted && candidate.forecast.seconds > 0)
      by_form[tune::form_name(candidate.recipe)].push_back(&candidate);
  }
  Field field;
  field.space.bytes = coll::payload_bytes(problem);
  for (auto& [name, members] : by_form) {
    field.space.forms.push_back({name, {}});
    field.recipes.emplace_back();
    for (const Candidate* candidate : members) {
      field.space.forms.back().points.push_back(
          {candidate->recipe.params.segment_bytes, candidate->forecast.seconds});
      field.recipes.back().push_back(candidate->recipe);
    }
    field.candidates.push_back(std::move(members));
  }
  return field;
}

// Lets only proved recipes run: others cannot be run.
class Proving {
 public:
  Proving(tune::Oracle oracle, const Field& field, const coll::CommonProblem& problem,
          const net::GroupView& view)
      : oracle_(std::move(oracle)), field_(&field), problem_(problem), view_(&view) {}

  std::optional<std::vector<tune::Runs>> operator()(std::span<const tune::Choice> choices, int times) {
    std::vector<tune::Choice> proved;
    for (const tune::Choice& choice : choices) {
      if (is_proved(choice)) proved.push_back(choice);
    }
    std::vector<tune::Runs> all(choices.size());
    if (proved.empty()) return all;
    auto answer = oracle_(proved, times);
    if (!answer) return std::nullopt;
    std::size_t next = 0;
    for (std::size_t i = 0; i < choices.size(); ++i) {
      if (is_proved(choices[i])) all[i] = std::move((*answer)[next++]);
    }
    return all;
  }

 private:
  bool is_proved(tune::Choice choice) {
    const auto known = known_.find(choice);
    if (known != known_.end()) return known->second;
    return known_[choice] = !prove(field_->recipes[choice.form][choice.point], problem_, *view_);
  }

  tune::Oracle oracle_;
  const Field* field_;
  coll::CommonProblem problem_;
  const net::GroupView* view_;
  std::map<tune::Choice, bool> known_;
};

}  // namespace

std::vector<const Candidate*> raced_shortlist(const std::vector<Candidate>& ranked, std::size_t how_many,
                                              const coll::CommonProblem& problem, const net::GroupView& view,
                                              const Race& race, tune::Guided& guided) {
  if (ranked.empty() || ranked.front().forecast.seconds > race.longest_s) return {};
  const Field field = field_of(ranked, problem);
  const Proving oracle(race.oracle_of(problem, field.recipes), field, problem, view);
  const tune::Tuned tuned =
      race.measures_all
          ? tune::linear(field.space, oracle, {.repeats = race.repeats})
          : guided.tune(field.space, oracle, {.repeats = race.repeats, .least_gain = race.least_gain});
  std::vector<const Candidate*> shortlist;
  for (const tune::Measured& one : tuned.measured) {
    if (shortlist.size() == how_many) break;
    shortlist.push_back(field.candidates[one.choice.form][one.choice.point]);
  }
  return shortlist;
}

}  // namespace eco::plan
