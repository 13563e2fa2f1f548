#include "eco/tune/guided.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "eco/tune/testing.h"

namespace eco::tune {
namespace {

// Six forms of eight segments; the best is in the third.
std::vector<std::vector<double>> six_forms() {
  std::vector<std::vector<double>> seconds;
  for (const double scale : {1.6, 1.3, 1.0, 1.4, 1.8, 2.5}) {
    seconds.emplace_back();
    for (const double form : {4.0, 2.5, 1.6, 1.2, 1.0, 1.1, 1.5, 3.0}) seconds.back().push_back(scale * form);
  }
  return seconds;
}

TEST(Guided, TakesFewMeasurementsWherePredictionsAreRight) {
  Known known(six_forms());
  const Tuned tuned = Guided().tune(known.space, known.oracle(), {.repeats = 3});
  EXPECT_EQ(tuned.best, (Choice{2, 4}));
  EXPECT_LE(asked_of(tuned).size(), 8U) << "of 48";
  EXPECT_LT(tuned.expected_regret, GuidedOptions().least_gain);
  EXPECT_EQ(tuned.ended, "no more gain is expected");
}

TEST(Guided, RefutesAPredictionByMeasuring) {
  // The fourth form is predicted to be the fastest by a fifth, and is the slowest but one.
  Known known(six_forms());
  for (Point& point : known.space.forms[3].points) point.predicted_s *= 0.57;
  const Tuned tuned = Guided().tune(known.space, known.oracle(), {.repeats = 3});
  EXPECT_EQ(tuned.best, (Choice{2, 4}));
  EXPECT_LE(asked_of(tuned).size(), 16U) << "of 48";
}

TEST(Guided, DropsFromARaceWhoHasLost) {
  Known known({{1.0}, {1.0}});
  known.seconds[1][0] = 2.0;  // predicted to be equal
  const Tuned tuned = Guided().tune(known.space, known.oracle(), {.repeats = 5});
  EXPECT_EQ(runs_of(tuned, {1, 0}), 1U);
  EXPECT_EQ(runs_of(tuned, {0, 0}), 5U);
}

TEST(Guided, RunsAHeatInTurn) {
  Known known({{1.0}, {1.01}, {1.02}});
  known.noise = 0.05;
  const Tuned tuned = Guided().tune(known.space, known.oracle(), {.repeats = 4});
  ASSERT_GE(tuned.steps.size(), 4U);
  EXPECT_EQ(tuned.steps[0].runs, 1);
  EXPECT_NE(tuned.steps[0].asked, tuned.steps[1].asked);
  for (std::size_t m = 0; m < 3; ++m) EXPECT_LE(runs_of(tuned, {m, 0}), 4U);
}

TEST(Guided, KnowsAtTheNextSizeWhatItHasLearned) {
  // One form always takes half as long again as predicted.
  const auto known_of = [](std::size_t bytes) {
    Known known(six_forms());
    for (Point& point : known.space.forms[1].points) point.predicted_s /= 1.5;
    known.space.bytes = bytes;
    return known;
  };
  Known first = known_of(std::size_t{1} << 20);
  Known second = known_of(std::size_t{1} << 19);
  Guided guided;
  const Tuned before = guided.tune(first.space, first.oracle(), {.repeats = 3});
  const Tuned after = guided.tune(second.space, second.oracle(), {.repeats = 3});
  EXPECT_EQ(before.best, (Choice{2, 4}));
  EXPECT_EQ(after.best, (Choice{2, 4}));
  EXPECT_EQ(before.steps.front().asked.form, 1U);
  EXPECT_EQ(after.steps.front().asked.form, 2U);
  const auto of_the_slow = [](const Tuned& tuned) {
    return std::count_if(tuned.steps.begin(), tuned.steps.end(),
                         [](const Step& one) { return one.asked.form == 1; });
  };
  EXPECT_LT(of_the_slow(after), of_the_slow(before));
}

TEST(Guided, MeasuresMoreForALowerRegret) {
  Known rough(six_forms());
  Known fine(six_forms());
  rough.noise = fine.noise = 0.03;
  Guided().tune(rough.space, rough.oracle(), {.repeats = 3, .least_gain = 0.05});
  Guided().tune(fine.space, fine.oracle(), {.repeats = 3, .least_gain = 0.0005});
  EXPECT_LT(rough.n_runs, fine.n_runs);
}

TEST(Guided, OfNothingChoosesNothing) {
  const Tuned tuned = Guided().tune({}, [](auto, int) { return std::nullopt; }, {});
  EXPECT_FALSE(tuned.best);
}

Feature feature(std::size_t algorithm, std::size_t form, double segment, std::size_t problem = 0,
                double bytes = 20) {
  return {algorithm, form, bytes, segment, problem};
}

TEST(Residuals, AreSharedTheMoreTheMoreIsAlike) {
  Residuals residuals;
  residuals.add(feature(0, 0, 12), std::log(1.5), 1e-4);
  residuals.fit();
  const double itself = residuals.belief(feature(0, 0, 12)).mean;
  const double same_form = residuals.belief(feature(0, 0, 15)).mean;
  const double same_algorithm = residuals.belief(feature(0, 1, 15)).mean;
  const double same_problem = residuals.belief(feature(1, 2, 15)).mean;
  const double elsewhere = residuals.belief(feature(1, 2, 15, 1, 8)).mean;
  EXPECT_NEAR(itself, std::log(1.5), 0.01);
  EXPECT_GT(itself, same_form);
  EXPECT_GT(same_form, same_algorithm);
  EXPECT_GT(same_algorithm, same_problem);
  EXPECT_GT(same_problem, elsewhere);
  EXPECT_GT(elsewhere, 0);
}

TEST(Residuals, AreSurerWithMoreMeasurements) {
  Residuals residuals;
  residuals.fit();
  const double unknown = residuals.belief(feature(0, 0, 12)).variance;
  residuals.add(feature(0, 0, 12), 0.1, 0.01);
  residuals.fit();
  const double once = residuals.belief(feature(0, 0, 12)).variance;
  residuals.add(feature(0, 0, 12), 0.1, 0.01);
  residuals.fit();
  EXPECT_LT(once, unknown);
  EXPECT_LT(residuals.belief(feature(0, 0, 12)).variance, once);
}

TEST(Residuals, ForgetTheOldest) {
  Residuals residuals;
  residuals.add(feature(7, 7, 3, 7), 1.0, 1e-4);
  for (std::size_t i = 0; i < Residuals::kMost; ++i) residuals.add(feature(0, i, 12), 0, 1e-2);
  residuals.fit();
  EXPECT_LT(residuals.belief(feature(7, 7, 3, 7)).mean, 0.1);
}

TEST(Residuals, CovarianceOfAPointWithItselfIsItsVariance) {
  Residuals residuals;
  residuals.add(feature(0, 0, 12), 0.2, 0.01);
  residuals.add(feature(0, 1, 10), 0.1, 0.01);
  residuals.fit();
  const Feature one = feature(0, 0, 10);
  const Belief belief = residuals.belief(one);
  EXPECT_NEAR(residuals.covariance(one, belief, one, belief), belief.variance, 1e-12);
}

}  // namespace
}  // namespace eco::tune
