#include "eco/runtime/trials.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

#include "eco/algo/algorithm.h"
#include "eco/base/errors.h"
#include "eco/base/quantile.h"
#include "eco/plan/choice.h"
#include "eco/plan/planner.h"
#include "eco/runtime/abandoned.h"
#include "eco/runtime/combine.h"
#include "eco/runtime/contents.h"
#include "eco/runtime/undecided.h"

namespace eco::runtime {
namespace {

using coll::Collective;
using sched::Schedule;
using transport::Status;

constexpr std::string_view kEnd = "end";
constexpr double kNoSample = std::numeric_limits<double>::infinity();  // survives the maximum over the ranks

// Where nobody is told, the next run begins a quarter later than the one before it has taken, and so much more.
constexpr double kRoom = 1.25;
constexpr double kRoom_s = 3e-3;

// Of short calls as many are timed in a row as take about so long.
constexpr double kRow_s = 8e-3;
constexpr double kFewestInARow = 2;
constexpr double kMostInARow = 16;

// How many calls each time of a short candidate is of, where they are timed in a row; else none. The same on all ranks.
int calls_in_a_row(const Trial& trial, const std::vector<std::int64_t>& able,
                   const std::vector<double>& first_s) {
  if (trial.calls_in_a_row != Trial::kAsCheckShows) return trial.calls_in_a_row;
  if (trial.is_checked || !coll::synchronizes(trial.problem.collective)) return 0;
  double fastest_s = kNoSample;
  for (std::size_t c = 0; c < able.size(); ++c) {
    if (able[c] != 0) fastest_s = std::min(fastest_s, first_s[c]);
  }
  if (fastest_s >= plan::kShort_s) return 0;
  return static_cast<int>(std::clamp(kRow_s / std::max(fastest_s, 1e-9), kFewestInARow, kMostInARow));
}

// A candidate whose first run took so long needs no more than one.
int calls_of(int calls_in_a_row, double first_s) { return first_s < plan::kShort_s ? calls_in_a_row : 1; }

double seconds_since(std::int64_t began_ns) { return static_cast<double>(now_ns() - began_ns) * 1e-9; }

}  // namespace

// This rank's part of a trial.
struct Trials::Prepared {
  std::vector<std::optional<Schedule>> schedules;  // nothing: native, or can't be run
  std::vector<bool> able;                          // on all ranks
  std::vector<std::byte> input;                    // of a broadcast's root: its message
  std::vector<std::byte> output;
  std::vector<std::byte> expected;
  exec::Buffers buffers;
  std::optional<std::string> lost;  // what failed in the transport
  // What the library's own collective got wrong, or why it failed. Its messages may be out of step then, so nothing is tried
  // after it.
  std::optional<std::string> wrong;
};

Trials::Trials(transport::Transport& transport, transport::Native& native, const net::GroupView& view,
               const CommonStart& start)
    : transport_(transport),
      native_(native),
      view_(view),
      agreement_(native, transport.rank(), transport.n_ranks()),
      start_(start),
      executor_(std::make_shared<exec::Executor>(transport)) {}

Trials::Prepared Trials::prepare(const Trial& trial) {
  const coll::CommonProblem& problem = trial.problem;
  Prepared prepared;
  prepared.input = input_of(problem, transport_.rank());
  prepared.expected = expected_of(problem, transport_.rank());
  prepared.output.resize(prepared.expected.size());
  prepared.buffers.input =
      std::span<const std::byte>(prepared.input).first(coll::input_bytes(problem, transport_.rank()));
  prepared.buffers.output = prepared.output;
  prepared.buffers.combine = sums_doubles(problem) ? sum_of_doubles() : or_of_bytes();
  for (const auto& candidate : trial.candidates) {
    prepared.schedules.emplace_back();
    prepared.able.push_back(true);
    if (!candidate) continue;
    const algo::Algorithm* algorithm = algo::find(candidate->algorithm);
    if (algo::why_not(*candidate, problem, view_)) {
      prepared.able.back() = false;
      continue;
    }
    prepared.schedules.back() = algorithm->build(problem, view_, candidate->params, transport_.rank());
    if (!executor_->reserve(prepared.schedules.back()->scratch_bytes)) prepared.able.back() = false;
  }
  return prepared;
}

void Trials::open_groups(const Prepared& prepared, std::vector<std::int64_t>& able) {
  std::vector<std::size_t> with_groups;
  std::vector<coll::RankGroup> groups;
  for (std::size_t c = 0; c < able.size(); ++c) {
    if (able[c] == 0 || !prepared.schedules[c] || prepared.schedules[c]->groups.empty()) continue;
    with_groups.push_back(c);
    groups.insert(groups.end(), prepared.schedules[c]->groups.begin(), prepared.schedules[c]->groups.end());
  }
  // All ranks know the same of it.
  if (with_groups.empty() || agreement_.all(transport_.open_groups(groups))) return;
  for (const std::size_t c : with_groups) able[c] = 0;
}

bool Trials::is_short(double run_s) const {
  return start_.has_one_clock() && run_s > 0 && run_s * 1e9 < static_cast<double>(start_.least_ns());
}

double Trials::next_after_s(double run_s) { return kRoom * run_s + kRoom_s; }

Trials::Run Trials::run_once(const Trial& trial, Prepared& prepared, std::size_t candidate, double after_s) {
  const coll::CommonProblem& problem = trial.problem;
  auto& output = prepared.output;
  if (problem.collective == Collective::broadcast && problem.root == transport_.rank()) {
    output = prepared.input;
  } else {
    std::fill(output.begin(), output.end(), kUntouched);
  }
  const Begin begin = after_s > 0 ? start_.wait_after(after_s) : start_.wait();
  call(trial, prepared, candidate);
  if (prepared.lost) return {};
  return {seconds_since(begin.at_ns), begin.late, begin.at_ns, begin.overslept_s};
}

void Trials::call(const Trial& trial, Prepared& prepared, std::size_t candidate) {
  if (prepared.schedules[candidate]) {
    // After a failure this rank still meets the others in the native calls, but runs nothing of its own.
    if (prepared.lost) return;
    // Tags may be the same every time: messages of one tag match in order.
    if (executor_->run(*prepared.schedules[candidate], prepared.buffers, 0) != Status::ok) {
      prepared.lost = "a trial of " + trial.candidates[candidate]->text() + " failed on rank " +
                      std::to_string(transport_.rank());
    }
    return;
  }
  try {
    native_.run(trial.problem, prepared.buffers.input, prepared.output);
  } catch (const TransportError& error) {  // here alone, perhaps: the others go on to what comes next
    prepared.wrong = error.what();
  }
}

void Trials::run_in_a_row(const Trial& trial, Prepared& prepared, std::size_t candidate, int n_calls,
                          bool wakes, std::size_t n_times, Times& times) {
  if (wakes || n_calls > 1)
    call(trial, prepared, candidate);  // all are awake when it ends, and their connections
  for (std::size_t k = 0; k < n_times; ++k) {
    const std::int64_t began_ns = now_ns();
    for (int i = 0; i < n_calls; ++i) call(trial, prepared, candidate);
    // Of one rank: all have as many calls behind them, and what one is ahead of another is no part of what a call takes.
    const double seconds = transport_.rank() == 0 ? seconds_since(began_ns) / n_calls : 0;
    times.set(candidate * n_times + k, {.seconds = seconds});
  }
}

void Trials::Times::set(std::size_t i, const Run& run) {
  values_[i] = run.late ? kNoSample : run.seconds;
  values_[n() + i] = -run.overslept_s;
}

void Trials::Times::agree(transport::Native& native) {
  if (n() > 0) native.allreduce_max(values_);
  for (std::size_t i = 0; i < n(); ++i) values_[i] -= overslept_s(i);
}

bool Trials::is_lost(const Prepared& prepared) { return prepared.lost || prepared.wrong; }

void Trials::agree_that_nothing_is_lost(Prepared& prepared) {
  const auto reason = agreement_.failed([&] {
    if (prepared.lost) throw TransportError(*prepared.lost);
    if (prepared.wrong) throw TransportError(*prepared.wrong);
  });
  if (!reason) return;
  if (prepared.lost) {
    keep_until_exit(executor_);
    keep_until_exit(std::make_shared<Prepared>(std::move(prepared)));
  }
  throw TransportError(*reason);
}

void Trials::check(const Trial& trial, Prepared& prepared, std::vector<std::int64_t>& able,
                   Checked& checked) {
  double as_predicted_s = kNoSample;  // the least prediction that came true
  double fastest_s = kNoSample;       // of recipes, with a right result
  const bool tells = !trial.predicted_s.empty();
  const auto is_spared = [&](std::size_t c) {
    if (!trial.candidates[c]) return fastest_s * (1 + plan::kGainNeeded) <= trial.native_least_s;
    return trial.predicted_s[c] * (1 + plan::kGainNeeded) >= as_predicted_s;
  };
  for (const std::size_t c : trial.order_of_check()) {
    if (able[c] == 0) continue;
    if (tells && is_spared(c)) {  // the same on all ranks, as all that it follows from
      able[c] = 0;
      checked.spares_native = checked.spares_native || !trial.candidates[c];
      continue;
    }
    const Run run = run_once(trial, prepared, c);
    checked.first_s[c] = run.seconds;
    checked.late = checked.late || run.late;
    // A barrier has no result: see trials.h.
    const bool has_result = trial.problem.collective != Collective::barrier;
    if (has_result && prepared.output != prepared.expected) {
      able[c] = 0;
      if (!trial.candidates[c] && !prepared.wrong)
        prepared.wrong = "the library's own " + std::string(coll::name(trial.problem.collective)) + " of " +
                         std::to_string(trial.problem.bytes) + " bytes gave a wrong result on rank " +
                         std::to_string(transport_.rank());
    }
    if (!tells) continue;
    // A run that was wrong or late anywhere has no length.
    const double seconds = agreement_.largest(able[c] != 0 && !run.late ? run.seconds : kNoSample);
    if (!trial.candidates[c] || seconds == kNoSample) continue;
    fastest_s = std::min(fastest_s, seconds);
    if (is_as_predicted(seconds, trial.predicted_s[c]))
      as_predicted_s = std::min(as_predicted_s, trial.predicted_s[c]);
  }
  if (agree_on_first(is_lost(prepared), able, checked)) agree_that_nothing_is_lost(prepared);
}

bool Trials::agree_on_first(bool is_lost, std::vector<std::int64_t>& able, Checked& checked) {
  const std::size_t n = able.size();
  std::vector<double>& most = checked.agreed;  // there is room: memory must not be lacking on one rank alone
  most.assign(checked.first_s.begin(), checked.first_s.end());
  for (const std::int64_t each : able) most.push_back(each == 0 ? 1 : 0);
  most.push_back(checked.late ? 1 : 0);
  most.push_back(is_lost ? 1 : 0);
  native_.allreduce_max(most);
  for (std::size_t c = 0; c < n; ++c) {
    checked.first_s[c] = most[c];
    able[c] = most[n + c] > 0 ? 0 : 1;
  }
  checked.late = most[2 * n] > 0;
  return most[2 * n + 1] > 0;
}

TrialResult Trials::run(const Trial& trial, const Repeat& repeat) {
  const std::size_t n = trial.candidates.size();
  Prepared prepared;
  TrialResult result;
  std::vector<std::int64_t> able;
  Checked checked;
  const auto no_room = agreement_.failed([&] {
    prepared = prepare(trial);
    checked.first_s.assign(n, 0.0);
    checked.agreed.reserve(2 * n + 2);
    result.seconds.resize(n);
    able.assign(prepared.able.begin(), prepared.able.end());
  });
  if (no_room) {
    result.seconds.assign(n, {});
    return result;
  }

  native_.allreduce_min(able);
  open_groups(prepared, able);
  const std::int64_t began_ns = now_ns();
  if (!trial.is_checked) check(trial, prepared, able, checked);
  result.spares_native = checked.spares_native;
  const double check_s = static_cast<double>(now_ns() - began_ns) * 1e-9;
  const bool first_counts = !checked.late;
  // On a network of long latency the first instant was named too late to be heard of; so would those of all runs be.
  for (bool late = checked.late; late && start_.widen();) late = !agreement_.all(!start_.wait().late);
  // The same numbers on all ranks, so the same answer.
  for (std::size_t c = 0; c < n; ++c) {
    const bool counts =
        first_counts && !trial.keeps_all && !trial.is_checked && runtime::first_counts(checked.first_s[c]);
    if (able[c] != 0 && counts) result.seconds[c].push_back(checked.first_s[c]);
  }
  std::optional<Conduct> conduct;  // of rank 0
  if (transport_.rank() == 0) {
    conduct.emplace(trial, able, checked.first_s, first_counts);
    conduct->learn(result.seconds, 1);
  }
  result.calls_in_a_row = checked.calls_in_a_row = calls_in_a_row(trial, able, checked.first_s);
  const Next next = agree_on_rounds(conduct, checked, check_s, repeat);
  if (!next.is_decided) run_rounds(trial, prepared, checked, next.wanted, conduct, result);
  return result;
}

Trials::Next Trials::agree_on_rounds(const std::optional<Conduct>& conduct, const Checked& checked,
                                     double check_s, const Repeat& repeat) {
  Next next;
  if (conduct) {
    next.is_decided = conduct->is_decided();
    // With what it takes to begin together: on a network of long latency that is more than the run.
    const std::vector<double>& first_s = checked.first_s;
    const double runs_s = std::accumulate(first_s.begin(), first_s.end(), 0.0);
    const double begin_s = std::max(0.0, check_s - runs_s) / static_cast<double>(first_s.size());
    const int n_calls = checked.calls_in_a_row;
    const auto told_s = [&](double run_s) { return n_calls > 0 ? run_s : run_s + begin_s; };
    const auto behind_s = [&](double run_s) {
      if (n_calls > 0) return calls_of(n_calls, run_s) * run_s;
      return is_short(run_s) ? next_after_s(run_s) : told_s(run_s);
    };
    Cost cost = conduct->cost(told_s, behind_s);
    cost.in_a_row = n_calls > 0;
    if (!next.is_decided) next.wanted = repeat(cost);
  }
  native_.broadcast(std::as_writable_bytes(std::span(&next, 1)), 0);
  return next;
}

void Trials::run_rounds(const Trial& trial, Prepared& prepared, const Checked& checked,
                        const Repetitions& wanted, std::optional<Conduct>& conduct, TrialResult& result) {
  const std::size_t n = trial.candidates.size();
  const auto n_in_turn = static_cast<std::size_t>(wanted.in_turn);
  Times runs;
  bool keeps_time = true;  // short runs begin by the clock: the same on all ranks, as all times are
  std::vector<Letter> letters;
  std::vector<double> overslept_s;
  if (wanted.rounds == 0 || agreement_.failed([&] {
        runs = Times(n * n_in_turn);
        letters.assign(n, Letter::out);
      })) {
    result.seconds.assign(n, {});
    return;
  }
  for (int round = 0; round < wanted.rounds; ++round) {
    if (conduct) letters = conduct->letters(wanted.wakes);
    native_.broadcast(std::as_writable_bytes(std::span(letters)), 0);
    if (std::count(letters.begin(), letters.end(), Letter::out) == std::ssize(letters)) break;  // decided
    runs.clear();
    for (std::size_t i = 0; i < n; ++i) {
      // The order in which they run is turned from round to round.
      const std::size_t c = (i + static_cast<std::size_t>(round)) % n;
      if (letters[c] == Letter::out) continue;
      if (checked.calls_in_a_row > 0) {
        run_in_a_row(trial, prepared, c, calls_of(checked.calls_in_a_row, checked.first_s[c]),
                     letters[c] == Letter::wakes_and_runs, n_in_turn, runs);
        continue;
      }
      double after_s = 0;  // the first of a turn is told, so that nobody's delay outlives the turn
      const double first_s = checked.first_s[c];
      const auto next_run = [&] {
        const Run run = run_once(trial, prepared, c, after_s);
        if (keeps_time && is_short(first_s)) after_s = next_after_s(first_s);
        return run;
      };
      if (letters[c] == Letter::wakes_and_runs) next_run();
      for (std::size_t k = 0; k < n_in_turn; ++k) runs.set(c * n_in_turn + k, next_run());
    }
    runs.set_lost(is_lost(prepared));
    runs.agree(native_);
    if (runs.is_any_lost()) agree_that_nothing_is_lost(prepared);
    const std::span<const double> times = runs.seconds();
    if (std::find(times.begin(), times.end(), kNoSample) != times.end()) {
      // Runs that nobody is told to begin are too long for that here; next time all are told. Or they were, too late.
      keeps_time ? void(keeps_time = false) : void(start_.widen());
    }
    for (std::size_t c = 0; c < n; ++c) {
      if (letters[c] == Letter::out) continue;
      const std::span<const double> mine = times.subspan(c * n_in_turn, n_in_turn);
      std::copy_if(mine.begin(), mine.end(), std::back_inserter(result.seconds[c]),
                   [](double seconds) { return seconds != kNoSample; });
      if (mine.front() != kNoSample) overslept_s.push_back(runs.overslept_s(c * n_in_turn));
    }
    if (conduct) conduct->learn(result.seconds, (wanted.rounds - round - 1) * wanted.in_turn);
  }
  if (!overslept_s.empty()) result.overslept_s = base::median(std::move(overslept_s));
}

Traced Trials::trace(const coll::CommonProblem& problem, const algo::Recipe& recipe, int n_runs) {
  const Trial trial{problem, {recipe}, true};
  Prepared prepared;
  std::vector<Traced> runs;
  const auto objection = agreement_.failed([&] {
    if (const auto reason = algo::why_not(recipe, problem, view_)) {
      throw InvalidArgument("recipe '" + recipe.text() + "': " + *reason);
    }
    prepared = prepare(trial);
    if (!prepared.able[0]) throw InvalidArgument("no memory for the scratch of '" + recipe.text() + "'");
    const std::size_t n_ops = sched::count_operations(*prepared.schedules[0]);
    if (n_ops > kMostTraced) {
      throw InvalidArgument("a schedule of " + std::to_string(n_ops) + " operations on rank " +
                            std::to_string(transport_.rank()) + " is too much to trace (at most " +
                            std::to_string(kMostTraced) + "); ask about fewer bytes or larger segments");
    }
    runs.resize(static_cast<std::size_t>(n_runs));
    for (Traced& run : runs) run.trace.reserve(n_ops);
  });
  if (objection) throw InvalidArgument(*objection);

  bool late = run_once(trial, prepared, 0).late;
  agree_that_nothing_is_lost(prepared);
  if (problem.collective != Collective::barrier && !agreement_.all(prepared.output == prepared.expected)) {
    throw Error("'" + recipe.text() + "' gave a wrong result");
  }
  while (!agreement_.all(!late) && start_.widen()) late = start_.wait().late;
  Times taken(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    Run run;
    executor_->trace_into(&runs[i].trace);
    do {
      run = run_once(trial, prepared, 0);
    } while (!agreement_.all(!run.late) && start_.widen());
    executor_->trace_into(nullptr);
    runs[i].began_ns = run.began_ns;
    taken.set(i, run);
  }
  agree_that_nothing_is_lost(prepared);
  taken.agree(native_);
  const std::span<const double> seconds = taken.seconds();

  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    if (seconds[i] != kNoSample) order.push_back(i);
  }
  if (order.empty()) throw TransportError("no run of '" + recipe.text() + "' began on all ranks together");
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return seconds[a] < seconds[b]; });
  const std::size_t kept = order[order.size() / 2];
  Traced result = std::move(runs[kept]);
  result.began_ns += static_cast<std::int64_t>(1e9 * taken.overslept_s(kept));
  result.median_s = seconds[kept];
  for (const double each : seconds) {
    if (each != kNoSample) result.seconds.push_back(each);
  }
  return result;
}

void Trials::share_order(std::string& order, const std::function<void()>& read) {
  native_.barrier_asleep();  // rank 0 predicts and proves meanwhile
  if (const auto reason = agreement_.share_and(order, read))
    throw TransportError("a trial's order: " + *reason);
}

TrialResult Trials::order(const Trial& trial, const Repeat& repeat) {
  std::string order = trial.text();
  share_order(order, [] {});
  return run(trial, repeat);
}

void Trials::end() {
  std::string order(kEnd);
  share_order(order, [] {});
}

void Trials::follow() {
  for (;;) {
    std::string order;
    Trial trial;
    share_order(order, [&] {
      if (order == kEnd) return;
      trial = Trial::parse(order);
      if (coll::follows_graph(trial.problem.collective)) trial.problem.neighbors = view_.neighbors;
    });
    if (order == kEnd) return;
    run(trial, {});
  }
}

}  // namespace eco::runtime
