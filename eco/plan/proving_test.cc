#include "eco/plan/proving.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <string>

#include "eco/algo/algorithm.h"
#include "eco/plan/testing.h"

namespace eco::plan {
namespace {

using coll::Collective;
using coll::CommonProblem;

TEST(Proving, RefusesWhatTheVerifierRefuses) {
  const net::GroupView view = view_of(kThreeSubnets);
  algo::Recipe recipe =
      algo::parse_recipe("broadcast/subnets segment=100 window=0 between=chain inside=chain order=0,1");
  const auto fault = prove(recipe, problem_of(Collective::broadcast, 1000, view), view);
  ASSERT_TRUE(fault);
  EXPECT_NE(fault->find("order"), std::string::npos) << *fault;
  recipe.params.order = {2, 1, 0};
  EXPECT_EQ(prove(recipe, problem_of(Collective::broadcast, 1000, view), view), std::nullopt);
}

// Byte by byte each of these would need many gigabytes: of the length, or of the segments, the gcd of all boundaries is 1.
TEST(Proving, CostsNoMoreForLongMessages) {
  const net::GroupView five =
      view_of("hosts=2+2+1 rate_mbit=191 uplink_mbit=38.2 latency_us=60 between_us=200");
  const std::size_t a_gigabyte = (std::size_t{1} << 30) + 3;
  for (const char* text :
       {"allreduce/ring", "allreduce/ring segment=65537", "allreduce/two_tree segment=99991",
        "allreduce/reduce_scatter+allgather parts=reduce_scatter/circulant,allgather/circulant",
        "broadcast/scatter+allgather parts=scatter/binomial,allgather/circulant",
        "broadcast/scatter+allgather segment=100000007 parts=scatter/binomial,allgather/circulant"}) {
    const algo::Recipe recipe = algo::parse_recipe(text);
    const Collective collective =
        recipe.algorithm.starts_with("allreduce") ? Collective::allreduce : Collective::broadcast;
    EXPECT_EQ(prove(recipe, problem_of(collective, a_gigabyte, five), five), std::nullopt) << text;
  }
  for (const char* text : {"alltoall/pairwise", "alltoall/linear_sync"}) {
    const CommonProblem problem = problem_of(Collective::alltoall, 5 * a_gigabyte, five);
    EXPECT_EQ(prove(algo::parse_recipe(text), problem, five), std::nullopt) << text;
  }
}

// Stood for by fewer ranks of the same subnets.
TEST(Proving, OfHundredsOfRanks) {
  const net::GroupView view = view_of("hosts=257+257 rate_mbit=191 uplink_mbit=38.2 latency_us=60");
  for (const char* text : {"alltoall/flat", "alltoall/pairwise", "alltoall/subnets"}) {
    const CommonProblem problem = problem_of(Collective::alltoall, 514 * 8, view);
    EXPECT_EQ(prove(algo::parse_recipe(text), problem, view), std::nullopt) << text;
  }
  const CommonProblem problem = problem_of(Collective::allreduce, 65536, view);
  EXPECT_EQ(prove(algo::parse_recipe("allreduce/subnets segment=8624"), problem, view), std::nullopt);
  EXPECT_TRUE(prove(algo::parse_recipe("allreduce/subnets order=0,2"), problem, view));
  // Of 64 ranks alone it would be right: a rank of hundreds looks ahead over fewer owners' blocks than there are.
  const CommonProblem blocks = problem_of(Collective::allgather, 514 * 8, view);
  EXPECT_TRUE(prove(algo::parse_recipe("allgather/chain"), blocks, view));
  // Nothing stands for a list of all ranks.
  algo::Recipe ring = algo::parse_recipe("allreduce/ring");
  for (int rank = 513; rank >= 0; --rank) ring.params.ring.push_back(rank);
  const auto fault = prove(ring, problem, view);
  ASSERT_TRUE(fault);
  EXPECT_NE(fault->find("which would be proved"), std::string::npos) << *fault;
}

}  // namespace
}  // namespace eco::plan
