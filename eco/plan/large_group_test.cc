#include "eco/plan/large_group.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "eco/algo/algorithm.h"
#include "eco/plan/native_guess.h"
#include "eco/plan/ranking.h"
#include "eco/plan/testing.h"

namespace eco::plan {
namespace {

using coll::Collective;
using coll::CommonProblem;

TEST(LargeGroup, SmallerOnesHaveTheSameSubnetsAndTheRoot) {
  const net::GroupView view = view_of("hosts=60+30+2");
  EXPECT_EQ(ranks_of_smaller(view, 0, 9), (std::vector{0, 1, 2, 3, 4, 5, 60, 61, 62, 90, 91}));
  EXPECT_EQ(ranks_of_smaller(view, 75, 4), (std::vector{0, 1, 2, 60, 75, 90, 91}));
  EXPECT_EQ(ranks_of_smaller(view, 0, 92).size(), 92U);
}

TEST(LargeGroup, SmallerOnesHaveHostsOfSeveralRanks) {
  std::vector<int> host_of_rank;
  for (int rank = 0; rank < 128; ++rank) host_of_rank.push_back(rank / 16);
  const auto network = std::make_shared<net::Network>(net::synthetic_network("hosts=4+4"));
  EXPECT_EQ(ranks_of_smaller(net::make_view(network, host_of_rank), 5, 16),
            (std::vector{0, 1, 2, 5, 16, 17, 18, 19, 64, 65, 66, 67, 80, 81, 82, 83}));
}

// Linear, logarithmic and constant growth, with a closed form and without. Two trees and trees of another degree than two
// grow in steps: roughly.
TEST(LargeGroup, EstimatesWhatIsPredicted) {
  const net::GroupView view =
      view_of("hosts=64+64 rate_mbit=1000 uplink_mbit=1000 latency_us=20 overhead_us=2");
  struct Case {
    Collective collective;
    const char* recipe;
    double most = 1.2;  // estimate over prediction, or the reverse
  };
  for (const auto& [collective, recipe, most] : {
           Case{Collective::broadcast, "broadcast/chain segment=8624"},
           Case{Collective::broadcast, "broadcast/subnets segment=8624 between=chain inside=chain"},
           Case{Collective::broadcast, "broadcast/subnets between=flat inside=binomial"},
           Case{Collective::broadcast, "broadcast/two_tree segment=8624", 2},
           Case{Collective::allreduce, "allreduce/doubling"},
           Case{Collective::allreduce, "allreduce/ring"},
           Case{Collective::scan, "scan/chain"},
           Case{Collective::allgather, "allgather/bruck degree=3", 2.1},
       }) {
    const CommonProblem problem = problem_of(collective, 131072, view);
    const ForecastOptions options{.most_operations = 50'000};
    const double predicted_s = forecast(algo::parse_recipe(recipe), problem, view, options).seconds;
    const LargeGroup large(problem, view, options);
    const double ratio = large.estimate_s(algo::parse_recipe(recipe)) / predicted_s;
    EXPECT_LT(std::max(ratio, 1 / ratio), most) << recipe;
  }
}

// In small groups the way to the far subnet takes longer than the chain through the near one.
TEST(LargeGroup, WhatIsHiddenBehindALongWayGrows) {
  const net::GroupView view =
      view_of("hosts=240+8 rate_mbit=10000 uplink_mbit=8000 latency_us=10 between_us=1000 overhead_us=1");
  const CommonProblem problem = problem_of(Collective::broadcast, 65536, view);
  const ForecastOptions options{.most_operations = 50'000};
  const algo::Recipe recipe = algo::parse_recipe("broadcast/subnets segment=2832 between=flat inside=chain");
  const double predicted_s = forecast(recipe, problem, view, options).seconds;
  ASSERT_GT(predicted_s, 0.002);
  EXPECT_NEAR(LargeGroup(problem, view, options).estimate_s(recipe) / predicted_s, 1, 0.2);
}

// In the whole a leader has more messages to receive than it looks ahead over, so its segments go to the far side one by one; in a
// small group all of them go at once.
TEST(LargeGroup, LooksAheadOverAsMuchLessAsThereIsLessToDo) {
  const net::GroupView view =
      view_of("hosts=600+40 rate_mbit=10000 uplink_mbit=8000 latency_us=10 between_us=3000 overhead_us=1");
  const CommonProblem problem = problem_of(Collective::allreduce, 65536, view);
  const algo::Recipe recipe = algo::parse_recipe("allreduce/subnets segment=5728 between=flat inside=flat");
  sim::PredictOptions walked;
  walked.window_capacity = exec::kWindowCapacity;
  const sim::Prediction whole = sim::predict(view, algo::build_all(recipe, problem, view), walked);
  ASSERT_GT(whole.seconds, 0.03);
  EXPECT_NEAR(LargeGroup(problem, view, {}).estimate_s(recipe) / whole.seconds, 1, 0.3);
}

// What is left out by estimates is not missed.
TEST(LargeGroup, RanksAsPredictionsOfAllWould) {
  const net::GroupView view =
      view_of("hosts=44+44+44 rate_mbit=1000 uplink_mbit=400 latency_us=20 between_us=60 overhead_us=2");
  for (const Collective collective :
       {Collective::broadcast, Collective::allreduce, Collective::reduce, Collective::gather}) {
    for (const std::size_t bytes : {16384U, 65536U}) {
      const CommonProblem problem = problem_of(collective, bytes, view);
      ASSERT_TRUE(is_by_estimate(problem, view));
      const ForecastOptions options{.most_operations = 6'000};
      const auto all = rank_candidates(problem, view, options);
      const auto few = rank_candidates(problem, view, options, true);
      ASSERT_EQ(all.size(), few.size());
      EXPECT_FALSE(few.front().forecast.given_up);
      EXPECT_LE(few.front().forecast.seconds, 1.05 * all.front().forecast.seconds)
          << few.front().recipe.text() << " instead of " << all.front().recipe.text();
    }
  }
}

// Above 512 ranks a forecast makes no schedules of all of them.
TEST(LargeGroup, ForecastsOfHundredsAreEstimates) {
  const net::GroupView view =
      view_of("hosts=257+257 rate_mbit=1000 uplink_mbit=1000 latency_us=20 overhead_us=2");
  const CommonProblem problem = problem_of(Collective::broadcast, 8, view);
  ASSERT_TRUE(is_by_estimate_alone(problem, view));
  const algo::Recipe recipe = algo::parse_recipe("broadcast/binomial");
  const Forecast estimated = forecast(recipe, problem, view);
  const sim::Prediction walked = sim::predict(view, algo::build_all(recipe, problem, view));
  EXPECT_NEAR(estimated.seconds / walked.seconds, 1, 0.2);
  EXPECT_NEAR(estimated.n_messages / 513, 1, 0.2);
}

TEST(LargeGroup, RanksHundredsByEstimates) {
  const net::GroupView view =
      view_of("hosts=257+257 rate_mbit=1000 uplink_mbit=1000 latency_us=20 overhead_us=2");
  const CommonProblem problem = problem_of(Collective::allgather, 514 * 8, view);
  const auto ranked = rank_candidates(problem, view, {.most_operations = 3'000}, true);
  EXPECT_TRUE(ranked.front().why_not.empty());
  EXPECT_FALSE(ranked.front().forecast.given_up);
  EXPECT_TRUE(ranked.front().forecast.extrapolated);
  for (std::size_t i = 1; i < ranked.size(); ++i) {
    if (!ranked[i].why_not.empty() || ranked[i].forecast.given_up) break;
    EXPECT_LE(ranked[i - 1].forecast.seconds, ranked[i].forecast.seconds);
  }
}

// Up to 1,024 ranks the time of a winner of few operations is no estimate: one of 12.6 ms took 95 (docs/scale.md).
TEST(LargeGroup, TheBestOfAThousandIsPredictedAsItIs) {
  const net::GroupView view =
      view_of("hosts=500+120 rate_mbit=10000 uplink_mbit=8000 latency_us=10 between_us=3000 overhead_us=1");
  const CommonProblem problem = problem_of(Collective::allreduce, 4096, view);
  ASSERT_TRUE(are_best_walked(problem, view));
  const ForecastOptions options{.most_operations = 50'000};
  const auto ranked = rank_candidates(problem, view, options, true);
  const Candidate& best = ranked.front();
  const double walked_s = walked_forecast(best.recipe, problem, view, options).seconds;
  EXPECT_DOUBLE_EQ(best.forecast.seconds, walked_s) << best.recipe.text();
  EXPECT_NE(LargeGroup(problem, view, options).estimate_s(best.recipe), walked_s);
}

// A long step after one of nothing is no growth of the fourth power: rounds come in steps.
TEST(LargeGroup, AStepOutOfNothingGrowsWithTheRanksAtMost) {
  const net::GroupView view = view_of(
      "hosts=512+256+128+128 rate_mbit=10000 uplink_mbit=4000 latency_us=10 between_us=2000 overhead_us=1");
  const CommonProblem problem = problem_of(Collective::allgather, std::size_t{8} * 1024, view);
  const algo::Recipe recipe = algo::parse_recipe("allgather/leaders between=chain inside=binomial");
  const double walked_s = walked_forecast(recipe, problem, view).seconds;
  EXPECT_LT(LargeGroup(problem, view, {}).estimate_s(recipe), 2 * walked_s);
}

// Whom everybody tells everything: n (n - 1) blocks on a bus.
TEST(LargeGroup, QuadraticGrowthIsSeen) {
  const net::GroupView view = view_of("hosts=600 kind=bus rate_mbit=1000 latency_us=20 overhead_us=1");
  const CommonProblem problem = problem_of(Collective::allgather, 65400, view);
  const algo::Recipe recipe = algo::parse_recipe("allgather/recursive_doubling");
  const double walked_s = walked_forecast(recipe, problem, view).seconds;
  EXPECT_NEAR(LargeGroup(problem, view, {}).estimate_s(recipe) / walked_s, 1, 0.4);
}

// What ECO's Executor could not end is no obstacle to a library.
TEST(LargeGroup, TheLibrarysOwnIsGuessed) {
  const net::GroupView view = view_of(
      "hosts=512+256+128+128 rate_mbit=10000 uplink_mbit=4000 latency_us=10 between_us=2000 overhead_us=1");
  EXPECT_GT(guess_native_s(problem_of(Collective::allgather, 65536, view), view), 0);
}

// Of many subnets the smallest group has two hosts of each, and another one shows how times grow.
TEST(LargeGroup, ManySubnetsAreSeenToGrow) {
  std::string hosts = "hosts=18";
  for (int subnet = 1; subnet < 20; ++subnet) hosts += "+18";
  const net::GroupView view = view_of(hosts + " rate_mbit=1000 uplink_mbit=100 latency_us=20 overhead_us=2");
  const CommonProblem problem = problem_of(Collective::allgather, std::size_t{1024} * 360, view);
  const algo::Recipe recipe = algo::parse_recipe("allgather/bruck");
  const std::vector<int> two_of_each = ranks_of_smaller(view, 0, 8);
  ASSERT_EQ(two_of_each.size(), 40U);
  const SmallerGroup small = smaller_group(problem, view, two_of_each);
  EXPECT_GT(LargeGroup(problem, view, {}).estimate_s(recipe),
            2 * forecast(recipe, small.problem, small.view).seconds);
}

}  // namespace
}  // namespace eco::plan
