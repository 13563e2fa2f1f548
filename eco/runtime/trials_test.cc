#include "eco/runtime/trials.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "eco/base/errors.h"
#include "eco/net/synthetic.h"
#include "eco/runtime/measure_by_trials.h"
#include "eco/runtime/testing.h"
#include "eco/transport/loopback/loopback.h"

namespace eco::runtime {
namespace {

// On a busy machine threads hear late of their common start; runs that did do not count.
constexpr std::int64_t kLead_ns = 50'000'000;

struct Outcome {
  TrialResult result;
  int asked = 0;  // how often to run
};

// Every message takes so long.
struct Slow final : testing::PassingTransport {
  Slow(transport::Transport& below, double seconds) : PassingTransport(below), seconds_(seconds) {}
  transport::Status post_send(int peer, int tag, std::span<const std::byte> bytes, transport::SendMode mode,
                              transport::Ticket ticket) override {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds_));
    return below_.post_send(peer, tag, bytes, mode, ticket);
  }
  double seconds_;
};

// The library's own allreduce, which takes so long, beside others of messages that take so long; on four threads. Rank 0's part
// is conduct(trials).
void conduct_trials(double native_s, double message_s, const std::function<void(Trials&)>& conduct) {
  const auto network = std::make_shared<const net::Network>(net::synthetic_network(testing::kNetwork));
  const net::GroupView view = net::make_view(network, {0, 1, 2, 3});
  transport::Hub hub(4);
  transport::run_ranks(hub, [&](transport::LoopbackTransport& transport, transport::LoopbackNative& native) {
    testing::PacedNative paced(native, native_s);
    Slow slow(transport, message_s);
    Trials trials(slow, paced, view, CommonStart(paced, true, kLead_ns));
    if (transport.rank() != 0) return trials.follow();
    conduct(trials);
    trials.end();
  });
}

Outcome trial_of(const Trial& trial, double native_s, double message_s) {
  Outcome outcome;
  conduct_trials(native_s, message_s, [&](Trials& trials) {
    outcome.result = trials.order(trial, [&](const Cost&) {
      ++outcome.asked;
      return Repetitions{2, 1};
    });
  });
  return outcome;
}

Trial trial_with(const std::vector<std::string>& recipes) {
  Trial trial{.problem = testing::problem_of(coll::Collective::allreduce, 4096),
              .candidates = {std::nullopt}};
  for (const std::string& recipe : recipes) trial.candidates.emplace_back(algo::parse_recipe(recipe));
  return trial;
}

Outcome trial_beside(double native_s, double message_s) {
  return trial_of(trial_with({"allreduce/chain"}), native_s, message_s);
}

// A busy machine may make a first run long: then it is tried again.
TEST(Trials, ShortCallsThatAllRanksWaitInAreTimedInARow) {
  const auto in_a_row = [](coll::Collective collective, int asked) {
    const std::string name(coll::name(collective));
    Trial trial{.problem = testing::problem_of(collective, collective == coll::Collective::barrier ? 0 : 8),
                .candidates = {std::nullopt, algo::parse_recipe(name + "/flat")},
                .keeps_all = true,
                .calls_in_a_row = asked};
    const TrialResult result = trial_of(trial, 0, 0).result;
    if (result.calls_in_a_row > 0) {
      EXPECT_EQ(result.overslept_s, 0) << name;
      for (const auto& seconds : result.seconds) EXPECT_EQ(seconds.size(), 2U) << name << ": two rounds";
    }
    return result.calls_in_a_row > 0;
  };
  constexpr int kShown = Trial::kAsCheckShows;
  for (const auto collective : {coll::Collective::allreduce, coll::Collective::barrier}) {
    bool once = false;
    for (int i = 0; i < 50 && !once; ++i) once = in_a_row(collective, kShown);
    EXPECT_TRUE(once) << coll::name(collective);
    EXPECT_FALSE(in_a_row(collective, 0)) << "not wanted";
  }
  for (const auto collective : {coll::Collective::broadcast, coll::Collective::scan})
    EXPECT_FALSE(in_a_row(collective, kShown)) << coll::name(collective);
}

TEST(Trials, ATimeInARowIsOfOneCall) {
  Trial trial = trial_with({"allreduce/chain"});
  trial.keeps_all = true;
  trial.calls_in_a_row = 3;
  for (const double native_s : {0.05, 0.0}) {
    const TrialResult result = trial_of(trial, native_s, 0.001).result;
    EXPECT_EQ(result.calls_in_a_row, 3);
    ASSERT_EQ(result.seconds[0].size(), 2U);
    EXPECT_GE(result.seconds[0].front(), native_s);
    EXPECT_LT(result.seconds[0].front(), native_s + 0.04);
  }
}

