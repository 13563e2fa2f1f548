#include "eco/runtime/lateness.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>
#include <vector>

#include "eco/runtime/testing_lateness.h"

namespace eco::runtime {
namespace {

TEST(Lateness, StaysStaticWhereNobodyIsLateAndAsksEverMoreRarely) {
  Ranks ranks(4);
  ranks.calls(10000, {0, 0, 0, 0});
  EXPECT_EQ(ranks.n_formed(), 0u);
  EXPECT_TRUE(ranks.told().empty());
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
  // But for looks at the recipe, of 8 calls each.
  EXPECT_GE(ranks.n_formed(), 1000u - 4 * 8);
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
  // 8 of 8 + 8, of 16 + 8, ... 256 + 8, and then of every 512 + 8.
  const std::size_t n_later = (kCalls - 504 - 6 * 8) / 520;
  EXPECT_NEAR(static_cast<double>(n_forming), static_cast<double>((6 + n_later) * 8), 8);
}

// As where those who are late are many, and each is fed by itself.
TEST(Lateness, CallsThatFollowEachOtherMoreSlowlyFormEverMoreRarely) {
  Ranks ranks(4);
  ranks.let_forming_cost(kLate_ns / 2);
  ranks.calls(8 + Lateness::kTrialPeriod, {0, 0, kLate_ns, 0});
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
    for (int call = 0; call < 8 + static_cast<int>(Lateness::kTrialPeriod); ++call) {
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
  EXPECT_GE(ranks.n_formed(), 1000u - 5 * 8);
}

TEST(Lateness, SomebodyElseEachTimeIsLateToo) {
  Ranks ranks(8);
  std::mt19937 chance(1);
  for (int call = 0; call < 2000; ++call) {
    std::vector<std::int64_t> late(8);
    for (std::int64_t& each : late) each = chance() % 8 == 0 ? kLate_ns : 0;
    ranks.call(late);
  }
  EXPECT_GT(ranks.n_formed(), 1700u);
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
  const std::size_t n_first = Lateness::kFirstPeriod + Lateness::kTrialPeriod;
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
        ranks[rank].note_in_call(rank == 1 ? odd : kOwn_ns, true);
        ranks[rank].note_other_ways(true, odd);
        if (ranks.way() == Way::form)
          ranks[rank].note_found({}, true);
        else if (ranks.way() == Way::library)
          ranks[rank].note_nothing();
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
      for (std::size_t rank = 0; rank < 3; ++rank) {
        ranks[rank].note_in_call(1, rank > 0);
        ranks[rank].note_other_ways(true, 0);
      }
      ranks[0].note_waits_anyway();
      ranks[1].note_took(others_wait ? 1000 : 1, 10);
      ranks[2].note_took(2, 10);
    }
    ranks.ask();
    EXPECT_EQ(ranks.forms(), others_wait);
  }
}

// Where what ranks send is buffered there, nobody waits for who is late.
TEST(Lateness, TheLibraryServesWhereRanksAreInItsCallsForLess) {
  Ranks ranks(4);
  const std::vector<std::int64_t> late{0, 0, kLate_ns, 0};
  ranks.library_takes(2 * kOwn_ns);
  ranks.form_takes(3 * kOwn_ns);
  ranks.calls(2000, late);
  EXPECT_EQ(ranks.n_formed(), Lateness::kTrialPeriod + 2 * Lateness::kTrialPeriod)
      << "tried, and with a leaf";
  EXPECT_GT(ranks.n_left(), 1700u);
  ranks.calls(2 * Lateness::kLongestPeriod, {0, 0, 0, 0});
  EXPECT_EQ(ranks.way(), Way::recipe) << "looked at now and then, and nobody is late";
  EXPECT_TRUE(ranks.leaves().empty());
  EXPECT_EQ(ranks.told(),
            (std::vector<std::string>{
                "a rank is in it for 38.5 ms over the recipe, 3.00 ms where it forms, 2.00 ms at the "
                "library: left to the library from now on",
                "late in too few calls: the recipe serves"}));
}

TEST(Lateness, TellsThatNothingIsBetter) {
  Ranks ranks(4);
  ranks.form_takes(kLate_ns);
  ranks.calls(100, {0, 0, kLate_ns, 0});
  EXPECT_EQ(ranks.told_first(),
            "a rank is in it for 38.5 ms over the recipe, 50.0 ms where it forms: the recipe serves");
}

TEST(Lateness, AFewCallsInWhichAllWaitDoNotDecide) {
  Ranks ranks(4);
  ranks.let_the_first_hold_all();
  for (std::size_t call = 0; call < 17; ++call) {
    std::vector<std::int64_t> late(4);
    late[1 + call % 3] = kLate_ns;
    if (call == 12) late[0] = 8 * kLate_ns;  // the form is tried
    ranks.call(late);
  }
  EXPECT_EQ(ranks.told_first(),
            "a rank is in it for 38.5 ms over the recipe, 1.00 ms where it forms: forms from now on");
}

TEST(Lateness, WhoIsLateInEveryFourthCallIsFormedAround) {
  Ranks ranks(4);
  for (std::size_t call = 0; call < 2000; ++call) ranks.call({0, 0, call % 4 == 1 ? kLate_ns : 0, 0});
  EXPECT_GT(ranks.n_formed(), 1800u);
}

TEST(Lateness, AWayThatNobodyMeasuredIsNotChosen) {
  Ranks ranks(4);
  ranks.library_takes(2 * kOwn_ns);
  ranks.form_takes(3 * kOwn_ns);
  ranks.calls(8, {0, 0, kLate_ns, 0});
  ranks.let_recipes_race(true);
  ranks.calls(100, {0, 0, kLate_ns, 0});
  EXPECT_TRUE(ranks.told().empty());
  ranks.let_recipes_race(false);
  ranks.calls(100, {0, 0, kLate_ns, 0});
  EXPECT_EQ(ranks.way(), Way::library);
}

TEST(Lateness, WhereTheRecipeWasNotMeasuredItIsOnceMore) {
  Ranks ranks(4);
  ranks.let_recipes_race(true);
  ranks.calls(8, {0, 0, kLate_ns, 0});
  ranks.let_recipes_race(false);
  ranks.calls(64, {0, 0, kLate_ns, 0});
  EXPECT_EQ(ranks.told_first(),
            "a rank is in it for 38.5 ms over the recipe, 1.00 ms where it forms: forms from now on");
}

// Below a leaf it waited; then not.
TEST(Lateness, AFormIsTriedAgainWithoutALeafThatWasNone) {
  Ranks ranks(8);
  const std::vector<std::int64_t> late{0, 0, 0, kLate_ns, kLate_ns, 0, 0, 0};
  ranks.library_takes(10 * kOwn_ns);
  ranks.wait_as_leaves({4});
  for (int call = 0; call < 60; ++call) {
    ranks.ask();
    ranks.form_takes(ranks.leaves() == std::vector{3, 4} ? 20 * kOwn_ns : kOwn_ns);
    ranks.call(late);
  }
  EXPECT_TRUE(ranks.forms());
}

TEST(Lateness, TheLibraryIsTriedWhereNothingCanForm) {
  Ranks ranks(4);
  ranks.never_form();
  ranks.library_takes(2 * kOwn_ns);
  ranks.calls(1000, {0, 0, kLate_ns, 0});
  EXPECT_EQ(ranks.n_formed(), 0u);
  EXPECT_GT(ranks.n_left(), 800u);
}

TEST(Lateness, TheLibraryIsNotTriedWhereItsOwnCallsTakeAsLong) {
  Ranks ranks(4);
  ranks.library_takes(kOwn_ns, 3 * kLate_ns);
  ranks.never_form();
  ranks.calls(1000, {0, 0, kLate_ns, 0});
  EXPECT_EQ(ranks.n_left(), 0u);
}

TEST(Lateness, WhatGainsNothingIsTriedEverMoreRarely) {
  Ranks ranks(4);
  ranks.form_takes(kLate_ns);
  ranks.library_takes(kLate_ns);
  ranks.calls(10000, {0, 0, kLate_ns, 0});
  EXPECT_GT(ranks.n_formed(), 0u);
  // Of 8, 64, 512, 512, ... calls.
  constexpr std::size_t kTimes = 2 + 10000 / Lateness::kLongestPeriod;
  EXPECT_LE(ranks.n_formed(), kTimes * 3 * Lateness::kTrialPeriod);
  EXPECT_LE(ranks.n_left(), kTimes * Lateness::kTrialPeriod);
  EXPECT_TRUE(ranks.leaves().empty());
}

// Whatever else is called in between.
TEST(Lateness, LeavesAreAskedNowAndThen) {
  const std::vector<std::int64_t> late{0, 0, kLate_ns, 0};
  Ranks alone(4);
  alone.calls(1000, late);
  EXPECT_EQ(alone.leaves(), std::vector{2});
  EXPECT_EQ(alone.most_trusting(), Lateness::kTrusting - 1);
  for (const int n_others : {1, 2, 3}) {
    Ranks ranks(4);
    for (int call = 0; call < 2000; ++call) {
      for (int i = 0; i < n_others; ++i) ranks.other_call();
      ranks.call(late);
    }
    EXPECT_EQ(ranks.leaves(), std::vector{2}) << n_others;
    EXPECT_GT(ranks.n_formed(), 1500u) << n_others;
    EXPECT_EQ(ranks.most_trusting(), Lateness::kTrusting - 1) << n_others;
  }
}

TEST(Lateness, TheRecipeServesAgainWhereItWouldTakeLessByNow) {
  Ranks ranks(4);
  ranks.form_takes(kLate_ns / 2);
  ranks.calls(1000, {0, 0, kLate_ns, 0});
  EXPECT_TRUE(ranks.forms());
  // Still late, by less than a form takes.
  ranks.calls(3 * Lateness::kLongestPeriod, {0, 0, kLate_ns / 8, 0});
  EXPECT_LT(ranks.n_formed(), 1000u + 2 * Lateness::kLongestPeriod);
  EXPECT_EQ(ranks.way(), Way::recipe);
}

TEST(Lateness, WhoIsLateSteadilyOnlyLaterIsALeafToo) {
  Ranks ranks(8);
  ranks.calls(200, {0, 0, kLate_ns, 0, 0, 0, 0, 0});
  EXPECT_EQ(ranks.leaves(), std::vector{2});
  ranks.calls(1500, {0, 0, kLate_ns, 0, 0, kLate_ns, 0, 0});
  EXPECT_EQ(ranks.leaves(), (std::vector{2, 5}));
  ranks.calls(1500, {0, 0, 0, 0, 0, kLate_ns, 0, 0});
  EXPECT_EQ(ranks.leaves(), std::vector{5}) << "2 is on time";
}

TEST(Lateness, WhoWasMissedInTheTrialIsALeafSoonAfterIt) {
  Ranks ranks(8);
  ranks.calls(20, {0, 0, kLate_ns, 0, 0, 0, 0, 0});
  ranks.calls(20, {0, 0, kLate_ns, 0, 0, kLate_ns, 0, 0});
  EXPECT_EQ(ranks.leaves(), (std::vector{2, 5})) << "though four of five calls trust, and say nothing of it";
}

// Nobody else hears that it is there: its parent, a leaf, has not come.
TEST(Lateness, WhoIsOnTimeBelowALeafIsOneNoMore) {
  Ranks ranks(8);
  const std::vector<std::int64_t> late{0, 0, 0, kLate_ns, kLate_ns, 0, 0, 0};
  ranks.calls(17, late);
  EXPECT_EQ(ranks.leaves(), (std::vector{3, 4}));
  ranks.wait_as_leaves({4});
  for (int period = 0; period < 6; ++period) {
    ranks.calls(16, late);
    EXPECT_EQ(ranks.leaves(), std::vector{3}) << "nor is it again, though it is found late";
  }
}

// Of four, rank 2.
const std::vector<std::int64_t> kThirdIsLate{0, 0, kLate_ns, 0};

// To whom a form has been best for so many calls, and the library second.
Ranks ranks_that_formed(std::size_t n_calls) {
  Ranks ranks(4);
  ranks.form_takes(2 * kOwn_ns);
  ranks.library_takes(3 * kOwn_ns);
  ranks.calls(n_calls, kThirdIsLate);
  EXPECT_TRUE(ranks.forms());
  return ranks;
}

// It was the second best, of short calls; of those that are made now it would be by far the worst.
TEST(Lateness, WhatIsNotPossibleAnyMoreIsNotChosen) {
  Ranks ranks = ranks_that_formed(300);
  const std::size_t n_left = ranks.n_left();
  ranks.form_takes(kLate_ns);
  ranks.library_takes(100 * kLate_ns, 100 * kLate_ns);
  ranks.calls(3000, kThirdIsLate);
  EXPECT_EQ(ranks.n_left(), n_left);
}

// In its trials it seems to be good.
TEST(Lateness, AWayThatDoesNotKeepWhatItPromisedIsTriedEverMoreRarely) {
  Ranks ranks(4);
  ranks.never_form();
  const std::vector<std::int64_t> late{0, 0, kLate_ns, 0};
  std::size_t n_in_a_row = 0;
  for (int call = 0; call < 10000; ++call) {
    ranks.ask();
    n_in_a_row = ranks.way() == Way::library ? n_in_a_row + 1 : 0;
    ranks.library_takes(n_in_a_row <= Lateness::kTrialPeriod ? kOwn_ns : 10 * kLate_ns);
    ranks.call(late);
  }
  EXPECT_GT(ranks.n_left(), 0u);
  EXPECT_LT(ranks.n_left(), 10000u / 15);
}

TEST(Lateness, BegunAnewItKnowsNothing) {
  Ranks ranks(4);
  const std::vector<std::int64_t> late{0, 0, kLate_ns, 0};
  ranks.calls(300, late);
  EXPECT_TRUE(ranks.forms());
  for (std::size_t rank = 0; rank < 4; ++rank) ranks[rank].begin_anew();
  EXPECT_EQ(ranks.way(), Way::recipe);
  EXPECT_TRUE(ranks.leaves().empty());
  ranks.calls(8, late);
  EXPECT_EQ(ranks.way(), Way::recipe);
  ranks.calls(1, late);
  EXPECT_TRUE(ranks.forms());
}

TEST(Lateness, TheWayThatBecomesWorseIsLeft) {
  Ranks ranks = ranks_that_formed(500);
  ranks.form_takes(4 * kOwn_ns);
  ranks.calls(3 * Lateness::kLongestPeriod, kThirdIsLate);
  EXPECT_EQ(ranks.way(), Way::library);
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
