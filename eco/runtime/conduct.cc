#include "eco/runtime/conduct.h"

#include <algorithm>

#include "eco/plan/planner.h"

namespace eco::runtime {

Conduct::Conduct(const Trial& trial, const std::vector<std::int64_t>& able,
                 const std::vector<double>& first_s, bool first_counts)
    : decides_(!trial.keeps_all && !trial.is_checked), first_s_(first_s) {
  for (std::size_t c = 0; c < able.size(); ++c) {
    Known known{.is_native = !trial.candidates[c], .is_open = able[c] != 0};
    if (known.is_native) known.least_s = trial.native_least_s;
    if (decides_ && first_counts && known.is_open) {
      known.first_s = first_s[c];
      if (known.is_native && !trial.predicted_s.empty())
        known.least_s = std::max(known.least_s, least_as_guessed_s(first_s[c], trial.predicted_s[c]));
    }
    known_.push_back(known);
  }
}

void Conduct::learn(const std::vector<std::vector<double>>& runs, int to_come) {
  if (!decides_) return;
  for (std::size_t c = 0; c < known_.size(); ++c) {
    known_[c].runs = runs[c];
    known_[c].left = to_come;
  }
  const std::vector<bool> again = undecided(known_, plan::kGainNeeded);
  for (std::size_t c = 0; c < known_.size(); ++c) known_[c].is_open = known_[c].is_open && again[c];
}

bool Conduct::is_decided() const {
  return std::none_of(known_.begin(), known_.end(), [](const Known& one) { return one.is_open; });
}

Cost Conduct::cost(const Takes& told_s, const Takes& behind_s) const {
  Cost cost;
  for (std::size_t c = 0; c < known_.size(); ++c) {
    if (!known_[c].is_open) continue;
    cost.run_s += behind_s(first_s_[c]);
    if (is_wakened(c)) cost.wake_s += told_s(first_s_[c]);
  }
  return cost;
}

std::vector<Letter> Conduct::letters(bool wakes) const {
  std::vector<Letter> letters;
  for (std::size_t c = 0; c < known_.size(); ++c) {
    letters.push_back(!known_[c].is_open       ? Letter::out
                      : wakes && is_wakened(c) ? Letter::wakes_and_runs
                                               : Letter::runs);
  }
  return letters;
}

}  // namespace eco::runtime