TEST(Trials, LongCallsBeginTogether) { EXPECT_EQ(trial_beside(0.3, 0.05).result.calls_in_a_row, 0); }

TEST(Trials, RunEveryCandidateInTurn) {
  const Outcome outcome = trial_beside(0.001, 0);
  EXPECT_EQ(outcome.asked, 1);
  for (const auto& seconds : outcome.result.seconds) EXPECT_LE(seconds.size(), 3U);
}

TEST(Trials, AreDecidedByOneRunWhereItIsLongAndClear) {
  const Outcome outcome = trial_beside(3, 0.1);
  EXPECT_EQ(outcome.asked, 0);
  ASSERT_EQ(outcome.result.seconds.size(), 2U);
  for (const auto& seconds : outcome.result.seconds) EXPECT_EQ(seconds.size(), 1U);
  EXPECT_EQ(trial_beside(0.5, 0).asked, 1) << "the other one is short, whatever the ratio";
}

TEST(Trials, EndWhenWhatIsLeftCannotChangeWhatServes) {
  // Six messages one after the other.
  const Outcome outcome = trial_beside(0.3, 0.12);
  EXPECT_EQ(outcome.asked, 1);
  for (const auto& seconds : outcome.result.seconds)
    EXPECT_LE(seconds.size(), 2U) << "the check and one round of two";
}

TEST(Trials, TheLibraryRunsOnceWhereItTakesWhatItWasGuessedTo) {
  Trial trial = trial_with({"allreduce/chain"});
  trial.predicted_s = {0.65, 0.12};
  const Outcome as_guessed = trial_of(trial, 0.6, 0.02);
  EXPECT_EQ(as_guessed.result.seconds[0].size(), 1U);
  EXPECT_GT(as_guessed.result.seconds[1].size(), 1U) << "short";
  for (const double guess_s : {0.3, 1.2}) {
    trial.predicted_s[0] = guess_s;
    EXPECT_GT(trial_of(trial, 0.6, 0.02).result.seconds[0].size(), 1U) << "a packet may have been lost";
  }
}

TEST(Trials, OfOneThatKeepsAllNothingIsDecided) {
  Trial trial = trial_with({"allreduce/chain"});
  trial.keeps_all = true;
  const Outcome outcome = trial_of(trial, 0.3, 0.12);
  for (const auto& seconds : outcome.result.seconds)
    EXPECT_LE(seconds.size(), 2U) << "two rounds, and not the check";
}

TEST(Trials, ARivalIsSparedWhereWhatIsAheadOfItIsAsPredicted) {
  Trial trial = trial_with({"allreduce/chain", "allreduce/flat"});
  trial.predicted_s = {0.1, 10, 10};
  EXPECT_TRUE(trial_of(trial, 0.3, 0.12).result.seconds[2].empty());
  trial.predicted_s = {0.1, 10, 9};
  EXPECT_FALSE(trial_of(trial, 0.3, 0.12).result.seconds[2].empty()) << "it is predicted to be faster";
  trial.predicted_s = {0.1, 0.01, 0.01};
  EXPECT_FALSE(trial_of(trial, 0.3, 0.12).result.seconds[2].empty()) << "predictions are wrong here";
}

TEST(Trials, TheLibraryIsSparedWhereFewerBytesTakeItLongerAlready) {
  Trial trial = trial_with({"allreduce/chain"});
  trial.predicted_s = {0.1, 0.7};
  trial.native_least_s = 30;
  const Outcome spared = trial_of(trial, 0.3, 0.12);
  EXPECT_TRUE(spared.result.spares_native);
  EXPECT_TRUE(spared.result.seconds[0].empty());
  EXPECT_FALSE(spared.result.seconds[1].empty());
  trial.native_least_s = 0.3;
  const Outcome beside = trial_of(trial, 0.3, 0.12);
  EXPECT_FALSE(beside.result.spares_native);
  EXPECT_FALSE(beside.result.seconds[0].empty()) << "the recipe takes longer than that";
}

