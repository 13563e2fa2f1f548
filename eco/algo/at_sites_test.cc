// Recipes over sites: every candidate of a group of three levels is proved, and what does not fit the group is refused.
#include "eco/algo/at_sites.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "eco/algo/algorithm.h"
#include "eco/net/synthetic.h"
#include "eco/plan/planner.h"
#include "eco/plan/proving.h"

namespace eco::algo {
namespace {

using coll::Collective;
using coll::CommonProblem;

// Two sites of two switches and one, shuffled.
net::GroupView three_levels() {
  auto network = std::make_shared<const net::Network>(
      net::synthetic_network("hosts=2+2+2+1+1 rate_mbit=200 uplink_mbit=60+60+60+none+none latency_us=50 "
                             "between_us=400 sites=1+1+2+2+3 site_mbit=20 far_us=5000"));
  return net::make_view(network, {5, 0, 3, 7, 1, 6, 2, 4});
}

CommonProblem problem_at_sites(Collective collective, std::size_t bytes) {
  CommonProblem problem;
  problem.collective = collective;
  problem.n_ranks = 8;
  problem.bytes = bytes;
  problem.element_bytes = 8;
  problem.root = coll::is_rooted(collective) ? 2 : 0;
  return problem;
}

TEST(AtSites, EveryCandidateOverSitesIsProved) {
  const net::GroupView view = three_levels();
  for (const Algorithm& algorithm : registry()) {
    if (coll::follows_graph(algorithm.collective)) continue;
    const CommonProblem problem =
        problem_at_sites(algorithm.collective, algorithm.collective == Collective::barrier ? 0 : 4096);
    if (algorithm.why_not(problem, view)) continue;
    int n_over_sites = 0;
    for (const Params& params : algorithm.candidates(problem, view)) {
      const Recipe recipe{algorithm.name, params};
      if (params.sites.empty()) continue;
      ++n_over_sites;
      EXPECT_EQ(parse_recipe(recipe.text()), recipe);
      if (const auto refused = why_not(recipe, problem, view))
        ADD_FAILURE() << recipe.text() << ": " << *refused;
      if (n_over_sites % 5 != 1) continue;
      const auto reason = plan::prove(recipe, problem, view);
      EXPECT_FALSE(reason) << recipe.text() << ": " << *reason;
    }
    const bool is_of_levels = algorithm.name.ends_with("/subnets") || algorithm.name.ends_with("/levels") ||
                              algorithm.name.ends_with("/leaders") || algorithm.name.ends_with("/lanes");
    EXPECT_EQ(n_over_sites > 0, is_of_levels) << algorithm.name;
  }
}

TEST(AtSites, SitesThatDoNotFitTheGroupAreRefused) {
  const net::GroupView view = three_levels();
  const CommonProblem problem = problem_at_sites(Collective::broadcast, 4096);
  for (const char* sites : {"0,0,1,1", "0,0,2,2,1", "1,1,0,0,2", "0,0,1,1,2,2"}) {
    const auto reason = why_not(
        parse_recipe(
            std::string("broadcast/subnets segment=0 head=0 window=0 between=flat inside=chain sites=") +
            sites),
        problem, view);
    ASSERT_TRUE(reason) << sites;
    EXPECT_NE(reason->find("its sites"), std::string::npos);
  }
  // Its other lists are of sites.
  EXPECT_FALSE(why_not(parse_recipe("broadcast/subnets segment=0 head=0 window=0 between=flat inside=chain "
                                    "order=1,0,2 sites=0,0,1,1,2"),
                       problem, view));
  EXPECT_TRUE(why_not(parse_recipe("broadcast/subnets segment=0 head=0 window=0 between=flat inside=chain "
                                   "order=1,0,2,3,4 sites=0,0,1,1,2"),
                      problem, view));
}

}  // namespace
}  // namespace eco::algo
