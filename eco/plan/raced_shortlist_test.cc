#include "eco/plan/raced_shortlist.h"

#include <gtest/gtest.h>

#include <set>

#include "eco/plan/planner.h"
#include "eco/plan/proving.h"
#include "eco/plan/ranking.h"
#include "eco/plan/shortlist.h"
#include "eco/plan/testing.h"

namespace eco::plan {
namespace {

using coll::Collective;

// Recipes take as long as predicted, but for one algorithm that takes longer.
struct Ranks {
  const std::vector<Candidate>& ranked;
  std::string slow;
  double times = 2;
  int n_questions = 0;
  int most_questions = 1000;
  std::set<std::string> ran{};

  double truth(const algo::Recipe& recipe) const {
    for (const Candidate& one : ranked) {
      if (one.recipe == recipe) return one.forecast.seconds * (recipe.algorithm == slow ? times : 1);
    }
    return 0;
  }
  Race race() {
    return {.oracle_of = [this](const coll::CommonProblem&,
                                const std::vector<std::vector<algo::Recipe>>& recipes) -> tune::Oracle {
      return [this, &recipes](std::span<const tune::Choice> choices,
                              int n) -> std::optional<std::vector<tune::Runs>> {
        if (++n_questions > most_questions) return std::nullopt;
        std::vector<tune::Runs> all;
        for (const tune::Choice& choice : choices) {
          const algo::Recipe& recipe = recipes[choice.form][choice.point];
          ran.insert(recipe.text());
          all.emplace_back(static_cast<std::size_t>(n), truth(recipe));
        }
        return all;
      };
    }};
  }
};

struct Scatter {
  net::GroupView view = view_of(kThreeSubnets);
  coll::CommonProblem problem = problem_of(Collective::scatter, 1 << 17, view);
  std::vector<Candidate> ranked = rank_candidates(problem, view, {}, true);
};

TEST(RacedShortlist, MeasuresEverythingWhereThatIsAskedFor) {
  const Scatter scatter;
  const std::vector<Candidate> all = rank_candidates(scatter.problem, scatter.view);
  std::set<std::string> able;
  for (const Candidate& one : all) {
    if (one.why_not.empty() && !prove(one.recipe, scatter.problem, scatter.view))
      able.insert(one.recipe.text());
  }
  Ranks ranks{all, ""};
  Race race = ranks.race();
  race.measures_all = true;
  tune::Guided guided;
  ASSERT_FALSE(raced_shortlist(all, 3, scatter.problem, scatter.view, race, guided).empty());
  EXPECT_EQ(ranks.ran, able);
}

TEST(RacedShortlist, LeavesAloneWhatTakesTooLong) {
  const Scatter scatter;
  Ranks ranks{scatter.ranked, ""};
  Race race = ranks.race();
  race.longest_s = scatter.ranked.front().forecast.seconds / 2;
  tune::Guided guided;
  EXPECT_TRUE(raced_shortlist(scatter.ranked, 3, scatter.problem, scatter.view, race, guided).empty());
  EXPECT_TRUE(ranks.ran.empty());
}

TEST(RacedShortlist, HasWhatWasMeasuredToBeFastestFirst) {
  const Scatter scatter;
  const std::string favourite = scatter.ranked.front().recipe.algorithm;
  Ranks ranks{scatter.ranked, favourite};
  tune::Guided guided;
  const auto best = raced_shortlist(scatter.ranked, 3, scatter.problem, scatter.view, ranks.race(), guided);
  ASSERT_EQ(best.size(), 3U);
  EXPECT_NE(best[0]->recipe.algorithm, favourite);
  double fastest = std::numeric_limits<double>::infinity();
  for (const Candidate& one : scatter.ranked) {
    if (one.why_not.empty() && !one.forecast.given_up) fastest = std::min(fastest, ranks.truth(one.recipe));
  }
  EXPECT_LE(ranks.truth(best[0]->recipe), 1.02 * fastest);
  EXPECT_LE(ranks.truth(best[0]->recipe), ranks.truth(best[1]->recipe));
  EXPECT_LE(ranks.truth(best[1]->recipe), ranks.truth(best[2]->recipe));
}

TEST(RacedShortlist, RunsOnlyWhatIsProvedAndNotGivenUp) {
  const Scatter scatter;
  Ranks ranks{scatter.ranked, ""};
  tune::Guided guided;
  raced_shortlist(scatter.ranked, 3, scatter.problem, scatter.view, ranks.race(), guided);
  ASSERT_FALSE(ranks.ran.empty());
  for (const std::string& text : ranks.ran) {
    EXPECT_EQ(prove(algo::parse_recipe(text), scatter.problem, scatter.view), std::nullopt) << text;
  }
}

TEST(RacedShortlist, IsEmptyWhereThereIsNoTime) {
  const Scatter scatter;
  Ranks ranks{.ranked = scatter.ranked, .slow = "", .most_questions = 0};
  tune::Guided guided;
  EXPECT_TRUE(
      raced_shortlist(scatter.ranked, 3, scatter.problem, scatter.view, ranks.race(), guided).empty());
}

TEST(RacedShortlist, ThePlannerHoldsItsBestAgainstTheNativeCollective) {
  const Scatter scatter;
  Ranks ranks{scatter.ranked, scatter.ranked.front().recipe.algorithm};
  std::vector<std::string> held;
  const Measure measure = [&](const coll::CommonProblem&, const std::vector<const algo::Recipe*>& candidates,
                              const Beforehand&) {
    std::vector<std::optional<Measurement>> all{Measurement{1.0, 0.0}};
    for (std::size_t i = 1; i < candidates.size(); ++i) {
      held.push_back(candidates[i]->text());
      all.push_back(Measurement{ranks.truth(*candidates[i]), 0.0});
    }
    return all;
  };
  PlannerOptions options;
  options.sizes = {1 << 17};
  options.shortlist = 2;
  options.forecast = {};
  options.race = ranks.race();
  const PlanTable table = make_plan(scatter.view, {Collective::scatter}, options, measure);
  ASSERT_GE(held.size(), 2U);
  const algo::Recipe* winner = table.lookup(Collective::scatter, 0, 1 << 17);
  ASSERT_NE(winner, nullptr);
  EXPECT_NE(winner->algorithm, ranks.slow);
  EXPECT_TRUE(ranks.ran.contains(held[0]));
}

// Races of short calls are won by chance, so those predicted best are measured with the winners; of long ones they are not.
TEST(RacedShortlist, OfShortCallsIsHeldAgainstWhatIsPredictedBest) {
  const net::GroupView view = view_of(kThreeSubnets);
  for (const bool is_short : {true, false}) {
    const coll::CommonProblem problem = problem_of(Collective::scatter, is_short ? 8 : 1 << 20, view);
    const std::vector<Candidate> ranked = rank_candidates(problem, view, {}, true);
    ASSERT_EQ(ranked.front().forecast.seconds < kShort_s, is_short);
    const algo::Recipe best = shortlist(ranked, 1, problem, view).front()->recipe;
    Ranks ranks{ranked, best.algorithm, 10};
    PlannerOptions options;
    options.sizes = {problem.bytes};
    options.race = ranks.race();
    std::set<std::string> measured;
    const Measure measure = [&](const coll::CommonProblem&, const auto& candidates, const auto&) {
      for (const algo::Recipe* one : candidates) {
        if (one != nullptr) measured.insert(one->text());
      }
      return std::vector<std::optional<Measurement>>(candidates.size(), Measurement{0.1, 0});
    };
    make_plan(view, {Collective::scatter}, options, measure);
    EXPECT_TRUE(ranks.ran.contains(best.text()));
    EXPECT_EQ(measured.contains(best.text()), is_short) << best.text();
  }
}

}  // namespace
}  // namespace eco::plan
