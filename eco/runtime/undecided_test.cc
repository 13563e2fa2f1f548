#include "eco/runtime/undecided.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "eco/base/quantile.h"

namespace eco::runtime {
namespace {

constexpr double kGain = 0.05;

Known after_first(double first_s, bool is_native = false) {
  Known known{.is_native = is_native, .first_s = first_s};
  if (first_counts(first_s)) known.runs.push_back(first_s);
  return known;
}

Known after_runs(std::vector<double> runs, int left, bool is_native = false) {
  return {.is_native = is_native, .first_s = runs.front(), .runs = std::move(runs), .left = left};
}

std::vector<bool> again(const std::vector<Known>& known) { return undecided(known, kGain); }

using Answer = std::vector<bool>;

TEST(Undecided, OneLongRunTellsWhereNoLostPacketCouldTurnItRound) {
  EXPECT_EQ(again({after_first(3.0, true), after_first(0.6)}), (Answer{false, false}));
  EXPECT_EQ(again({after_first(0.6, true), after_first(3.0)}), (Answer{false, false}));
  EXPECT_EQ(again({after_first(1.2, true), after_first(0.6)}), (Answer{true, true}));
  EXPECT_EQ(again({after_first(0.6, true), after_first(0.61)}), (Answer{true, true}));
}

TEST(Undecided, TheLibraryTakesNoLessThanForFewerBytes) {
  std::vector<Known> known{after_first(1.1, true), after_first(0.25)};
  EXPECT_EQ(again(known), (Answer{true, true}));
  known[0].least_s = 0.5;
  EXPECT_EQ(again(known), (Answer{false, false}));
  known[0].least_s = 0.26;
  EXPECT_EQ(again(known), (Answer{true, true})) << "it may be faster, but not by what it needs to serve";
  // This library does take less.
  known[0] = after_first(0.4, true);
  known[0].least_s = 0.5;
  EXPECT_EQ(again(known), (Answer{true, true}));
}

TEST(Undecided, OneRunThatTakesWhatWasGuessedHasLostOnePacketAtMost) {
  EXPECT_NEAR(least_as_guessed_s(1.1, 1.0), 0.8 / 1.3, 1e-9);
  EXPECT_NEAR(least_as_guessed_s(1.0, 1.1), 0.8 / 1.3, 1e-9);
  EXPECT_EQ(least_as_guessed_s(1.1, 0.8), 0) << "longer than guessed";
  EXPECT_EQ(least_as_guessed_s(0.8, 1.1), 0) << "shorter";
  EXPECT_EQ(least_as_guessed_s(0.05, 0.05), 0) << "short";
  EXPECT_EQ(least_as_guessed_s(0.15, 0.15), 0) << "all of it may be a packet sent again";
  const auto known = [](double recipe_s) {
    std::vector<Known> both{after_first(1.1, true), after_first(recipe_s)};
    both[0].least_s = least_as_guessed_s(1.1, 1.0);
    return both;
  };
  EXPECT_EQ(again(known(0.25)), (Answer{false, false}));
  EXPECT_EQ(again(known(0.6)), (Answer{true, true}));
}

TEST(Undecided, TheLibraryIsNotRunAgainWhereItLosesSurelyAndTheRecipesGoOn) {
  EXPECT_EQ(again({after_first(3.0, true), after_first(0.11), after_first(0.12)}),
            (Answer{false, true, true}));
  // A short run does not count, so the row would have nothing to say of the recipe.
  EXPECT_EQ(again({after_first(3.0, true), after_first(0.1)}), (Answer{false, true}));
  // Once it was dropped the library is no matter to the others.
  std::vector<Known> known{after_first(3.0, true), after_runs({0.06, 0.06, 0.07}, 2),
                           after_runs({0.06, 0.07, 0.08}, 2)};
  known[0].is_open = false;
  EXPECT_EQ(again(known), (Answer{false, true, true}));
  known[1].left = known[2].left = 0;
  EXPECT_EQ(again(known), (Answer{false, false, false}));
}

TEST(Undecided, ARecipeThatIsMuchSlowerThanAnotherIsDroppedAtOnce) {
  EXPECT_EQ(again({after_first(0.1, true), after_first(0.1), after_first(0.14)}),
            (Answer{true, true, false}));
  // Of 20 ms and less one run says little.
  EXPECT_EQ(again({after_first(0.01, true), after_first(0.01), after_first(0.02)}),
            (Answer{true, true, true}));
}

TEST(Undecided, TwoRunsThatAgreeAreEnoughOfThree) {
  EXPECT_EQ(again({after_runs({1.0, 1.05}, 1, true), after_runs({0.8, 0.84}, 1)}), (Answer{false, false}));
  EXPECT_EQ(again({after_runs({1.0, 1.05}, 1, true), after_runs({0.8, 1.04}, 1)}), (Answer{true, true}));
  EXPECT_EQ(again({after_runs({0.80, 0.84}, 1, true), after_runs({0.79, 0.9}, 1)}), (Answer{true, true}));
  EXPECT_EQ(again({after_runs({0.80, 0.84}, 1, true), after_runs({0.82, 0.9}, 1)}), (Answer{false, false}))
      << "it may be faster, but not by what it needs to serve";
}

TEST(Undecided, OneRunOfATenthOfASecondTellsWhichRecipeToPrefer) {
  EXPECT_EQ(again({after_first(0.7, true), after_first(0.60), after_first(0.62)}),
            (Answer{true, true, false}));
  // It is that of the check only where it is longer.
  EXPECT_EQ(again({after_first(0.2, true), after_first(0.2), after_first(0.15)}),
            (Answer{true, false, true}));
  EXPECT_EQ(again({after_first(0.2, true), after_first(0.16), after_first(0.15)}),
            (Answer{true, true, true}));
  EXPECT_EQ(
      again({after_runs({0.15, 0.17}, 1, true), after_runs({0.16, 0.16}, 1), after_runs({0.15, 0.15}, 1)}),
      (Answer{true, false, true}));
  EXPECT_EQ(again({after_runs({0.09, 0.1}, 1, true), after_runs({0.09, 0.1}, 1), after_runs({0.08, 0.1}, 1)}),
            (Answer{true, true, true}));
}

TEST(Undecided, ShortRecipesThatAreEqualAsFarAsMattersAreNotHeldApart) {
  const std::vector<double> library{3e-3, 3e-3, 3e-3};
  EXPECT_EQ(again({after_runs(library, 1, true), after_runs({1e-3, 1e-3, 1e-3}, 1),
                   after_runs({1.01e-3, 1.01e-3, 1.02e-3}, 1)}),
            (Answer{false, false, false}));
  EXPECT_EQ(again({after_runs(library, 1, true), after_runs({1e-3, 1e-3, 1.2e-3}, 1),
                   after_runs({1e-3, 1e-3, 1.2e-3}, 1)}),
            (Answer{false, true, true}));
}

TEST(Undecided, EightRunsApartAreEnough) {
  const auto runs = [](double least_s, int n) {
    std::vector<double> all;
    for (int i = 0; i < n; ++i) all.push_back(least_s * (1 + 0.02 * i));
    return all;
  };
  EXPECT_EQ(again({after_runs(runs(2e-3, 8), 8, true), after_runs(runs(1e-3, 8), 8)}),
            (Answer{false, false}));
  EXPECT_EQ(again({after_runs(runs(2e-3, 7), 9, true), after_runs(runs(1e-3, 7), 9)}), (Answer{true, true}));
  // One delay, and the whole range is wide: it is for the runs that are left to say.
  std::vector<double> delayed = runs(1e-3, 8);
  delayed[3] = 0.2;
  EXPECT_EQ(again({after_runs(runs(2e-3, 8), 8, true), after_runs(delayed, 8)}), (Answer{true, true}));
  delayed = runs(1e-3, 12);
  delayed[3] = 0.2;
  EXPECT_EQ(again({after_runs(runs(2e-3, 12), 4, true), after_runs(delayed, 4)}), (Answer{false, false}));
}

TEST(Undecided, EightRunsTellWhichRecipeToPrefer) {
  const std::vector<double> library(8, 1.1e-3);
  std::vector<double> faster(8, 1e-3);
  std::vector<double> slower(8, 1.02e-3);
  faster[5] = slower[5] = 1.2e-3;
  EXPECT_EQ(again({after_runs(library, 8, true), after_runs(slower, 8), after_runs(faster, 8)}),
            (Answer{true, false, true}));
}

TEST(Undecided, WhatIsShortHasThreeRunsBehindItsRow) {
  EXPECT_EQ(again({after_runs({0.05}, 3, true), after_first(1.9)}), (Answer{true, false}));
  EXPECT_EQ(again({after_runs({0.05, 0.05, 0.05}, 1, true), after_first(1.9)}), (Answer{false, false}));
}

TEST(Undecided, WhatDidNotBeginTogetherSaysNothing) {
  EXPECT_EQ(again({after_first(3.0, true), Known{}}), (Answer{true, true}));
  EXPECT_EQ(again({Known{.is_native = true}, after_first(3.0)}), (Answer{true, true}));
}

TEST(Undecided, WithoutACandidateTheLibraryAloneRuns) {
  std::vector<Known> known{after_first(1e-3, true), after_first(1e-3)};
  known[1].is_open = false;
  EXPECT_EQ(again(known), (Answer{true, false}));
  known[0] = after_runs({1e-3, 1e-3, 1e-3}, 5, true);
  EXPECT_EQ(again(known), (Answer{false, false}));
}

TEST(Undecided, OnlyALongRunIsAsPredicted) {
  EXPECT_TRUE(is_as_predicted(1.05, 1.0));
  EXPECT_TRUE(is_as_predicted(0.5, 1.0));
  EXPECT_FALSE(is_as_predicted(1.2, 1.0));
  EXPECT_TRUE(is_as_predicted(0.1, 0.1));
  EXPECT_FALSE(is_as_predicted(0.09, 0.09)) << "its connections may have slept";
}

// Whatever the runs that are left take, the median of all lies in the range.
TEST(Undecided, TheRangeHoldsTheMedianOfAllRuns) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> seconds(0.25, 0.5);
  for (int n = 1; n < 8; ++n) {
    for (int left = 0; left < 8; ++left) {
      Known known{.first_s = 0.3, .left = left};
      for (int i = 0; i < n; ++i) known.runs.push_back(seconds(random));
      const Range range = range_of(known);
      for (int trial = 0; trial < 50; ++trial) {
        std::vector<double> all = known.runs;
        for (int i = 0; i < left; ++i) all.push_back(seconds(random));
        std::sort(all.begin(), all.end());
        const double median_s = base::quantile(all, 0.5);
        EXPECT_GE(median_s, range.least_s);
        // What one run alone says above is not certain: that later ones are not slower.
        if (left < n) {
          EXPECT_LE(median_s, range.most_s + 1e-12);
        }
      }
    }
  }
}

}  // namespace
}  // namespace eco::runtime
