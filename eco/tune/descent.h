// One form's way down from its largest segment: what MGD and SMGD share.
//
//   Descent descent(notes, m, n_points, options);
//   while (!descent.ended()) if (!descent.step()) return ...;      // no time left
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "eco/tune/searches.h"

namespace eco::tune {

class Descent {
 public:
  Descent(Notes& notes, std::size_t form, std::size_t n_points, const SearchOptions& options)
      : notes_(&notes), form_(form), n_points_(n_points), options_(&options) {}

  // Measures the next smaller segment. False where there was no time.
  bool step() {
    const Choice next{form_, seconds_.size()};
    if (!notes_->ask(next, options_->repeats)) return false;
    seconds_.push_back(notes_->seconds(next));
    if (seconds_.back() < best_s_) {
      best_s_ = seconds_.back();
      n_beyond_ = 0;
    } else {
      ++n_beyond_;
    }
    return true;
  }

  // All measured, or so many points beyond the last minimum that another is not expected.
  bool ended() const { return seconds_.size() == n_points_ || n_beyond_ >= options_->look_beyond; }
  double best_s() const { return best_s_; }
  const std::vector<double>& seconds() const { return seconds_; }

 private:
  Notes* notes_;
  std::size_t form_;
  std::size_t n_points_;
  const SearchOptions* options_;
  std::vector<double> seconds_;  // the largest segment first
  double best_s_ = std::numeric_limits<double>::infinity();
  int n_beyond_ = 0;
};

}  // namespace eco::tune
