// Timing candidates beside the native collective, on the ranks and hosts that will use them.
//
// Rank 0 plans and conducts; the others follow its orders until it ends the trials:
//
//   if (rank == 0) { make_plan(..., measure_by_trials(trials, clock, limits)); trials.end(); }    // measure_by_trials.h
//   else trials.follow();
//
// A trial is one problem and several candidates. Each candidate runs once untimed, with its result checked (but for
// barriers, which have none: that nobody leaves before all have come is what plan::prove() showed of their recipes
// before they got here); then in turn, as often as rank 0's clock allows, those whose further runs may still change what serves
// (undecided.h). Every run begins at a common instant (see CommonStart); its time is the latest rank's. Where that would be
// most of what is timed, in short collectives that nobody leaves before all have come, each time is of several calls in a row
// instead, on rank 0 (docs/adr/0037). Interleaving lets ambient traffic hit all candidates alike; the median is reported
// because single delays (a retransmission, a preempted rank) are many times the quantity measured.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "eco/algo/recipe.h"
#include "eco/coll/problem.h"
#include "eco/exec/executor.h"
#include "eco/net/group_view.h"
#include "eco/runtime/agreement.h"
#include "eco/runtime/common_start.h"
#include "eco/runtime/conduct.h"
#include "eco/runtime/trial.h"
#include "eco/transport/native.h"
#include "eco/transport/transport.h"

namespace eco::runtime {

// What one rank did in the run in the middle of several of one recipe (Trials::trace).
struct Traced {
  std::vector<double> seconds;  // of every run that counts: the latest rank's, on all ranks the same
  double median_s = 0;          // of the run that was kept: the one in the middle
  std::int64_t began_ns = 0;    // its common start by this rank's clock, which the trace is in
  exec::Trace trace{now_ns};
};

class Trials {
 public:
  Trials(transport::Transport& transport, transport::Native& native, const net::GroupView& view,
         const CommonStart& start);

  // Collective; every rank passes the same trial, `repeat` counts on rank 0 only. The result is the same on all
  // ranks, and empty if one of them had no memory for it. Throws TransportError on every rank that can still be reached
  // if a run failed.
  TrialResult run(const Trial& trial, const Repeat& repeat);
  // Collective; every rank passes the same. Runs a recipe once to check its result and then n_runs times, traced. Throws
  // on all ranks alike: InvalidArgument where the recipe does not fit or has more than kMostTraced operations on a rank,
  // TransportError where a run failed, or none began together.
  Traced trace(const coll::CommonProblem& problem, const algo::Recipe& recipe, int n_runs);
  static constexpr std::size_t kMostTraced = 50'000;  // more than anybody looks at

  // Collective, ranks other than 0: runs what rank 0 orders until it ends.
  void follow();

  // Collective with follow(): rank 0's side of one order, and the last one. TransportError is thrown by all or none.
  TrialResult order(const Trial& trial, const Repeat& repeat);
  void end();

 private:
  struct Prepared;
  struct Run {
    double seconds = 0;  // on this rank
    bool late = false;   // it began too late to count
    std::int64_t began_ns = 0;
    double overslept_s = 0;
  };
  // Of several runs, on this rank.
  class Times {
   public:
    explicit Times(std::size_t n = 0) : values_(2 * n + 1) {}
    void clear() { std::fill(values_.begin(), values_.end(), 0.0); }
    void set(std::size_t i, const Run& run);
    void set_lost(bool lost) { values_.back() = lost ? 1 : 0; }
    // Collective, once after they were set. From then on the same on all ranks.
    void agree(transport::Native& native);
    // Of each run the latest rank's time, from when the first one was awake.
    std::span<const double> seconds() const { return std::span(values_).first(n()); }
    bool is_any_lost() const { return values_.back() > 0; }
    // By so much the first one was awake after the instant.
    double overslept_s(std::size_t i) const { return -values_[n() + i]; }

   private:
    std::size_t n() const { return values_.size() / 2; }
    // Seconds, then less than nothing for what was slept too long, then, above 0, that a rank is lost.
    std::vector<double> values_;
  };

  Prepared prepare(const Trial& trial);
  // Collective. Candidates whose islands' collectives the transport can't do are not able. What is opened stays so: trials
  // of other sizes need the same.
  void open_groups(const Prepared& prepared, std::vector<std::int64_t>& able);
  struct Checked {
    std::vector<double> first_s;  // of the latest rank
    bool late = false;            // any rank
    bool spares_native = false;
    int calls_in_a_row = 0;      // for each time; none: each run begins at a common start
    std::vector<double> agreed;  // room to agree on it
  };
  // Collective. Runs each once; `able`: of whom all ranks' results were right.
  void check(const Trial& trial, Prepared& prepared, std::vector<std::int64_t>& able, Checked& checked);
  // Collective. The same on all ranks from now on: who is able on all, and what the latest rank has; whether one is lost.
  bool agree_on_first(bool is_lost, std::vector<std::int64_t>& able, Checked& checked);
  // Whether the check has decided all, or how often who is left runs.
  struct Next {
    bool is_decided = false;
    Repetitions wanted;
  };
  // Collective; as the conduct of rank 0, which alone has one, says. `check_s`: what the whole check took on this rank.
  Next agree_on_rounds(const std::optional<Conduct>& conduct, const Checked& checked, double check_s,
                       const Repeat& repeat);
  // Collective.
  void run_rounds(const Trial& trial, Prepared& prepared, const Checked& checked, const Repetitions& wanted,
                  std::optional<Conduct>& conduct, TrialResult& result);
  // Collective: rank 0's order, on every rank, read there. Throws TransportError on all ranks alike.
  void share_order(std::string& order, const std::function<void()>& read);
  // Collective. So long after the last run began, or (0) when all have been told to.
  Run run_once(const Trial& trial, Prepared& prepared, std::size_t candidate, double after_s = 0);
  // Collective. What the candidate itself does, this rank's part.
  void call(const Trial& trial, Prepared& prepared, std::size_t candidate);
  // Collective. Sets so many times, each of so many calls one after the other.
  void run_in_a_row(const Trial& trial, Prepared& prepared, std::size_t candidate, int n_calls, bool wakes,
                    std::size_t n_times, Times& times);
  // Whether a run of so long is so short that telling all when the next one begins would take longer; and when it begins.
  bool is_short(double run_s) const;
  static double next_after_s(double run_s);
  // Collective: throws on all if anything is.
  void agree_that_nothing_is_lost(Prepared& prepared);
  static bool is_lost(const Prepared& prepared);

  transport::Transport& transport_;
  transport::Native& native_;
  const net::GroupView& view_;
  Agreement agreement_;
  CommonStart start_;
  std::shared_ptr<exec::Executor> executor_;
};

}  // namespace eco::runtime
