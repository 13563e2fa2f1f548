// What the planner knows of trials: a problem and its candidates in, a measurement of each out, within limits of time.
//
//   plan::make_plan(view, collectives, options, measure_by_trials(trials, clock, {.until_s = 5, .cell_s = 0.2}));
#pragma once

#include <functional>
#include <vector>

#include "eco/plan/planner.h"
#include "eco/runtime/trials.h"

namespace eco::runtime {

using Clock = std::function<double()>;  // seconds, never going back

struct TrialLimits {
  double until_s =
      0;  // by the clock: no trial is begun that is expected to end later, if all takes what is predicted;
          // infinity: no limit
  double cell_s = 0;  // aimed at for one trial
  int fewest = 2;     // rounds below which nothing is said, where the check does not count
  int most = 8;
  int in_turn = 2;
};

// The planner's Measure, on rank 0.
plan::Measure measure_by_trials(Trials& trials, const Clock& clock, const TrialLimits& limits);

// Pure. Of one candidate's runs, at least one: the middle, and how far apart two must be to be told from each other.
plan::Measurement summarize(std::vector<double> seconds, double overslept_s);

}  // namespace eco::runtime