// The run that checks a result counts where it is long: one round more is evidence, and time for it is all that is asked for.
TEST(Trials, ALongOneNeedsTimeForItsCheckAndOneRound) {
  double message_s = 0.01;  // six, one after the other
  const Trial trial = trial_with({"allreduce/chain"});
  double native_s = 0.15;
  const auto is_measured = [&](double most_s, double predicted_s) {
    bool measured = false;
    conduct_trials(native_s, message_s, [&](Trials& trials) {
      const Clock clock = [] { return 1e-9 * static_cast<double>(now_ns()); };
      const TrialLimits limits{
          .until_s = clock() + most_s, .cell_s = 0.2, .fewest = 2, .most = 4, .in_turn = 2};
      const std::vector<const algo::Recipe*> candidates{nullptr, &*trial.candidates[1]};
      const auto found =
          measure_by_trials(trials, clock, limits)(trial.problem, candidates, {{native_s, predicted_s}});
      measured = found.size() == 2 && found[0] && found[1];
    });
    return measured;
  };
  EXPECT_TRUE(is_measured(1.2, 6 * message_s))
      << "the check 0.2 s, and twice that for a round that wakes connections";
  EXPECT_FALSE(is_measured(0.3, 6 * message_s));
  EXPECT_FALSE(is_measured(0.5, 0.01)) << "the check of what is short tells nothing";
  EXPECT_FALSE(is_measured(0.5, 0))
      << "nor does that of what runs in any case, which takes about as long as the library";
  native_s = 0.6;
  EXPECT_FALSE(is_measured(1.1, 6 * message_s)) << "a packet may have been lost in the library's one run";
  native_s = 2.2;
  EXPECT_TRUE(is_measured(2.7, 6 * message_s)) << "one run of the library's tells, the round is the recipe's";
  EXPECT_FALSE(is_measured(2.3, 6 * message_s));
  native_s = 0.8;
  message_s = 0.02;
  EXPECT_TRUE(is_measured(1.4, 6 * message_s)) << "as does one that takes what was guessed";
}

// The clock stands still until rank 0 is asked how often to run, and is then where the test says.
TEST(Trials, ALateOneIsEndedIfItsRoundsCostNoMoreThanItsCheckDid) {
  const Trial trial = trial_with({"allreduce/chain"});
  const std::vector<const algo::Recipe*> candidates{nullptr, &*trial.candidates[1]};
  const auto is_measured = [&](double until_s, double asked_s) {
    bool measured = false;
    conduct_trials(0.01, 0, [&](Trials& trials) {
      int read = 0;
      const Clock clock = [&] { return ++read <= 2 ? 0 : asked_s; };
      const TrialLimits limits{.until_s = until_s, .cell_s = 0.2, .fewest = 2, .most = 4, .in_turn = 2};
      const auto found = measure_by_trials(trials, clock, limits)(trial.problem, candidates, {{1e-6, 1e-6}});
      measured = !found.empty() && found[0] && found[1];
    });
    return measured;
  };
  EXPECT_TRUE(is_measured(1, 0)) << "in time";
  EXPECT_TRUE(is_measured(1, 2)) << "late, but the rounds take a small part of what the check has taken";
  EXPECT_FALSE(is_measured(1e-3, 2e-3)) << "they take longer than that";
}

// The library's own allreduce, which takes `native_s`, but nothing where the one before is long over; on four threads.
struct Hasty final : transport::PassingNative {
  Hasty(transport::Native& below, double native_s) : PassingNative(below), native_s_(native_s) {}
  void run(const coll::CommonProblem& problem, std::span<const std::byte> input,
           std::span<std::byte> output) override {
    if (now_ns() - ended_ns_ < 1'000'000)
      std::this_thread::sleep_for(std::chrono::duration<double>(native_s_));
    below_.run(problem, input, output);
    ended_ns_ = now_ns();
  }
  double native_s_;
  std::int64_t ended_ns_ = 0;
};

using NativeOf = std::function<std::unique_ptr<transport::Native>(transport::LoopbackNative&)>;

// What rank 0 measures of a recipe beside the library's own, on four threads whose messages take 0.2 ms. `end` is given its library.
std::vector<std::optional<plan::Measurement>> measured_beside(
    const NativeOf& native_of, const coll::CommonProblem& problem, const std::string& recipe,
    TrialLimits limits, const std::function<void(transport::Native&)>& end = [](transport::Native&) {}) {
  const auto network = std::make_shared<const net::Network>(net::synthetic_network(testing::kNetwork));
  const net::GroupView view = net::make_view(network, {0, 1, 2, 3});
  const algo::Recipe candidate = algo::parse_recipe(recipe);
  std::vector<std::optional<plan::Measurement>> found;
  transport::Hub hub(4);
  transport::run_ranks(hub, [&](transport::LoopbackTransport& transport, transport::LoopbackNative& below) {
    const std::unique_ptr<transport::Native> native = native_of(below);
    Slow slow(transport, 2e-4);
    Trials trials(slow, *native, view, CommonStart(*native, true, kLead_ns));
    if (transport.rank() != 0) return trials.follow();
    const Clock clock = [] { return 1e-9 * static_cast<double>(now_ns()); };
    limits.until_s = clock() + 100;
    found = measure_by_trials(trials, clock, limits)(problem, {nullptr, &candidate}, {{1e-4, 1e-4}});
    trials.end();
    end(*native);
  });
  return found;
}

