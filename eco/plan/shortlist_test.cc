#include "eco/plan/shortlist.h"

#include <gtest/gtest.h>

#include <map>

#include "eco/plan/ranking.h"
#include "eco/plan/testing.h"

namespace eco::plan {
namespace {

using coll::Collective;
using coll::CommonProblem;

TEST(Shortlist, PrefersFewMessagesAndAsksAboutTheWindow) {
  const net::GroupView view = view_of(kThreeSubnets);
  const CommonProblem problem = problem_of(Collective::broadcast, 1 << 20, view);
  const auto ranked = rank_candidates(problem, view);
  const auto chosen = shortlist(ranked, 3, problem, view);
  ASSERT_EQ(chosen.size(), 3u);
  EXPECT_LE(chosen[0]->forecast.n_messages, ranked.front().forecast.n_messages);
  EXPECT_LE(chosen[0]->forecast.seconds, 1.02 * ranked.front().forecast.seconds);
  EXPECT_NE(chosen[0]->recipe.params.window, chosen[1]->recipe.params.window);
  for (const Candidate* candidate : chosen) {
    EXPECT_EQ(prove(candidate->recipe, problem, view), std::nullopt);
  }
}

// Short problems between two sites: each half of what goes both ways, and all of what goes one way, in one message.
TEST(Shortlist, CrossesBetweenSitesAsSeldomAsItCan) {
  const net::GroupView view = view_of(kTwoSites);
  const std::map<Collective, double> crossings = {
      {Collective::broadcast, 1}, {Collective::reduce, 1},        {Collective::scatter, 1},
      {Collective::gather, 1},    {Collective::scan, 1},          {Collective::exscan, 1},
      {Collective::barrier, 2},   {Collective::allreduce, 2},     {Collective::allgather, 2},
      {Collective::alltoall, 2},  {Collective::reduce_scatter, 2}};
  for (const auto& [collective, least] : crossings) {
    const CommonProblem problem = problem_of(collective, 8, view);
    const auto ranked = rank_candidates(problem, view, {}, true);
    const auto chosen = shortlist(ranked, 1, problem, view);
    ASSERT_EQ(chosen.size(), 1u) << coll::name(collective);
    EXPECT_EQ(chosen[0]->forecast.n_crossings, least) << chosen[0]->recipe.text();
    EXPECT_LT(chosen[0]->forecast.seconds, 0.0115) << chosen[0]->recipe.text();
  }
}

}  // namespace
}  // namespace eco::plan
