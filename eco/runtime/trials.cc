#include "eco/runtime/trials.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <new>
#include <sstream>
#include <utility>

#include "eco/algo/algorithm.h"
#include "eco/base/errors.h"
#include "eco/base/quantile.h"
#include "eco/runtime/abandoned.h"
#include "eco/runtime/combine.h"
#include "eco/runtime/contents.h"

namespace eco::runtime {
namespace {

using coll::Collective;
using sched::Schedule;
using transport::Status;

constexpr std::string_view kEnd = "end";
constexpr std::string_view kNative = "native";
// Of a round of all candidates: connections need not be wakened before a turn that is so much longer than what they remember.
constexpr double kLongRound_s = 1.0;
constexpr double kLong_s = 0.02;                                       // from here on one run tells most
constexpr double kHopeless = 1.3;                                      // times the fastest
constexpr double kNoSample = std::numeric_limits<double>::infinity();  // survives the maximum over the ranks

// Whether the runs that checked the results have decided all: the library's own and the fastest candidate took so long, and are
// so far apart, that no further run could turn it round; a packet that was lost and sent again takes some 200 ms.
constexpr double kDecides_s = 0.25;
bool is_decided(const Trial& trial, const std::vector<double>& first_s,
                const std::vector<std::int64_t>& able) {
  double native_s = 0;
  double best_s = kNoSample;
  for (std::size_t c = 0; c < first_s.size(); ++c) {
    if (able[c] == 0) continue;
    if (!trial.candidates[c]) native_s = first_s[c];
    if (trial.candidates[c]) best_s = std::min(best_s, first_s[c]);
  }
  const auto [less_s, more_s] = std::minmax(native_s, best_s);
  return less_s > kDecides_s && best_s != kNoSample && more_s > kHopeless * less_s + kDecides_s;
}

// What took long, and much longer than another candidate, cannot win and is not run again; the native collective is,
// since its time is what the others are held against.
void drop_hopeless(const Trial& trial, const std::vector<double>& first_s, std::vector<std::int64_t>& able) {
  double best_s = kNoSample;
  for (std::size_t c = 0; c < first_s.size(); ++c) {
    if (able[c] != 0 && trial.candidates[c]) best_s = std::min(best_s, first_s[c]);
  }
  for (std::size_t c = 0; c < first_s.size(); ++c) {
    if (trial.candidates[c] && first_s[c] > kLong_s && first_s[c] > kHopeless * best_s) able[c] = 0;
  }
}

}  // namespace

std::string Trial::text() const {
  std::ostringstream out;
  out << coll::name(problem.collective) << ' ' << problem.n_ranks << ' ' << problem.root << ' '
      << problem.bytes << ' ' << problem.element_bytes << ' ' << keeps_all << ' ' << is_checked << '\n';
  for (const auto& candidate : candidates)
    out << (candidate ? candidate->text() : std::string(kNative)) << '\n';
  return out.str();
}

Trial Trial::parse(std::string_view text) {
  std::istringstream lines{std::string(text)};
  std::string line;
  std::getline(lines, line);
  std::istringstream first{line};
  Trial trial;
  std::string collective;
  first >> collective >> trial.problem.n_ranks >> trial.problem.root >> trial.problem.bytes >>
      trial.problem.element_bytes >> trial.keeps_all >> trial.is_checked;
  const auto known = coll::collective_from_name(collective);
  if (!first || !known) throw InvalidArgument("trial: '" + line + "' is not an order");
  trial.problem.collective = *known;
  while (std::getline(lines, line)) {
    if (line == kNative)
      trial.candidates.emplace_back();
    else
      trial.candidates.emplace_back(algo::parse_recipe(line));
  }
  return trial;
}

// This rank's part of a trial.
struct Trials::Prepared {
  std::vector<std::optional<Schedule>> schedules;  // nothing: native, or can't be run
  std::vector<bool> able;                          // on all ranks
  std::vector<std::byte> input;                    // of a broadcast's root: its message
  std::vector<std::byte> output;
  std::vector<std::byte> expected;
  exec::Buffers buffers;
  std::optional<std::string> lost;  // what failed in the transport
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

Trials::Run Trials::run_once(const Trial& trial, Prepared& prepared, std::size_t candidate) {
  const coll::CommonProblem& problem = trial.problem;
  auto& output = prepared.output;
  if (problem.collective == Collective::broadcast && problem.root == transport_.rank()) {
    output = prepared.input;
  } else {
    std::fill(output.begin(), output.end(), kUntouched);
  }
  const Begin begin = start_.wait();
  if (prepared.schedules[candidate]) {
    // After a failure this rank still meets the others in the native calls, but runs nothing of its own.
    if (prepared.lost) return {};
    // Tags may be the same every time: messages of one tag match in order.
    if (executor_->run(*prepared.schedules[candidate], prepared.buffers, 0) != Status::ok) {
      prepared.lost = "a trial of " + trial.candidates[candidate]->text() + " failed on rank " +
                      std::to_string(transport_.rank());
      return {};
    }
  } else {
    native_.run(problem, prepared.buffers.input, output);
  }
  return {static_cast<double>(now_ns() - begin.at_ns) * 1e-9, begin.late, begin.at_ns, begin.overslept_s};
}

void Trials::Times::set(std::size_t i, const Run& run) {
  values_[i] = run.late ? kNoSample : run.seconds;
  values_[n() + i] = -run.overslept_s;
}

void Trials::Times::agree(transport::Native& native) {
  if (n() > 0) native.allreduce_max(values_);
  for (std::size_t i = 0; i < n(); ++i) values_[i] -= overslept_s(i);
}

void Trials::agree_that_nothing_is_lost(Prepared& prepared) {
  const auto reason = agreement_.failed([&] {
    if (prepared.lost) throw TransportError(*prepared.lost);
  });
  if (!reason) return;
  if (prepared.lost) {
    keep_until_exit(executor_);
    keep_until_exit(std::make_shared<Prepared>(std::move(prepared)));
  }
  throw TransportError(*reason);
}

TrialResult Trials::run(const Trial& trial, const Repeat& repeat) {
  const std::size_t n = trial.candidates.size();
  Prepared prepared;
  TrialResult result;
  std::vector<std::int64_t> able;
  const auto no_room = agreement_.failed([&] {
    prepared = prepare(trial);
    result.seconds.resize(n);
    able.assign(prepared.able.begin(), prepared.able.end());
  });
  if (no_room) {
    result.seconds.assign(n, {});
    return result;
  }

  std::vector<double> first_s(n, 0.0);
  bool late = false;
  native_.allreduce_min(able);
  open_groups(prepared, able);
  const std::int64_t began_ns = now_ns();
  for (std::size_t c = 0; c < n && !trial.is_checked; ++c) {
    if (able[c] == 0) continue;
    const Run run = run_once(trial, prepared, c);
    first_s[c] = run.seconds;
    late = late || run.late;
    // A barrier has no result: see trials.h.
    const bool has_result = trial.problem.collective != Collective::barrier;
    if (has_result && prepared.output != prepared.expected) able[c] = 0;
  }
  // With what it takes to begin together: on a network of long latency that is more than the run.
  double run_all_s = static_cast<double>(now_ns() - began_ns) * 1e-9;
  agree_that_nothing_is_lost(prepared);
  native_.allreduce_min(able);

  native_.allreduce_max(first_s);
  const bool first_counts = agreement_.all(!late);
  // On a network of long latency the first instant was named too late to be heard of; so would those of all runs be.
  if (!first_counts) {
    while (!agreement_.all(!late) && start_.widen()) late = start_.wait().late;
  }
  if (!trial.keeps_all && !trial.is_checked) {
    // The same numbers on all ranks, so the same answer.
    if (first_counts && is_decided(trial, first_s, able)) {
      for (std::size_t c = 0; c < n; ++c) {
        if (able[c] != 0) result.seconds[c] = {first_s[c]};
      }
      return result;
    }
    drop_hopeless(trial, first_s, able);
  }
  for (std::size_t c = 0; c < n; ++c) run_all_s -= able[c] != 0 ? 0 : first_s[c];
  const bool conducts = transport_.rank() == 0;
  const Repetitions wanted = conducts ? repeat(std::max(run_all_s, 0.0)) : Repetitions{};
  const auto n_rounds = static_cast<std::size_t>(agreement_.share_number(wanted.rounds));
  const auto n_in_turn = static_cast<std::size_t>(agreement_.share_number(wanted.in_turn));
  const bool wakes = agreement_.share_number(wanted.wakes ? 1 : 0) != 0;
  const std::size_t n_timed = n_rounds * n_in_turn;
  Times runs;
  if (agreement_.failed([&] { runs = Times(n * n_timed); })) return result;
  for (std::size_t round = 0; round < n_rounds; ++round) {
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t c = (i + round) % n;
      if (able[c] == 0) continue;
      if (wakes) run_once(trial, prepared, c);
      for (std::size_t k = 0; k < n_in_turn; ++k) {
        runs.set(c * n_timed + round * n_in_turn + k, run_once(trial, prepared, c));
      }
    }
  }
  agree_that_nothing_is_lost(prepared);
  runs.agree(native_);
  const std::span<const double> times = runs.seconds();
  if (std::find(times.begin(), times.end(), kNoSample) != times.end()) start_.widen();
  for (std::size_t c = 0; c < n; ++c) {
    const auto begin = times.begin() + static_cast<std::ptrdiff_t>(c * n_timed);
    std::copy_if(begin, begin + static_cast<std::ptrdiff_t>(able[c] != 0 ? n_timed : 0),
                 std::back_inserter(result.seconds[c]), [](double seconds) { return seconds != kNoSample; });
  }
  return result;
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

TrialResult Trials::order(const Trial& trial, const Repeat& repeat) {
  agreement_.share(trial.text());
  agree_that_order_is_read([] {});
  return run(trial, repeat);
}

void Trials::agree_that_order_is_read(const std::function<void()>& read) {
  if (const auto reason = agreement_.failed(read)) throw TransportError("a trial's order: " + *reason);
}

void Trials::end() { agreement_.share(std::string(kEnd)); }

void Trials::follow() {
  for (;;) {
    const std::string order = agreement_.share({});
    if (order == kEnd) return;
    Trial trial;
    agree_that_order_is_read([&] {
      trial = Trial::parse(order);
      if (coll::follows_graph(trial.problem.collective)) trial.problem.neighbors = view_.neighbors;
    });
    run(trial, {});
  }
}

plan::Measurement summarize(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  using base::quantile;
  return {quantile(seconds, 0.5), (quantile(seconds, 0.75) - quantile(seconds, 0.25)) / 2};
}

plan::Measure measure_by_trials(Trials& trials, const Clock& clock, const TrialLimits& limits) {
  return [&trials, clock, limits](const coll::CommonProblem& problem,
                                  const std::vector<const algo::Recipe*>& candidates,
                                  double expected_s) -> std::vector<std::optional<plan::Measurement>> {
    const auto wakes = [](double run_all_s) { return run_all_s < kLongRound_s; };
    const auto rounds_in = [wakes](double seconds, double run_all_s, int in_turn) {
      return seconds / (std::max(run_all_s, 1e-9) * (in_turn + (wakes(run_all_s) ? 1 : 0)));
    };
    // Each candidate runs once before it is known what that takes.
    if (rounds_in(limits.until_s - clock(), expected_s, limits.in_turn) < limits.fewest + 1) return {};
    std::vector<std::optional<plan::Measurement>> measured(candidates.size());
    Trial trial{problem, {}};
    for (const algo::Recipe* candidate : candidates) {
      trial.candidates.push_back(candidate ? std::optional(*candidate) : std::nullopt);
    }
    const TrialResult result = trials.order(trial, [&](double run_all_s) -> Repetitions {
      // Long runs have short turns: they keep their connections awake by themselves.
      int in_turn = limits.in_turn;
      while (in_turn > 1 && rounds_in(limits.cell_s, run_all_s, in_turn) < limits.fewest) --in_turn;
      const double left = rounds_in(limits.until_s - clock(), run_all_s, in_turn);
      if (left < limits.fewest) return {};
      const double wanted = std::clamp(rounds_in(limits.cell_s, run_all_s, in_turn),
                                       static_cast<double>(limits.fewest), static_cast<double>(limits.most));
      return {static_cast<int>(std::min(wanted, left)), in_turn, wakes(run_all_s)};
    });
    for (std::size_t c = 0; c < candidates.size(); ++c) {
      if (!result.seconds[c].empty()) measured[c] = summarize(result.seconds[c]);
    }
    return measured;
  };
}

}  // namespace eco::runtime