bool are_measured(const std::vector<std::optional<plan::Measurement>>& found) {
  return found.size() == 2 && found[0] && found[1];
}

// In a row the recipe is twice as fast. A busy machine may hide that, or make a first run long: then it is tried again.
TEST(Trials, WhatWinsInARowMustWinFromACommonStartToo) {
  for (const bool hasty : {false, true}) {
    const NativeOf native_of =
        [hasty](transport::LoopbackNative& below) -> std::unique_ptr<transport::Native> {
      if (hasty) return std::make_unique<Hasty>(below, 4e-3);
      return std::make_unique<testing::PacedNative>(below, 2.5e-3);
    };
    bool seen = false;
    for (int i = 0; i < 20 && !seen; ++i) {
      const auto found = measured_beside(native_of, testing::problem_of(coll::Collective::allreduce, 4096),
                                         "allreduce/chain", {.cell_s = 0.5});
      seen = are_measured(found) && found[0]->in_a_row && found[1]->in_a_row && found[1]->lags == hasty &&
             found[1]->median_s < found[0]->median_s;
    }
    EXPECT_TRUE(seen) << hasty;
  }
}

// The library's own broadcast, of which the first calls take long.
struct Waking final : transport::PassingNative {
  Waking(transport::Native& below, int n_long) : PassingNative(below), n_long_(n_long) {}
  void run(const coll::CommonProblem& problem, std::span<const std::byte> input,
           std::span<std::byte> output) override {
    if (n_run++ < n_long_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    below_.run(problem, input, output);
  }
  int n_run = 0;
  int n_long_;
};

// A busy machine may make runs long: then it is tried again.
TEST(Trials, ShortCallsThatWinAreLookedAtAgain) {
  constexpr int kInALook = 2 * (1 + 2);
  constexpr int kInFirstLook = 1 + kInALook;
  constexpr int kAlways = 1000;
  for (const int n_long : {kInFirstLook, kAlways}) {
    bool seen = false;
    for (int i = 0; i < 20 && !seen; ++i) {
      int n_run = 0;
      const auto found = measured_beside(
          [n_long](transport::LoopbackNative& below) { return std::make_unique<Waking>(below, n_long); },
          testing::problem_of(coll::Collective::broadcast, 8), "broadcast/binomial",
          {.cell_s = 0.5, .fewest = 2, .most = 2},
          [&](transport::Native& native) { n_run = static_cast<Waking&>(native).n_run; });
      seen = are_measured(found) && n_run == kInFirstLook + kInALook && !found[0]->in_a_row &&
             found[1]->median_s < found[0]->median_s && found[1]->lags == (n_long != kAlways);
    }
    EXPECT_TRUE(seen) << n_long;
  }
}

// One message of one rank takes longer than the time until the next run begins by the clock.
struct Stumbling final : testing::PassingTransport {
  Stumbling(transport::Transport& below, int at) : PassingTransport(below), at_(at) {}
  transport::Status post_send(int peer, int tag, std::span<const std::byte> bytes, transport::SendMode mode,
                              transport::Ticket ticket) override {
    if (rank() == 1 && ++sent_ == at_) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    return below_.post_send(peer, tag, bytes, mode, ticket);
  }
  int at_;
  int sent_ = 0;
};

TEST(Trials, WhoIsLateByTheClockCostsRunsAndNotTheTrial) {
  const auto network = std::make_shared<const net::Network>(net::synthetic_network(testing::kNetwork));
  const net::GroupView view = net::make_view(network, {0, 1, 2, 3});
  transport::Hub hub(4);
  transport::run_ranks(hub, [&](transport::LoopbackTransport& transport, transport::LoopbackNative& native) {
    Stumbling stumbling(transport, 6);
    Trials trials(stumbling, native, view, CommonStart(native, true, 2 * kLead_ns));
    Trial trial = trial_with({"allreduce/chain"});
    trial.keeps_all = true;
    trial.calls_in_a_row = 0;
    const TrialResult result = trials.run(trial, [](const Cost&) { return Repetitions{2, 3}; });
    EXPECT_GE(result.seconds[1].size(), 3U) << "the runs of the next round are told";
    EXPECT_LT(result.seconds[1].size(), 6U) << "whoever begins late does not count";
  });
}

TEST(Trials, WhatRanksOversleepIsPartOfTheSpread) {
  EXPECT_DOUBLE_EQ(summarize({3, 1, 2, 5, 4}, 0).spread_s, 1);
  const plan::Measurement overslept = summarize({3, 1, 2, 5, 4}, 0.5);
  EXPECT_DOUBLE_EQ(overslept.spread_s, 1.25);
  EXPECT_DOUBLE_EQ(overslept.median_s, 3);
  Trial trial = trial_with({"allreduce/chain"});
  trial.calls_in_a_row = 0;
  const Outcome outcome = trial_of(trial, 0.001, 0);
  EXPECT_GT(outcome.result.overslept_s, 0);
  EXPECT_LT(outcome.result.overslept_s, 0.05) << "of four threads not one wakes in time";
}

// On one rank the library's own collective does not do what it has to.
struct Failing final : transport::PassingNative {
  enum class How { not_at_all, wrong_result, error };
  Failing(transport::Native& below, How how) : PassingNative(below), how_(how) {}
  void run(const coll::CommonProblem& problem, std::span<const std::byte> input,
           std::span<std::byte> output) override {
    below_.run(problem, input, output);
    if (how_ == How::wrong_result) output.front() ^= std::byte{1};
    if (how_ == How::error) throw TransportError("the library failed");
  }
  How how_;
};

void expect_end_on_all_ranks(Failing::How how, const std::string& reason) {
  const auto network = std::make_shared<const net::Network>(net::synthetic_network(testing::kNetwork));
  const net::GroupView view = net::make_view(network, {0, 1, 2, 3});
  transport::Hub hub(4);
  transport::run_ranks(hub, [&](transport::LoopbackTransport& transport, transport::LoopbackNative& native) {
    Failing failing(native, transport.rank() == 2 ? how : Failing::How::not_at_all);
    Trials trials(transport, failing, view, CommonStart(failing, true, kLead_ns));
    std::string told;
    try {
      if (transport.rank() == 0)
        trials.order(trial_with({"allreduce/chain"}), [](const Cost&) { return Repetitions{2, 1}; });
      else
        trials.follow();
    } catch (const TransportError& error) {
      told = error.what();
    }
    EXPECT_NE(told.find(reason), std::string::npos) << told;
  });
}

TEST(Trials, EndOnAllRanksWhereTheLibrarysOwnResultIsWrong) {
  expect_end_on_all_ranks(Failing::How::wrong_result,
                          "the library's own allreduce of 4096 bytes gave a wrong result on rank 2");
}

TEST(Trials, EndOnAllRanksWhereTheLibraryFailsOnOne) {
  expect_end_on_all_ranks(Failing::How::error, "the library failed");
}

// What rank 0 orders the others read: the same trial, to the last bit of its numbers. What candidates are predicted to take
// counts on rank 0 alone.
TEST(Trials, AnOrderIsReadAsItWasWritten) {
  Trial trial = trial_with({"allreduce/chain segment=4096", "allreduce/subnets segment=1392 tree=-1,0,0"});
  trial.candidates.emplace_back();
  trial.problem = {
      .collective = coll::Collective::allreduce, .n_ranks = 7, .bytes = 123456, .element_bytes = 8};
  trial.keeps_all = true;
  trial.calls_in_a_row = 5;
  trial.native_least_s = 0.1 + 0.2;
  for (const bool is_checked : {false, true}) {
    trial.is_checked = is_checked;
    const Trial again = Trial::parse(trial.text());
    EXPECT_EQ(again.text(), trial.text());
    EXPECT_EQ(again.problem.collective, trial.problem.collective);
    EXPECT_EQ(again.problem.n_ranks, trial.problem.n_ranks);
    EXPECT_EQ(again.problem.bytes, trial.problem.bytes);
    EXPECT_EQ(again.problem.element_bytes, trial.problem.element_bytes);
    EXPECT_EQ(again.candidates, trial.candidates);
    EXPECT_EQ(again.keeps_all, trial.keeps_all);
    EXPECT_EQ(again.calls_in_a_row, 5);
    EXPECT_EQ(again.is_checked, is_checked);
    EXPECT_EQ(again.native_least_s, trial.native_least_s);
    EXPECT_TRUE(again.predicted_s.empty());
  }
  trial.predicted_s.assign(trial.candidates.size(), 1e-3);
  EXPECT_EQ(Trial::parse(trial.text()).predicted_s.size(), trial.candidates.size()) << "some may be spared";
}

}  // namespace
}  // namespace eco::runtime
