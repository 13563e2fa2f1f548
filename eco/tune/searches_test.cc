#include "eco/tune/searches.h"

#include <gtest/gtest.h>

#include "eco/tune/guided.h"
#include "eco/tune/testing.h"

namespace eco::tune {
namespace {

constexpr SearchOptions kThrice{.repeats = 3};

// Two forms with one minimum each; the second one's is the lowest.
const std::vector<std::vector<double>> kConvex = {{9, 7, 6, 7, 9, 13, 20, 40}, {8, 5, 3, 2, 3, 5, 9, 20}};

TEST(Linear, MeasuresEverythingAndFindsTheBest) {
  Known known(kConvex);
  const Tuned tuned = linear(known.space, known.oracle(), kThrice);
  EXPECT_EQ(tuned.best, (Choice{1, 3}));
  EXPECT_DOUBLE_EQ(tuned.best_s, 2);
  EXPECT_EQ(known.n_runs, 3U * 16U);
  EXPECT_EQ(tuned.steps.size(), 16U);
}

TEST(Mgd, GoesDownFromTheLargestSegmentAndALittleBeyondTheMinimum) {
  Known known(kConvex);
  const Tuned tuned = mgd(known.space, known.oracle(), kThrice);
  EXPECT_EQ(tuned.best, (Choice{1, 3}));
  // 9 7 6 and two beyond; 8 5 3 2 and two beyond.
  EXPECT_EQ(asked_of(tuned).size(), 5U + 6U);
  EXPECT_EQ(asked_of(tuned).back(), (Choice{1, 5}));
}

TEST(Mgd, LooksPastAFalseMinimum) {
  Known known({{10, 6, 7, 4, 5, 6, 9, 12}});
  EXPECT_EQ(mgd(known.space, known.oracle(), kThrice).best, (Choice{0, 3}));
  // Which is what the modification is for.
  EXPECT_EQ(mgd(known.space, known.oracle(), {.repeats = 3, .look_beyond = 1}).best, (Choice{0, 1}));
  // A wider one stays unseen: it is a heuristic.
  Known wide({{10, 6, 7, 8, 4, 5, 6}});
  EXPECT_EQ(mgd(wide.space, wide.oracle(), kThrice).best, (Choice{0, 1}));
}

TEST(Mgd, TakesAsManyPointsAsThePaperWhereEightKilobytesOf128AreBest) {
  // 128 KiB in 15 segment sizes, four forms whose minimum is the fifth: Table 10 has 280 iterations of 10.
  const std::vector<double> curve{9, 8, 7, 6, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  Known known({curve, curve, curve, curve});
  mgd(known.space, known.oracle(), {.repeats = 10});
  EXPECT_EQ(known.n_runs, 280U);
}

TEST(Smgd, RejectsHopelessMethodsAfterTheScan) {
  Known known({{90, 70, 50, 20, 9, 7}, {8, 5, 3, 2, 3, 5}});
  const Tuned tuned = smgd(known.space, known.oracle(), kThrice);
  EXPECT_EQ(tuned.best, (Choice{1, 3}));
  const auto asked = asked_of(tuned);
  EXPECT_EQ(std::count_if(asked.begin(), asked.end(), [](const Choice& one) { return one.form == 0; }), 2);
}

TEST(Smgd, FollowsAMethodThatIsBehindButFallsFast) {
  // The first is ahead in the scan and falls no more; the second one's gradient says that it will pass.
  Known known({{4, 3.9, 3.88, 3.87, 3.9, 4}, {12, 7, 4, 2.5, 2.6, 3}});
  const Tuned tuned = smgd(known.space, known.oracle(), kThrice);
  EXPECT_EQ(tuned.best, (Choice{1, 3}));
}

TEST(Smgd, LeavesOutWhatIsPredictedNotToBecomeTheBest) {
  Known known({{4, 3, 2.5, 2.2, 2.1, 2.3, 2.6}, {6, 5.9, 5.8, 5.8, 5.9, 6, 6}});
  const Tuned descent = mgd(known.space, known.oracle(), kThrice);
  const Tuned scanning = smgd(known.space, known.oracle(), kThrice);
  EXPECT_EQ(scanning.best, descent.best);
  EXPECT_LT(asked_of(scanning).size(), asked_of(descent).size());
  EXPECT_EQ(asked_of(scanning).size(), 2U + 7U);
}

struct Any {
  std::string name;
  std::function<Tuned(const Space&, const Oracle&)> search;
};

std::vector<Any> all_searches() {
  std::vector<Any> all;
  for (const Search& search : searches()) {
    all.push_back({std::string(search.name), [&search](const Space& space, const Oracle& oracle) {
                     return search.search(space, oracle, kThrice);
                   }});
  }
  all.push_back({"guided", [](const Space& space, const Oracle& oracle) {
                   return Guided().tune(space, oracle, {.repeats = 3});
                 }});
  return all;
}

TEST(EverySearch, StopsWhereThereIsNoTimeAndHasTheBestUntilThen) {
  for (const Any& any : all_searches()) {
    SCOPED_TRACE(any.name);
    Known known(kConvex);
    known.most_runs = 4;
    for (Form& form : known.space.forms) {
      for (Point& point : form.points) point.predicted_s = 5;  // there is much to be found out
    }
    const Tuned tuned = any.search(known.space, known.oracle());
    EXPECT_EQ(tuned.ended, "no time left");
    EXPECT_LE(known.n_runs, 4U);
    ASSERT_TRUE(tuned.best);
    for (const Choice& choice : asked_of(tuned))
      EXPECT_LE(known.seconds[tuned.best->form][tuned.best->point], known.seconds[choice.form][choice.point]);
  }
}

TEST(EverySearch, WithoutAnyTimeHasNoAnswer) {
  for (const Any& any : all_searches()) {
    SCOPED_TRACE(any.name);
    Known known(kConvex);
    known.most_runs = 0;
    const Tuned tuned = any.search(known.space, known.oracle());
    EXPECT_FALSE(tuned.best);
    EXPECT_TRUE(tuned.steps.empty());
  }
}

TEST(EverySearch, NeverChoosesWhatCannotBeRun) {
  for (const Any& any : all_searches()) {
    SCOPED_TRACE(any.name);
    Known known({{9, 7, 6, 7}, {8, 5, 0, 0}});  // the third is predicted to be good, and fails
    known.space.forms[1].points[2].predicted_s = 1;
    known.space.forms[1].points[3].predicted_s = 1;
    EXPECT_EQ(any.search(known.space, known.oracle()).best, (Choice{1, 1}));
  }
}

TEST(EverySearch, IsDeterministic) {
  for (const Any& any : all_searches()) {
    SCOPED_TRACE(any.name);
    Known one(kConvex);
    Known two(kConvex);
    one.noise = two.noise = 0.05;
    const Tuned first = any.search(one.space, one.oracle());
    const Tuned second = any.search(two.space, two.oracle());
    ASSERT_EQ(first.steps.size(), second.steps.size());
    for (std::size_t i = 0; i < first.steps.size(); ++i) {
      EXPECT_EQ(first.steps[i].asked, second.steps[i].asked);
      EXPECT_EQ(first.steps[i].best, second.steps[i].best);
    }
    EXPECT_EQ(first.best_s, second.best_s);
  }
}

TEST(EverySearch, FindsAGoodOneInNoise) {
  for (const Any& any : all_searches()) {
    SCOPED_TRACE(any.name);
    double sum = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      Known known(kConvex);
      known.noise = 0.05;
      known.dice.seed(seed);
      const Tuned tuned = any.search(known.space, known.oracle());
      ASSERT_TRUE(tuned.best);
      sum += known.seconds[tuned.best->form][tuned.best->point];
    }
    EXPECT_NEAR(sum / 20, 2, 0.02);
  }
}

}  // namespace
}  // namespace eco::tune
