// What serves a problem, once candidates and the library's own collective have been measured beside each other.
//
//   Row row = choose(problem, view, native, {{&candidate, measurement}, ...}, 0.05);
#pragma once

#include <string>
#include <vector>

#include "eco/coll/problem.h"
#include "eco/net/group_view.h"
#include "eco/plan/forecast.h"
#include "eco/plan/plan_table.h"

namespace eco::plan {

// A call that takes less from a common start is short: waking takes as long. Where all ranks wait in it, it is timed in a row
// (docs/adr/0037); where a recipe wins, it is looked at again (docs/adr/0038); more recipes are timed (docs/adr/0039).
inline constexpr double kShort_s = 3e-3;

// Seconds of one candidate, or of the native collective, on the actual placement.
struct Measurement {
  double median_s = 0;
  double spread_s = 0;  // half of the interquartile range and of what ranks overslept (runtime::TrialResult)
  bool in_a_row = false;  // of one call among others, not of one from a common start
  bool lags = false;  // faster at first, but not when the fastest were looked at again, from a common start
  bool is_least = false;  // of the native collective: it takes no less, and was not run
};

// Pure. Whether a recipe serves instead of the native collective: it is faster by `gain_needed`, a share, beyond both spreads, and
// does not lag.
bool wins(const Measurement& eco, const Measurement& native, double gain_needed);

// A candidate that was measured beside the native collective.
struct Contender {
  const Candidate* candidate = nullptr;
  Measurement measured;
};

// Pure. A row with its evidence. Of those that win
// the fastest serves, and of equally fast ones of problems of one packet the lightest.
Row choose(const coll::CommonProblem& problem, const net::GroupView& view, const Measurement& native,
           const std::vector<Contender>& contenders, double gain_needed);

// "3.92x".
std::string times_text(double ratio);
// What a row of a large group says besides how it was chosen; else empty.
std::string by_estimate_text(const coll::CommonProblem& problem, const net::GroupView& view);

}  // namespace eco::plan
