// ECO's own search: the predictor proposes, few measurements confirm or refute, and each of them corrects the model.
//
//   Guided guided;                                     // keeps what it learns from one problem to the next
//   const Tuned tuned = guided.tune(space, oracle, {.repeats = 3});
//
// 1. Believe: every point's time is its prediction times a residual (residuals.h), normally distributed in its logarithm.
// 2. Propose: the points whose expected improvement over the best one is greatest, one of each form, together with it: a heat.
// 3. Race: all of a heat run once, in turn, again and again; who is not believed to win any more is dropped at once. The others
//    stay until they have been run `repeats` times.
// 4. Stop when what is expected to be gained from all that is left is less than `least_gain`, or when no time is left.
//    The answer is the measured point that is believed to be the fastest: its median, and what the model made of it
//    before, so that one lucky run does not win. At every moment there is one.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "eco/tune/residuals.h"
#include "eco/tune/tuning.h"

namespace eco::tune {

struct GuidedOptions {
  int repeats = 10;          // runs of a point that stays in its race
  std::size_t heat = 4;      // points that race together
  double least_gain = 0.02;  // expected regret to stop at, a share of the time
};

// Of the last problem, for the next.
struct Learned {
  double noise = 0.04;  // standard deviation of one run's logarithm
  double errors =
      2;  // variance of predictions' errors, in units of ResidualScales'; more where none is known yet
};

class Guided {
 public:
  explicit Guided(ResidualScales scales = {}) : residuals_(scales) {}

  // Deterministic for what was tuned before and what the oracle answers.
  Tuned tune(const Space& space, const Oracle& oracle, const GuidedOptions& options);

 private:
  Residuals residuals_;
  std::map<std::string, std::size_t> numbers_;  // of algorithms and forms
  std::size_t n_problems_ = 0;
  Learned learned_;
};

}  // namespace eco::tune
