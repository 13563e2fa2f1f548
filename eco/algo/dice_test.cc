#include "eco/algo/dice.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "eco/algo/proving.h"

namespace eco::algo {
namespace {

TEST(Dice, ReachMostAlgorithmsAndManyOfTheirParameters) {
  const net::GroupView view = dealt_view("hosts=2+2 uplink_mbit=100", 4);
  std::mt19937_64 dice(7);
  for (const coll::Collective collective : coll::all_collectives()) {
    coll::CommonProblem problem{.collective = collective, .n_ranks = 4};
    problem.bytes = collective == coll::Collective::barrier ? 0 : coll::whole_bytes(problem, 4096);
    std::set<std::string> able, thrown, texts;
    for (const Algorithm& each : registry()) {
      if (each.collective == coll::algorithms_of(collective) && !each.why_not(problem, view))
        able.insert(each.name);
    }
    int n_served = 0;
    for (int i = 0; i < 400; ++i) {
      const Recipe recipe = throw_recipe(problem, view, dice);
      thrown.insert(recipe.algorithm);
      texts.insert(recipe.text());
      EXPECT_EQ(parse_recipe(recipe.text()), recipe);
      n_served += why_not(recipe, problem, view) ? 0 : 1;
    }
    EXPECT_EQ(thrown, able) << coll::name(collective);
    EXPECT_GT(texts.size(), thrown.size()) << coll::name(collective);
    EXPECT_GT(n_served, 100) << coll::name(collective);
  }
}

TEST(Dice, HaveNothingForOneRank) {
  std::mt19937_64 dice(7);
  const net::GroupView view = dealt_view("hosts=1", 1);
  EXPECT_EQ(throw_recipe({.collective = coll::Collective::broadcast, .n_ranks = 1, .bytes = 8}, view, dice),
            Recipe{});
}

}  // namespace
}  // namespace eco::algo
