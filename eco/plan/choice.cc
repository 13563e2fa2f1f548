#include "eco/plan/choice.h"

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "eco/plan/large_group.h"
#include "eco/plan/shortlist.h"

namespace eco::plan {
namespace {

using coll::CommonProblem;
using net::GroupView;

// What stands against serving instead of the native collective; empty if nothing does.
std::string why_native(const Measurement& eco, const Measurement& native, double gain_needed) {
  if (native.median_s / eco.median_s <= 1 + gain_needed) return ": native";
  if (eco.lags) return eco.in_a_row ? ", but not from a common start: native" : ", but not again: native";
  const bool beyond_spread = eco.median_s + eco.spread_s < native.median_s - native.spread_s;
  return beyond_spread ? "" : ", within the spread: native";
}

// The fastest; of short problems, where equally fast ones differ in whose traffic they meet, the lightest of these.
const Contender& best_of(const std::vector<Contender>& contenders, bool one_packet) {
  if (one_packet) {
    std::vector<Timed> timed;
    for (const Contender& one : contenders)
      timed.push_back({one.measured.median_s, &one.candidate->forecast});
    return contenders[lightest_of_equals(timed, one_packet)];
  }
  return *std::min_element(contenders.begin(), contenders.end(), [](const Contender& a, const Contender& b) {
    return a.measured.median_s < b.measured.median_s;
  });
}

}  // namespace

bool wins(const Measurement& eco, const Measurement& native, double gain_needed) {
  return why_native(eco, native, gain_needed).empty();
}

std::string times_text(double ratio) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2fx", ratio);
  return text;
}

std::string by_estimate_text(const CommonProblem& problem, const GroupView& view) {
  const std::string text = estimates_text(problem, view);
  return text.empty() ? "" : "; candidates " + text;
}

Row choose(const CommonProblem& problem, const GroupView& view, const Measurement& native,
           const std::vector<Contender>& contenders, double gain_needed) {
  Row row;
  row.up_to_bytes = problem.bytes;
  row.native_s = native.median_s;
  row.native_is_least = native.is_least;
  row.in_a_row = native.in_a_row;
  row.reason = "no candidate was measured";
  if (contenders.empty()) return row;
  std::vector<Contender> winners;
  std::copy_if(contenders.begin(), contenders.end(), std::back_inserter(winners),
               [&](const Contender& one) { return wins(one.measured, native, gain_needed); });
  const Contender& best = best_of(winners.empty() ? contenders : winners, is_one_packet(problem, view));
  row.predicted_s = best.candidate->forecast.seconds;
  row.measured_s = best.measured.median_s;
  row.reason = (native.is_least ? "measured at least " : "measured ") +
               times_text(native.median_s / best.measured.median_s);
  if (winners.empty()) {
    row.reason += why_native(best.measured, native, gain_needed);
  } else {
    row.recipe = best.candidate->recipe;
  }
  row.reason += by_estimate_text(problem, view);
  return row;
}

}  // namespace eco::plan
