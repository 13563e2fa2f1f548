#include "eco/runtime/undecided.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "eco/base/quantile.h"

namespace eco::runtime {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
// One run of so long is a sample, though it is the first.
constexpr double kCounts_s = 0.02;
// And of so long it is as good as others.
constexpr double kLongRun_s = 0.25;
// What packets that are lost once and again take from a run, and what else is off in a long one.
constexpr double kResent_s = 1.6;
constexpr double kResentOnce_s = 0.2;
constexpr double kOff = 1.3;
// As many runs as have their median between the least and the greatest of them, as sure as is needed here.
constexpr std::size_t kSurely = 8;
// One run of so long beside the first tells which of two recipes is faster, and is enough for a row to speak of.
constexpr double kSteady_s = 0.1;
// Of shorter ones so many are; of those that do not count when they are the first, one more.
constexpr std::size_t kEvidence = 2;
// One run of a recipe tells, from `kLong_s` on, that it won't win against one that is `kHopeless` times faster.
constexpr double kLong_s = 0.02;
constexpr double kHopeless = 1.3;

// Of a long run's time: predictions of pipelines come within a few per cent of what is measured (docs/models.md).
constexpr double kAsPredicted = 1.1;
// The library's own is only guessed.
constexpr double kAsGuessed = 1.25;

// Ascending runs, and as many more as are to come, all of them shorter (`longer`: longer) than those: their median.
double extreme_median(const std::vector<double>& runs, std::size_t to_come, bool longer) {
  const std::size_t all = runs.size() + to_come;
  const auto at = [&](std::size_t place) {
    if (longer) return place < runs.size() ? runs[place] : kNever;
    return place < to_come ? 0.0 : runs[place - to_come];
  };
  const double below = at((all - 1) / 2);
  const double above = at(all / 2);
  return below == 0 ? 0 : (below + above) / 2;
}

double least_of(const std::vector<double>& runs) {
  return runs.empty() ? 0 : *std::min_element(runs.begin(), runs.end());
}

// Whether its runs tell enough for a choice between recipes.
bool is_known(const Known& known) {
  const double least_s = least_of(known.runs);
  if (known.runs.size() >= kSurely || is_long_run(least_s)) return true;
  return known.runs.size() > 1 && least_s >= kSteady_s;
}

// And for a row to speak of.
bool is_evidence(const Known& known) {
  const std::size_t n = known.runs.size();
  return is_known(known) || n > kEvidence || (n == kEvidence && first_counts(least_of(known.runs)));
}

}  // namespace

bool first_counts(double seconds) { return seconds >= kCounts_s; }
bool is_long_run(double seconds) { return seconds >= kLongRun_s; }

Range range_of(const Known& known) {
  std::vector<double> runs = known.runs;
  if (runs.empty()) {
    if (!known.first_s) return {0, kNever};
    runs.push_back(*known.first_s);
  }
  std::sort(runs.begin(), runs.end());
  Range range{runs.front(), runs.back()};
  const double told_s = known.least_s <= runs.front() ? known.least_s : 0;
  if (runs.size() < kSurely) range.least_s = std::max(told_s, (range.least_s - kResent_s) / kOff);
  if (known.runs.empty()) return range;
  const auto to_come = static_cast<std::size_t>(std::max(known.left, 0));
  range.least_s = std::max(range.least_s, extreme_median(runs, to_come, false));
  range.most_s = std::min(range.most_s, extreme_median(runs, to_come, true));
  return range;
}

bool shows_prediction(double seconds) { return seconds >= kSteady_s; }

bool is_as_predicted(double first_s, double predicted_s) {
  return shows_prediction(first_s) && first_s <= kAsPredicted * predicted_s;
}

double least_as_guessed_s(double first_s, double guessed_s) {
  const auto [less_s, more_s] = std::minmax(first_s, guessed_s);
  if (!shows_prediction(first_s) || more_s > kAsGuessed * less_s) return 0;
  return std::max(0.0, (less_s - kResentOnce_s) / kOff);
}

std::vector<bool> undecided(std::span<const Known> known, double gain_needed) {
  const double gain = 1 + gain_needed;
  const std::size_t n = known.size();
  std::vector<Range> ranges;
  std::vector<double> times;  // as known by now
  std::size_t native = n;
  std::size_t best = n;
  double fastest_first_s = kNever;
  for (std::size_t i = 0; i < n; ++i) {
    ranges.push_back(range_of(known[i]));
    times.push_back(known[i].runs.empty() ? known[i].first_s.value_or(kNever) : base::median(known[i].runs));
    if (known[i].is_native) native = i;
    if (known[i].is_native || !known[i].is_open) continue;
    if (best == n || times[i] < times[best]) best = i;
    fastest_first_s = std::min(fastest_first_s, known[i].first_s.value_or(kNever));
  }
  const bool has_native = native < n && known[native].is_open;
  const auto is_out = [&](std::size_t i) {
    const double first_s = known[i].first_s.value_or(0);
    if (first_s > kLong_s && first_s > kHopeless * fastest_first_s) return true;
    if (has_native && ranges[native].most_s <= gain * ranges[i].least_s) return true;
    if (i == best) return false;
    const bool is_slower = is_known(known[i]) && is_known(known[best]);
    return is_slower || ranges[best].most_s <= gain * ranges[i].least_s;
  };
  std::vector<std::size_t> left;  // recipes that may still serve
  for (std::size_t i = 0; i < n; ++i) {
    if (!known[i].is_native && known[i].is_open && !is_out(i)) left.push_back(i);
  }
  const bool may_lose = has_native && std::none_of(left.begin(), left.end(), [&](std::size_t i) {
                          return ranges[native].least_s > gain * ranges[i].most_s;
                        });
  std::vector<bool> again(n, false);
  if (may_lose && !left.empty()) again[native] = true;
  for (const std::size_t i : left) again[i] = left.size() > 1 || may_lose;
  // What the row will say.
  if (!left.empty() && !is_evidence(known[best])) again[best] = true;
  if (has_native && !is_evidence(known[native])) again[native] = true;
  return again;
}

}  // namespace eco::runtime
