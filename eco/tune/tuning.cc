#include "eco/tune/tuning.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "eco/base/assert.h"
#include "eco/base/quantile.h"

namespace eco::tune {

Notes::Notes(const Space& space, const Oracle& oracle) : oracle_(oracle) {
  for (const Form& form : space.forms) {
    runs_.emplace_back(form.points.size());
    asked_.emplace_back(form.points.size(), false);
  }
}

bool Notes::ask(std::span<const Choice> choices, int times) {
  const auto answer = oracle_(choices, times);
  if (!answer) return false;
  ECO_ASSERT(light, answer->size() == choices.size(), "an oracle answers each question");
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const Choice choice = choices[i];
    Runs& runs = runs_[choice.form][choice.point];
    runs.insert(runs.end(), (*answer)[i].begin(), (*answer)[i].end());
    asked_[choice.form][choice.point] = true;
  }
  // All answers of one question are heard together. More runs may have made the best one worse.
  best_.reset();
  for (std::size_t m = 0; m < runs_.size(); ++m) {
    for (std::size_t p = 0; p < runs_[m].size(); ++p) {
      const Choice choice{m, p};
      if (!runs(choice).empty() && (!best_ || seconds(choice) < seconds(*best_))) best_ = choice;
    }
  }
  for (const Choice& choice : choices) steps_.push_back({choice, times, best_});
  n_last_ = choices.size();
  return true;
}

void Notes::choose(Choice choice) {
  best_ = choice;
  for (std::size_t i = steps_.size() - n_last_; i < steps_.size(); ++i) steps_[i].best = best_;
}

double Notes::seconds(Choice choice) const {
  const Runs& known = runs(choice);
  return known.empty() ? std::numeric_limits<double>::infinity() : base::median(known);
}

Tuned Notes::result(std::string ended) && {
  Tuned tuned;
  tuned.best = best_;
  if (best_) tuned.best_s = seconds(*best_);
  for (std::size_t f = 0; f < runs_.size(); ++f) {
    for (std::size_t p = 0; p < runs_[f].size(); ++p) {
      if (!runs_[f][p].empty()) tuned.measured.push_back({{f, p}, seconds({f, p})});
    }
  }
  std::stable_sort(tuned.measured.begin(), tuned.measured.end(), [&](const Measured& a, const Measured& b) {
    if ((a.choice == best_) != (b.choice == best_)) return a.choice == best_;
    return a.seconds < b.seconds;
  });
  tuned.steps = std::move(steps_);
  tuned.ended = std::move(ended);
  return tuned;
}

}  // namespace eco::tune
