#include "eco/runtime/lateness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <random>

namespace eco::runtime {
namespace {

constexpr std::int64_t kOwn_ns = 1'000'000;
constexpr std::int64_t kLate_ns = 50'000'000;

// All ranks of a group, as they would agree.
class Ranks {
 public:
  explicit Ranks(std::size_t n) : of_(n, Lateness(static_cast<int>(n))) {}

  // One call: how late each rank is. Before it they agree, if it is time.
  void call(const std::vector<std::int64_t>& late_ns) {
    ask();
    ++n_calls_;
    if (of_[0].forms()) ++n_formed_;
    const std::int64_t last_ns = *std::max_element(late_ns.begin(), late_ns.end());
    // Each reads a clock of its own, and the last rank alone what forming costs.
    clock_ns_ += last_ns + kOwn_ns;
    if (of_[0].forms()) forming_cost_ns_ += forming_costs_ns_;
    for (std::size_t rank = 0; rank < of_.size(); ++rank) {
      const bool is_last = rank + 1 == of_.size();
      of_[rank].note_begin(clock_ns_ + static_cast<std::int64_t>(rank) * kLate_ns +
                           (is_last ? forming_cost_ns_ : 0));
    }
    for (std::size_t rank = 0; rank < of_.size(); ++rank) {
      if (!of_[rank].forms()) {
        of_[rank].note_took(last_ns - late_ns[rank] + kOwn_ns, 2 * kOwn_ns);
        continue;
      }
      // Each sees the one after it.
      const std::size_t next = (rank + 1) % of_.size();
      const int seen = static_cast<int>(next);
      if (late_ns[next] > kOwn_ns)
        of_[rank].note_found({&seen, 1});
      else
        of_[rank].note_found({});
    }
  }
  void calls(std::size_t n, const std::vector<std::int64_t>& late_ns) {
    for (std::size_t i = 0; i < n; ++i) call(late_ns);
  }
  void ask() {
    for (const Lateness& each : of_) ASSERT_EQ(each.is_due(), of_[0].is_due());
    if (!of_[0].is_due()) return;
    ++n_questions_;
    std::vector<std::int64_t> least;
    for (Lateness& each : of_) {
      const std::span<const std::int64_t> mine = each.question();
      n_words_ = mine.size();
      if (least.empty()) least.assign(mine.begin(), mine.end());
      ASSERT_EQ(least.size(), mine.size());
      for (std::size_t i = 0; i < least.size(); ++i) least[i] = std::min(least[i], mine[i]);
    }
    bool changed = false;
    for (std::size_t rank = 0; rank < of_.size(); ++rank) {
      std::ranges::copy(least, of_[rank].question().begin());
      const bool changes = of_[rank].conclude();
      if (rank == 0) changed = changes;
      ASSERT_EQ(changes, changed);
      ASSERT_EQ(of_[rank].forms(), of_[0].forms());
      ASSERT_TRUE(std::ranges::equal(of_[rank].leaves(), of_[0].leaves()));
    }
  }
  // From now on after a call that forms the last rank begins the next so much later than after a static one.
  void let_forming_cost(std::int64_t ns) { forming_costs_ns_ = ns; }
  void pass(std::int64_t ns) { clock_ns_ += ns; }
  Lateness& operator[](std::size_t rank) { return of_[rank]; }
  bool forms() const { return of_[0].forms(); }
  std::vector<int> leaves() const { return {of_[0].leaves().begin(), of_[0].leaves().end()}; }
  std::size_t n_questions() const { return n_questions_; }
  std::size_t n_words() const { return n_words_; }
  std::size_t n_formed() const { return n_formed_; }

