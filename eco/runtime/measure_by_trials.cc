#include "eco/runtime/measure_by_trials.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "eco/base/quantile.h"
#include "eco/runtime/conduct.h"
#include "eco/runtime/undecided.h"

namespace eco::runtime {
namespace {

// What has been checked is lost if no round follows. Where the fewest cost no more than so many times the check, they are made,
// though it gets late, but in no more than so many times the trial's own time: what is spent too much is missing at the next one.
constexpr double kLate = 1.5;
constexpr double kOwn = 2;

// What each check takes by prediction; who runs whatever is predicted of it (0) takes about what the best of the others does.
std::vector<double> expected_checks(const std::vector<double>& predicted_s) {
  double best_s = std::numeric_limits<double>::infinity();
  for (const double one_s : predicted_s) {
    if (one_s > 0) best_s = std::min(best_s, one_s);
  }
  std::vector<double> expected_s = predicted_s;
  if (best_s < std::numeric_limits<double>::infinity())
    std::replace(expected_s.begin(), expected_s.end(), 0.0, best_s);
  return expected_s;
}

// The round behind the checks, if these take so long.
Cost expected_round(const Trial& trial, const std::vector<double>& expected_s) {
  std::vector<std::vector<double>> runs;
  for (const double check_s : expected_s)
    runs.push_back(first_counts(check_s) ? std::vector{check_s} : std::vector<double>{});
  Conduct conduct(trial, std::vector<std::int64_t>(expected_s.size(), 1), expected_s, true);
  conduct.learn(runs, 1);
  const auto as_it_was = [](double check_s) { return check_s; };
  return conduct.cost(as_it_was, as_it_was);
}

// How many rounds take so long.
double rounds_in(double seconds, const Cost& cost, int in_turn) {
  return seconds / std::max(in_turn * cost.run_s + cost.wake_s, 1e-9);
}

// Calls in a row take so little time that there can be more rounds of them: what disturbs one disturbs its neighbours.
constexpr int kRoundsInARow = 2;

// What wins among short calls is looked at again, from a common start: in a row calls overlap, and in a program ranks come from other
// work; what won from a common start is the fastest of several whose times scatter by more than what they gain. Longer calls are not:
// it would take long, and they scatter by less. Nor is a gain that no start could hide.
struct SecondLook {
  Repetitions most;
  int fewest;  // rounds, however long they take
  double gain_needed;
};
// Behind times in a row: from a common start waking all takes as long as the call and hides gains, so that less is needed, and times
// scatter, so that it takes many starts to see it.
constexpr int kMostBehindRow = 12;
constexpr int kFewestBehindRow = 6;
constexpr int kInTurnBehindRow = 2;  // at least
constexpr double kGainBehindRow = 0.02;
// The fastest so many.
constexpr std::size_t kConfirmed = 3;

// `first`: how often they ran then. As often again, if that was from a common start.
SecondLook second_look(bool in_a_row, const Repetitions& first) {
  if (!in_a_row) return {first, first.rounds, plan::kGainNeeded};
  return {{.rounds = kMostBehindRow, .in_turn = std::max(first.in_turn, kInTurnBehindRow), .wakes = false},
          kFewestBehindRow,
          kGainBehindRow};
}

// In no more than `aimed_s`, if the fewest rounds take no longer.
void confirm(Trials& trials, const Trial& first, const Repetitions& ran, double aimed_s,
             std::vector<std::optional<plan::Measurement>>& measured) {
  if (!measured[0] || measured[0]->is_least) return;
  if (!measured[0]->in_a_row && measured[0]->median_s >= plan::kShort_s) return;
  const SecondLook look = second_look(measured[0]->in_a_row, ran);
  if (look.most.rounds == 0) return;
  std::vector<std::size_t> winners;
  for (std::size_t c = 1; c < measured.size(); ++c) {
    if (!measured[c] || !plan::wins(*measured[c], *measured[0], plan::kGainNeeded)) continue;
    if (measured[0]->median_s - measured[c]->median_s < plan::kShort_s) winners.push_back(c);
  }
  if (winners.empty()) return;
  std::sort(winners.begin(), winners.end(),
            [&](std::size_t a, std::size_t b) { return measured[a]->median_s < measured[b]->median_s; });
  for (const std::size_t c : winners) measured[c]->lags = true;
  winners.resize(std::min(winners.size(), kConfirmed));
  Trial trial{
      .problem = first.problem, .candidates = {std::nullopt}, .is_checked = true, .calls_in_a_row = 0};
  for (const std::size_t c : winners) trial.candidates.push_back(first.candidates[c]);
  const TrialResult result = trials.order(trial, [&](const Cost& cost) {
    const double in_time = rounds_in(aimed_s, {.run_s = cost.run_s}, look.most.in_turn);
    Repetitions again = look.most;
    again.rounds = static_cast<int>(std::clamp<double>(in_time, look.fewest, look.most.rounds));
    return again;
  });
  if (result.seconds[0].empty()) return;
  const double native_s = base::median(result.seconds[0]);
  for (std::size_t i = 0; i < winners.size(); ++i) {
    const std::vector<double>& seconds = result.seconds[i + 1];
    measured[winners[i]]->lags = seconds.empty() || base::median(seconds) * (1 + look.gain_needed) > native_s;
  }
}

}  // namespace

plan::Measurement summarize(std::vector<double> seconds, double overslept_s) {
  std::sort(seconds.begin(), seconds.end());
  using base::quantile;
  return {quantile(seconds, 0.5), (quantile(seconds, 0.75) - quantile(seconds, 0.25) + overslept_s) / 2};
}

plan::Measure measure_by_trials(Trials& trials, const Clock& clock, const TrialLimits& limits) {
  return [&trials, clock, limits](
             const coll::CommonProblem& problem, const std::vector<const algo::Recipe*>& candidates,
             const plan::Beforehand& known) -> std::vector<std::optional<plan::Measurement>> {
    // Long runs have short turns: they keep their connections awake by themselves.
    const auto turn_of = [&](const Cost& cost) {
      int in_turn = limits.in_turn;
      while (in_turn > 1 && rounds_in(limits.cell_s, cost, in_turn) < limits.fewest) --in_turn;
      return in_turn;
    };
    const std::vector<double>& predicted_s = known.predicted_s;
    Trial trial{.problem = problem, .candidates = {}, .native_least_s = known.native_least_s};
    // Short runs count for nothing by themselves, and to tell everybody who is spared takes time as well.
    if (std::any_of(predicted_s.begin() + 1, predicted_s.end(), shows_prediction))
      trial.predicted_s = predicted_s;
    for (const algo::Recipe* candidate : candidates) {
      trial.candidates.push_back(candidate ? std::optional(*candidate) : std::nullopt);
    }
    // Each candidate runs once before it is known what that takes. Where that run counts, one more of those that it does not
    // decide is evidence.
    const std::vector<double> expected_s = expected_checks(predicted_s);
    const double checks_s = std::accumulate(expected_s.begin(), expected_s.end(), 0.0);
    const Cost expected = expected_round(trial, expected_s);
    const bool check_counts = first_counts(*std::min_element(expected_s.begin(), expected_s.end()));
    const int fewest = check_counts ? 1 : limits.fewest;
    if (rounds_in(limits.until_s - clock() - checks_s, expected, turn_of(expected)) < fewest) return {};
    std::vector<std::optional<plan::Measurement>> measured(candidates.size());
    const double began_s = clock();
    Repetitions ran;
    const auto repeat = [&](const Cost& cost) -> Repetitions {
      const int in_turn = turn_of(cost);
      const int most = (cost.in_a_row ? kRoundsInARow : 1) * limits.most;
      const double left = rounds_in(limits.until_s - clock(), cost, in_turn);
      if (left < fewest) {
        const double most_s = std::min(kLate * (clock() - began_s), kOwn * (limits.until_s - began_s));
        const bool may_be_late = rounds_in(most_s, cost, in_turn) >= fewest;
        return may_be_late ? Repetitions{fewest, in_turn} : Repetitions{};
      }
      const double wanted = std::clamp(rounds_in(limits.cell_s, cost, in_turn),
                                       static_cast<double>(limits.fewest), static_cast<double>(most));
      return {static_cast<int>(std::min(wanted, left)), in_turn};
    };
    const TrialResult result = trials.order(trial, [&](const Cost& cost) { return ran = repeat(cost); });
    for (std::size_t c = 0; c < candidates.size(); ++c) {
      if (!result.seconds[c].empty()) measured[c] = summarize(result.seconds[c], result.overslept_s);
      if (candidates[c] == nullptr && result.spares_native)
        measured[c] = plan::Measurement{.median_s = known.native_least_s, .is_least = true};
      if (measured[c]) measured[c]->in_a_row = result.calls_in_a_row > 0;
    }
    confirm(trials, trial, ran, limits.cell_s, measured);
    return measured;
  };
}

}  // namespace eco::runtime
