#include "eco/plan/shortlist.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "eco/plan/proving.h"
#include "eco/plan/ranking.h"
#include "eco/plan/testing.h"

namespace eco::plan {
namespace {

using coll::Collective;
using coll::CommonProblem;

Forecast sending(double n_messages, double n_crossings) {
  Forecast forecast;
  forecast.n_messages = n_messages;
  forecast.n_crossings = n_crossings;
  return forecast;
}

TEST(Shortlist, OfOnePacketLongerIsEqualWhereLessCrosses) {
  const Forecast direct = sending(56, 0);
  const Forecast rounds = sending(32, 0);
  EXPECT_EQ(lightest_of_equals({{1.0, &direct}, {1.04, &rounds}}, true), 0u);
  EXPECT_EQ(lightest_of_equals({{1.0, &direct}, {1.01, &rounds}}, true), 1u);
  const Forecast across = sending(56, 30);
  const Forecast leaders = sending(60, 2);
  EXPECT_EQ(lightest_of_equals({{1.0, &across}, {1.04, &leaders}}, true), 1u);
  EXPECT_EQ(lightest_of_equals({{1.0, &across}, {1.06, &leaders}}, true), 0u);
}

TEST(Shortlist, PrefersFewMessagesAndAsksAboutTheWindow) {
  const auto& [view, problem, ranked] = Megabyte();
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

// What the predictor sees stand still is a mistake of a builder, and is not to be passed over as one that can't serve.
TEST(Shortlist, NoCandidateOfManySubnetsStandsStill) {
  for (const char* network :
       {"hosts=1+1+1+1+1+1+1+1+1+1+1+1+1 uplink_mbit=100", "hosts=2+2+2+2+2+2+2+2+2+2+2+2"}) {
    const net::GroupView view = view_of(network);
    for (const std::size_t bytes : {std::size_t{867'992}, std::size_t{720'784}}) {
      for (const Collective collective :
           {Collective::allreduce, Collective::reduce, Collective::reduce_scatter}) {
        for (const Candidate& candidate :
             rank_candidates(problem_of(collective, bytes, view), view, {}, true))
          EXPECT_EQ(candidate.why_not.find("can't end"), std::string::npos)
              << candidate.recipe.text() << ": " << candidate.why_not;
      }
    }
  }
}

// A connection that shares its host's port with others opens its window late between sites: first in, first out knows
// nothing of that, and says of several broadcasts that they are equally fast.
TEST(Shortlist, PrefersOfEqualsWhatIsFastUnderFairSharingToo) {
  const net::GroupView view = view_of(kTwoSites);
  const CommonProblem problem = problem_of(Collective::broadcast, 1 << 18, view);
  const auto ranked = rank_candidates(problem, view);
  const auto fair_s = [&](const Candidate& candidate) {
    return forecast(candidate.recipe, problem, view, {.sharing = sim::Sharing::fair}).seconds;
  };
  double least_s = fair_s(ranked.front());
  double most_s = least_s;
  for (const Candidate& candidate : ranked) {
    if (!candidate.why_not.empty() || candidate.forecast.seconds > 1.02 * ranked.front().forecast.seconds)
      break;
    least_s = std::min(least_s, fair_s(candidate));
    most_s = std::max(most_s, fair_s(candidate));
  }
  ASSERT_GT(most_s, 1.2 * least_s) << "no choice to be made";
  const auto chosen = shortlist(ranked, 1, problem, view);
  ASSERT_EQ(chosen.size(), 1u);
  EXPECT_LE(fair_s(*chosen[0]), 1.1 * least_s) << chosen[0]->recipe.text();
}

}  // namespace
}  // namespace eco::plan
