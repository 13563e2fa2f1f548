#include "eco/plan/search.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "eco/net/synthetic.h"
#include "eco/plan/explain.h"
#include "eco/plan/planner.h"
#include "eco/plan/proving.h"
#include "eco/plan/ranking.h"
#include "eco/plan/testing.h"

namespace eco::plan {
namespace {

using coll::Collective;
using coll::CommonProblem;

// networks/dome-20.toml: three buses, FDDI, and a switch, each entering a backbone at its own rate.
constexpr const char* kDome20 =
    "hosts=3+3+5+2+7 kind=bus+bus+bus+switched+switched rate_mbit=9.56+9.56+9.56+95.6+9.56 "
    "uplink_mbit=none+none+none+95.6+9.56 latency_us=60 between_us=460 overhead_us=15";
// What predictions may walk: the tests' time.
constexpr ForecastOptions kShort{.most_operations = 3'000};

// Against every candidate of every algorithm, not only those that a pruned ranking predicts.
double gain_of_search(Collective collective, std::size_t bytes, const net::GroupView& view) {
  const CommonProblem problem = problem_of(collective, bytes, view);
  const auto fixed = rank_candidates(problem, view, kShort);
  const SearchResult result = search(problem, view, fixed, {.most_steps = 200, .forecast = kShort});
  if (result.found.empty()) return 0;
  EXPECT_FALSE(prove(result.found.front().recipe, problem, view));
  EXPECT_EQ(algo::parse_recipe(result.found.front().recipe.text()), result.found.front().recipe);
  return 1 - result.found.front().forecast.seconds / fixed.front().forecast.seconds;
}

// The slowest uplink bounds everything, and the subnet behind it had better own fewer segments than the others.
TEST(Search, BeatsTheRepertoireWhereUplinksDiffer) {
  EXPECT_GT(gain_of_search(Collective::allreduce, 16384, view_of(kUnequal)), 0.1);
}

TEST(Search, BeatsTheRepertoireOnDome20) {
  const net::GroupView view = view_of(kDome20);
  EXPECT_GT(gain_of_search(Collective::allgather, 1 << 17, view), 0.1);
}

// What has the order of three sites is no start over six subnets; trees of subnets are.
TEST(Search, StartsOverSubnetsWhereTheBestIsOverSites) {
  const net::GroupView view = view_of(
      "hosts=2+2+2+2+2+2 rate_mbit=100 uplink_mbit=60 latency_us=60 between_us=600 "
      "sites=1+1+2+2+3+3 site_mbit=20 far_us=5000 overhead_us=15");
  CommonProblem problem = problem_of(Collective::reduce, 16320, view);
  problem.root = 1;
  const auto fixed = rank_candidates(problem, view, kShort, true);
  const Candidate& best = fixed.front();
  ASSERT_FALSE(best.recipe.params.sites.empty()) << best.recipe.text();
  std::size_t n_over_subnets = 0;
  for (const Candidate& found : search(problem, view, fixed, {.most_steps = 400, .forecast = kShort}).found)
    n_over_subnets += found.recipe.params.sites.empty() && !found.recipe.params.tree.empty() ? 1 : 0;
  EXPECT_GT(n_over_subnets, 0U) << best.recipe.text();
}

// Beyond 32 KiB the repertoire has whole packets; on a bus, where a segment's time counts twice, others are better.
TEST(Search, FindsSegmentsOfAnyLength) {
  const net::GroupView view =
      view_of("hosts=4+4+4 kind=bus rate_mbit=10 uplink_mbit=10 latency_us=60 overhead_us=15");
  const CommonProblem problem = problem_of(Collective::broadcast, 40'000, view);
  const auto fixed = rank_candidates(problem, view, kShort);
  const SearchResult result = search(problem, view, fixed, {.most_steps = 200, .forecast = kShort});
  ASSERT_FALSE(result.found.empty());
  const std::size_t segment = result.found.front().recipe.params.segment_bytes;
  EXPECT_EQ(segment % 16, 0u);
  for (const Candidate& candidate : fixed) EXPECT_NE(candidate.recipe.params.segment_bytes, segment);
}

TEST(Search, IsDeterministicAndBounded) {
  const net::GroupView view = view_of(kDome20);
  const CommonProblem problem = problem_of(Collective::broadcast, 16384, view);
  const auto fixed = rank_candidates(problem, view, kShort, true);
  const SearchOptions options{.seed = 7, .most_steps = 60, .forecast = kShort};
  const SearchResult once = search(problem, view, fixed, options);
  const SearchResult again = search(problem, view, fixed, options);
  EXPECT_LE(once.n_steps, 60U);
  EXPECT_EQ(once.n_steps, again.n_steps);
  ASSERT_EQ(once.found.size(), again.found.size());
  for (std::size_t i = 0; i < once.found.size(); ++i) {
    EXPECT_EQ(once.found[i].recipe, again.found[i].recipe);
    EXPECT_EQ(once.found[i].forecast.seconds, again.found[i].forecast.seconds);
    EXPECT_LT(once.found[i].forecast.seconds, fixed.front().forecast.seconds);
  }
  SearchOptions no_time = options;
  no_time.time_is_up = [] { return true; };
  EXPECT_EQ(search(problem, view, fixed, no_time).n_steps, 0U);
}

// Ranks dealt out over the subnets: a ring in rank order crosses every uplink at every step.
TEST(Search, FindsRingsThatEnterEachSubnetOnce) {
  const net::GroupView view = net::make_view(
      std::make_shared<net::Network>(net::synthetic_network(
          "hosts=3+3+3 rate_mbit=191 uplink_mbit=38.2 latency_us=60 between_us=200 overhead_us=15")),
      {0, 3, 6, 1, 4, 7, 2, 5, 8});
  const CommonProblem problem = problem_of(Collective::allreduce, 1 << 20, view);
  std::vector<Candidate> rings;
  for (Candidate& candidate : rank_candidates(problem, view, kShort, true)) {
    if (candidate.recipe.algorithm == "allreduce/ring") rings.push_back(std::move(candidate));
  }
  ASSERT_FALSE(rings.empty());
  for (Candidate& ring : rings) ring = candidate_of(ring.recipe, problem, view, kShort);
  const SearchResult result = search(problem, view, rings, {.most_steps = 50, .forecast = kShort});
  ASSERT_FALSE(result.found.empty());
  const algo::Recipe& found = result.found.front().recipe;
  ASSERT_EQ(found.params.ring.size(), 9U);
  int crossings = 0;
  for (std::size_t i = 0; i < 9; ++i) {
    const auto subnet = [&](std::size_t at) {
      return view.subnet_of_rank[static_cast<std::size_t>(found.params.ring[at % 9])];
    };
    crossings += subnet(i) != subnet(i + 1);
  }
  EXPECT_EQ(crossings, 3);
  EXPECT_LT(result.found.front().forecast.seconds, 0.5 * rings.front().forecast.seconds);
}

TEST(Search, WhatItFindsServesInAPlan) {
  const net::GroupView view = view_of(kUnequal);
  PlannerOptions options;
  constexpr std::size_t kBytes = 16384;
  options.sizes = {kBytes};
  options.forecast = kShort;
  const auto seconds = [&](double search_s) {
    options.search_s = search_s;
    const PlanTable table = make_plan(view, {Collective::allreduce}, options, nullptr);
    const Row* row = table.find_row(Collective::allreduce, 0, kBytes);
    EXPECT_TRUE(row != nullptr && row->recipe);
    EXPECT_EQ(PlanTable::from_json(table.to_json()).to_json(), table.to_json());
    const CommonProblem problem = problem_of(Collective::allreduce, kBytes, view);
    EXPECT_NE(explain(problem, view, row).find(row->recipe->text()), std::string::npos);
    return row->predicted_s;
  };
  EXPECT_LT(seconds(1), 0.97 * seconds(0));
}

}  // namespace
}  // namespace eco::plan
