#include "eco/plan/ranking.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "eco/plan/testing.h"

namespace eco::plan {
namespace {

using coll::Collective;
using coll::CommonProblem;

// No schedule can beat the bound, and the best comes close to it.
void expect_close_to(double bound_s, Collective collective, std::size_t bytes, const net::GroupView& view) {
  const double cheapest_s =
      rank_candidates(problem_of(collective, bytes, view), view).front().forecast.seconds;
  EXPECT_GT(cheapest_s, bound_s) << coll::name(collective);
  EXPECT_LT(cheapest_s, 1.1 * bound_s) << coll::name(collective);
}

double forecast_s(const std::string& recipe, const CommonProblem& problem, const net::GroupView& view) {
  return forecast(algo::parse_recipe(recipe), problem, view).seconds;
}

TEST(Ranking, RanksCandidatesCheapestFirst) {
  const net::GroupView view = view_of(kThreeSubnets);
  const auto ranked = rank_candidates(problem_of(Collective::broadcast, 16384, view), view);
  ASSERT_GT(ranked.size(), 10u);
  std::set<std::string> texts;
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    // What can't serve comes last: here that wants several rails.
    EXPECT_EQ(!ranked[i].why_not.empty(), ranked[i].why_not == "hosts have one rail") << ranked[i].why_not;
    EXPECT_TRUE(texts.insert(ranked[i].recipe.text()).second) << "twice: " << ranked[i].recipe.text();
    if (i == 0) continue;
    EXPECT_GE(ranked[i].why_not.empty() ? 0 : 1, ranked[i - 1].why_not.empty() ? 0 : 1);
    if (ranked[i].why_not.empty()) {
      EXPECT_GE(ranked[i].forecast.seconds, ranked[i - 1].forecast.seconds);
    }
  }
}

TEST(Ranking, PruningKeepsTheBest) {
  const net::GroupView view = view_of(kThreeSubnets);
  for (const std::size_t bytes : {8u, 16384u, 1048576u}) {
    const auto all = rank_candidates(problem_of(Collective::broadcast, bytes, view), view);
    const auto pruned = rank_candidates(problem_of(Collective::broadcast, bytes, view), view, {}, true);
    ASSERT_EQ(all.size(), pruned.size());
    EXPECT_EQ(all.front().forecast.seconds, pruned.front().forecast.seconds);
    const auto same = std::find_if(all.begin(), all.end(), [&](const Candidate& candidate) {
      return candidate.recipe == pruned.front().recipe;
    });
    ASSERT_NE(same, all.end());
    EXPECT_EQ(same->forecast.seconds, all.front().forecast.seconds) << "or another that is as fast";
    for (const Candidate& candidate : pruned) {
      if (candidate.forecast.given_up) {
        EXPECT_GE(candidate.forecast.seconds, pruned.front().forecast.seconds);
      }
    }
  }
}

TEST(Ranking, PruningKeepsWhatAWindowMakesTheBest) {
  const struct {
    const char* network;
    Collective collective;
  } cells[] = {
      {kEco1995, Collective::scan}, {kEco1995, Collective::reduce}, {kThreeSubnets, Collective::allreduce}};
  for (const auto& cell : cells) {
    const net::GroupView view = view_of(cell.network);
    const CommonProblem problem = problem_of(cell.collective, 128 << 10, view);
    const double best_s = rank_candidates(problem, view).front().forecast.seconds;
    EXPECT_LE(rank_candidates(problem, view, {}, true).front().forecast.seconds, 1.005 * best_s)
        << coll::name(cell.collective);
  }
}

TEST(Ranking, SaysWhatCannotServe) {
  const net::GroupView view = view_of("hosts=1");
  const auto ranked = rank_candidates(problem_of(Collective::broadcast, 100, view), view);
  ASSERT_FALSE(ranked.empty());
  for (const Candidate& candidate : ranked) EXPECT_FALSE(candidate.why_not.empty());
}

// A megabyte over the slowest link, by its rate.
TEST(Ranking, ComesCloseToTheBounds) {
  const double megabyte = 1 << 20;
  const double uplink_s = megabyte / (38.2e6 / 8);
  const net::GroupView subnets = view_of(kThreeSubnets);
  expect_close_to(uplink_s, Collective::broadcast, 1 << 20, subnets);
  // Of three subnets each sends and receives 4/3 of the vector.
  expect_close_to(4.0 / 3 * uplink_s, Collective::allreduce, 1 << 20, subnets);
  // The hosts behind the slowest of three uplinks have to get 5/8 of all blocks; of a reduce_scatter they have to give that.
  const double slow_s = 5.0 / 8 * megabyte / (9.56e6 / 8);
  expect_close_to(slow_s, Collective::allgather, 1 << 20, view_of(kUnequal));
  expect_close_to(slow_s, Collective::reduce_scatter, 1 << 20, view_of(kUnequal));
  const double port_s = megabyte / (47.8e6 / 8);
  expect_close_to(port_s, Collective::broadcast, 1 << 20, view_of(kOneSwitch));
}

// The paper's micro-benchmark. From a bus of three the message goes to the bus of two, whose medium it crosses once
// less, and from there to the other three; the other order, a star over the bridge, and trees in rank order lose.
TEST(Ranking, FindsTheOrderOfBuses) {
  const net::GroupView view = view_of(kEco1995);
  const CommonProblem problem = problem_of(Collective::broadcast, 16000, view);
  const auto recipe = [](const std::string& shape, const std::string& order) {
    return "broadcast/subnets segment=1392 window=0 between=" + shape + " inside=chain order=" + order;
  };
  const double right = forecast_s(recipe("chain", "0,2,1"), problem, view);
  EXPECT_LT(1.1 * right, forecast_s(recipe("chain", "0,1,2"), problem, view));
  EXPECT_LT(1.1 * right, forecast_s(recipe("flat", "0,1,2"), problem, view));
  EXPECT_LT(1.1 * right, forecast_s("broadcast/binomial segment=0 window=0 between=binomial inside=binomial",
                                    problem, view));
  const auto ranked = rank_candidates(problem, view);
  EXPECT_EQ(ranked.front().recipe.params.order, (std::vector<int>{0, 2, 1}));
  // Every bus of three hosts carries the message at least three times: to two more hosts, and once out or in.
  const double bound = 3 * 16000 / (9.56e6 / 8);
  EXPECT_GT(ranked.front().forecast.seconds, bound);
  EXPECT_LT(ranked.front().forecast.seconds, 1.15 * bound);
}

}  // namespace
}  // namespace eco::plan