 private:
  std::vector<Lateness> of_;
  std::int64_t clock_ns_ = 0;
  std::int64_t forming_costs_ns_ = 0;  // each call
  std::int64_t forming_cost_ns_ = 0;   // so far
  std::size_t n_calls_ = 0;
  std::size_t n_questions_ = 0;
  std::size_t n_words_ = 0;
  std::size_t n_formed_ = 0;
};

TEST(Lateness, StaysStaticWhereNobodyIsLateAndAsksEverMoreRarely) {
  Ranks ranks(4);
  ranks.calls(10000, {0, 0, 0, 0});
  EXPECT_EQ(ranks.n_formed(), 0u);
  // After 8, 24, 56, ... 504, 1016, then every 512.
  EXPECT_EQ(ranks.n_questions(), 6u + 1 + (10000 - 1017) / 512);
  EXPECT_LE(ranks.n_words() * sizeof(std::int64_t), 392u);
}

TEST(Lateness, FormsFromTheFirstQuestionWhereSomebodyIsLateAndUntilNobodyIs) {
  Ranks ranks(4);
  ranks.calls(8, {0, 0, kLate_ns, 0});
  EXPECT_FALSE(ranks.forms());
  ranks.calls(1000, {0, 0, kLate_ns, 0});
  EXPECT_TRUE(ranks.forms());
  EXPECT_EQ(ranks.n_formed(), 1000u);
  ranks.calls(2 * Lateness::kLongestPeriod, {0, 0, 0, 0});
  EXPECT_FALSE(ranks.forms());
}

TEST(Lateness, ARankThatIsLateForShorterThanTheCallTakesIsWaitedFor) {
  Ranks ranks(4);
  ranks.calls(1000, {0, 0, 2 * kOwn_ns, 0});
  EXPECT_EQ(ranks.n_formed(), 0u);
  ranks.calls(2 * Lateness::kLongestPeriod, {0, 0, 3 * kOwn_ns + 1, 0});
  EXPECT_TRUE(ranks.forms());
}

// A static call's times may differ for other reasons, as where its root is late: then nobody is found late.
TEST(Lateness, AWrongGuessIsTakenBackAndMadeTwiceAsRarelyEachTime) {
  Ranks ranks(4);
  std::size_t n_forming = 0;
  constexpr std::size_t kCalls = 10000;
  for (std::size_t call = 0; call < kCalls; ++call) {
    ranks.ask();
    n_forming += ranks.forms() ? 1 : 0;
    if (ranks.forms())
      ranks.call({0, 0, 0, 0});
    else
      ranks.call({kLate_ns, 0, 0, 0});
  }
  // 16 of 8 + 16, of 16 + 16, ... 256 + 16, and then of every 512 + 16.
  const std::size_t n_later = (kCalls - 504 - 6 * 16) / 528;
  EXPECT_NEAR(static_cast<double>(n_forming), static_cast<double>((6 + n_later) * 16), 16);
}

// As where those who are late are many, and each is fed by itself.
TEST(Lateness, CallsThatFollowEachOtherMoreSlowlyFormEverMoreRarely) {
  Ranks ranks(4);
  ranks.let_forming_cost(kLate_ns / 2);
  ranks.calls(8 + Lateness::kFirstFormingPeriod, {0, 0, kLate_ns, 0});
  EXPECT_TRUE(ranks.forms());
  ranks.ask();
  EXPECT_FALSE(ranks.forms());
  ranks.calls(10000, {0, 0, kLate_ns, 0});
  EXPECT_LT(ranks.n_formed(), 350u);
  EXPECT_TRUE(ranks.leaves().empty());
}

TEST(Lateness, WhatECODoesBetweenCallsIsNoneOfTheProgramsTime) {
  const auto goes_on = [](bool forgets) {
    Ranks ranks(4);
    ranks.let_forming_cost(kLate_ns / 2);
    for (int call = 0; call < 8 + static_cast<int>(Lateness::kFirstFormingPeriod); ++call) {
      if (call < 8 && call % 2 == 1) {  // all plan
        ranks.pass(20 * kLate_ns);
        for (std::size_t rank = 0; forgets && rank < 4; ++rank) ranks[rank].forget_begin();
      }
      ranks.call({0, 0, kLate_ns, 0});
    }
    ranks.ask();
    return ranks.forms();
  };
  EXPECT_TRUE(goes_on(false));
  EXPECT_FALSE(goes_on(true));
}

TEST(Lateness, CallsThatFollowEachOtherALittleMoreSlowlyGoOnForming) {
  Ranks ranks(4);
  ranks.let_forming_cost(kLate_ns / 5);
  ranks.calls(1000, {0, 0, kLate_ns, 0});
  EXPECT_EQ(ranks.n_formed(), 1000u - 8);
}

TEST(Lateness, SomebodyElseEachTimeIsLateToo) {
  Ranks ranks(8);
  std::mt19937 chance(1);
  for (int call = 0; call < 2000; ++call) {
    std::vector<std::int64_t> late(8);
    for (std::int64_t& each : late) each = chance() % 8 == 0 ? kLate_ns : 0;
    ranks.call(late);
  }
  EXPECT_GT(ranks.n_formed(), 1900u);
  EXPECT_TRUE(ranks.leaves().empty());
}

TEST(Lateness, NowAndThenIsNotEnough) {
  Ranks ranks(8);
  for (int call = 0; call < 5000; ++call) ranks.call({0, 0, 0, call % 20 == 3 ? kLate_ns : 0, 0, 0, 0, 0});
  EXPECT_EQ(ranks.n_formed(), 0u);
}

TEST(Lateness, WhoIsLateSteadilyIsALeafAtLast) {
  Ranks ranks(8);
  std::mt19937 chance(1);
  for (int call = 0; call < 400; ++call) {
    std::vector<std::int64_t> late(8);
    late[2] = late[5] = kLate_ns;
    late[7] = chance() % 8 == 0 ? kLate_ns : 0;
    ranks.call(late);
  }
  EXPECT_EQ(ranks.leaves(), (std::vector{2, 5}));
  EXPECT_TRUE(ranks.forms()) << "leaves that are late are late all the same";
  ranks.calls(1000, std::vector<std::int64_t>(8));
  EXPECT_TRUE(ranks.leaves().empty()) << "static trees are those of the plan";
}

// Here every second: all are known by the first question of a period that formed.
TEST(Lateness, AllWhoAreLateSteadilyAreLeavesAtOnce) {
  Ranks ranks(8);
  const std::size_t n_first = Lateness::kFirstPeriod + Lateness::kFirstFormingPeriod;
  ranks.calls(n_first, {0, kLate_ns, 0, kLate_ns, 0, kLate_ns, 0, kLate_ns});
  EXPECT_TRUE(ranks.leaves().empty());
  ranks.ask();
  EXPECT_EQ(ranks.leaves(), (std::vector{1, 3, 5, 7}));
}

TEST(Lateness, NoMoreThanSoManyAreLeaves) {
  Ranks ranks(40);
  std::vector<std::int64_t> late(40, kLate_ns);
  late[0] = 0;
  ranks.calls(40000, late);
  EXPECT_EQ(ranks.leaves().size(), Lateness::kMostLeaves);
}

TEST(Lateness, AClockThatSaysAnythingDecidesForAllAlike) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t odd : {-kMost - 1, std::int64_t{-5}, std::int64_t{0}, kMost}) {
    Ranks ranks(3);
    for (int call = 0; call < 200; ++call) {
      ranks.ask();
      for (std::size_t rank = 0; rank < 3; ++rank) {
        ranks[rank].note_begin(rank == 1 && call % 2 == 0 ? odd : call * kOwn_ns);
        if (ranks[rank].forms())
          ranks[rank].note_found({});
        else
          ranks[rank].note_took(rank == 1 ? odd : kOwn_ns, rank == 1 ? odd : 2 * kOwn_ns);
      }
    }
    EXPECT_GT(ranks.n_questions(), 3u);
  }
}

// The root of a gather waits for the late one; if nobody else does, nothing is to be gained.
TEST(Lateness, WhoWaitsAnywayDoesNotCount) {
  for (const bool others_wait : {false, true}) {
    Ranks ranks(3);
    while (!ranks[0].is_due()) {
      ranks[0].note_waits_anyway();
      ranks[1].note_took(others_wait ? 1000 : 1, 10);
      ranks[2].note_took(2, 10);
    }
    ranks.ask();
    EXPECT_EQ(ranks.forms(), others_wait);
  }
}

TEST(Lateness, WhatACallTakesNeedNotBeKnown) {
  Ranks ranks(3);
  while (!ranks[0].is_due()) {
    // Then each says what it was in the call for, and the least counts: 1, and not more than 3.
    ranks[0].note_took(1, 1);
    ranks[1].note_took(2, 2);
    ranks[2].note_took(2, 2);
  }
  ranks.ask();
  EXPECT_FALSE(ranks.forms());
}

}  // namespace
}  // namespace eco::runtime
