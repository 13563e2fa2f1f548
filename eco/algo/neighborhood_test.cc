// What the patterns along a graph are for: blocks and messages between subnets. (That they are right is proved with all
// others, algorithm_test.cc.)
#include <gtest/gtest.h>

#include "eco/algo/algorithm.h"
#include "eco/algo/testing.h"
#include "eco/sched/traffic.h"

namespace eco::algo {
namespace {

using coll::Collective;
using coll::CommonProblem;

// What crosses from subnet to subnet: messages, and bytes.
sched::Crossing crossing(const std::string& recipe, const CommonProblem& problem,
                         const net::GroupView& view) {
  sched::Crossing all;
  for (const sched::Schedule& schedule : build_all(parse_recipe(recipe), problem, view)) {
    const sched::Crossing one = sched::count_crossing(schedule, view.subnet_of_rank);
    all.messages += one.messages;
    all.bytes += one.bytes;
  }
  return all;
}

// Everyone and everyone else.
std::shared_ptr<const coll::Neighborhood> complete(int n) {
  std::vector<std::vector<int>> lists(static_cast<std::size_t>(n));
  for (int rank = 0; rank < n; ++rank) {
    for (int other = 0; other < n; ++other) {
      if (other != rank) lists[static_cast<std::size_t>(rank)].push_back(other);
    }
  }
  return coll::paired(lists, lists, coll::Pairing::in_order);
}

TEST(Neighborhoods, ABlockEntersASubnetOnce) {
  const auto view = testing::scattered_view("3+3+2", 8);
  const CommonProblem problem{
      .collective = Collective::neighbor_allgather, .n_ranks = 8, .bytes = 100, .neighbors = complete(8)};
  // Two other subnets for each of eight; edge by edge one for each rank outside: 3*5 + 3*5 + 2*6.
  EXPECT_EQ(crossing("neighbor_allgather/subnets between=flat", problem, view).messages, 16U);
  EXPECT_EQ(crossing("neighbor_allgather/flat", problem, view).messages, 42U);
}

TEST(Neighborhoods, LeadersCombineMessagesAndNotBytes) {
  const auto view = testing::scattered_view("3+3+2", 8);
  const CommonProblem problem{
      .collective = Collective::neighbor_alltoall, .n_ranks = 8, .bytes = 100, .neighbors = complete(8)};
  const sched::Crossing combined = crossing("neighbor_alltoall/leaders", problem, view);
  const sched::Crossing direct = crossing("neighbor_alltoall/flat", problem, view);
  EXPECT_EQ(combined.messages, 6U) << "one for each pair of subnets";
  EXPECT_EQ(direct.messages, 42U);
  EXPECT_EQ(combined.bytes, direct.bytes);
}

TEST(Neighborhoods, NeedTheirGraph) {
  const auto view = testing::scattered_view("2+2", 4);
  CommonProblem problem{.collective = Collective::neighbor_alltoall, .n_ranks = 4, .bytes = 8};
  EXPECT_TRUE(find("neighbor_alltoall/flat")->why_not(problem, view));
  problem.neighbors = complete(5);
  EXPECT_TRUE(find("neighbor_alltoall/flat")->why_not(problem, view)) << "of another number of ranks";
  problem.neighbors = complete(4);
  EXPECT_FALSE(find("neighbor_alltoall/flat")->why_not(problem, view));
  EXPECT_FALSE(find("neighbor_alltoall/leaders")->why_not(problem, view));
  problem.bytes = std::size_t{1} << 20;
  EXPECT_TRUE(find("neighbor_alltoall/leaders")->why_not(problem, view)) << "too much for one rank";
  problem.bytes = 8;
  EXPECT_TRUE(find("neighbor_alltoall/leaders")->why_not(problem, testing::scattered_view("4", 4)));
  // One edge each way between two subnets: nothing to combine.
  const std::vector<std::vector<int>> line = {{1}, {0, 2}, {1, 3}, {2}};
  problem.neighbors = coll::paired(line, line, coll::Pairing::in_order);
  EXPECT_TRUE(find("neighbor_alltoall/leaders")->why_not(problem, view));
}

}  // namespace
}  // namespace eco::algo
