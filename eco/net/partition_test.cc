#include "eco/net/partition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "eco/base/errors.h"

namespace eco::net {
namespace {

// 3+3+2 hosts: 1 inside a subnet, 5 between.
CostMatrix three_subnets(double inside = 1.0, double across = 5.0) {
  CostMatrix costs(8);
  const std::vector<int> subnet = {0, 0, 0, 1, 1, 1, 2, 2};
  for (int a = 0; a < 8; ++a) {
    for (int b = a + 1; b < 8; ++b) {
      const bool together = subnet[static_cast<std::size_t>(a)] == subnet[static_cast<std::size_t>(b)];
      costs.set(a, b, together ? inside : across);
    }
  }
  return costs;
}

const Partition kThree = {{0, 1, 2}, {3, 4, 5}, {6, 7}};

TEST(PartitionFigure2, SeparatesThreeSubnets) { EXPECT_EQ(partition_figure2(three_subnets()), kThree); }

TEST(PartitionFigure2, OneHostAndNoHosts) {
  EXPECT_EQ(partition_figure2(CostMatrix(1)), (Partition{{0}}));
  EXPECT_EQ(partition_figure2(CostMatrix(0)), (Partition{}));
}

TEST(PartitionFigure2, TwoHostsAlwaysFormASubnet) {
  CostMatrix costs(2);
  costs.set(0, 1, 123.0);
  EXPECT_EQ(partition_figure2(costs), (Partition{{0, 1}}));
}

TEST(PartitionFigure2, FollowsItsHostsThroughEveryPlacement) {
  const CostMatrix costs = three_subnets();
  std::vector<int> place(8);
  std::iota(place.begin(), place.end(), 0);
  for (unsigned seed = 1; seed <= 5; ++seed) {
    std::mt19937 random(seed);
    std::shuffle(place.begin(), place.end(), random);
    CostMatrix moved(8);  // host h of the description is now host place[h]
    std::vector<int> label(8);
    for (int a = 0; a < 8; ++a) {
      label[static_cast<std::size_t>(place[static_cast<std::size_t>(a)])] = a < 3 ? 0 : a < 6 ? 1 : 2;
      for (int b = a + 1; b < 8; ++b) {
        moved.set(place[static_cast<std::size_t>(a)], place[static_cast<std::size_t>(b)], costs(a, b));
      }
    }
    const Partition found = partition_figure2(moved);
    ASSERT_EQ(found.size(), 3u);
    for (const auto& part : found) {
      for (const int host : part) {
        EXPECT_EQ(label[static_cast<std::size_t>(host)], label[static_cast<std::size_t>(part.front())]);
      }
    }
  }
}

TEST(PartitionFigure2, OneRaisedEdgeChangesNothing) {
  for (int a = 0; a < 8; ++a) {
    for (int b = a + 1; b < 8; ++b) {
      if (a == 6 && b == 7) continue;  // the only edge of its subnet: next test
      CostMatrix costs = three_subnets();
      costs.set(a, b, 10 * costs(a, b));
      EXPECT_EQ(partition_figure2(costs), kThree) << "raised edge " << a << "-" << b;
    }
  }
}

TEST(PartitionFigure2, RaisingTheOnlyEdgeOfATwoHostSubnetParts) {
  CostMatrix costs = three_subnets();
  costs.set(6, 7, 10.0);
  const Partition found = partition_figure2(costs);
  EXPECT_EQ(std::count(found.begin(), found.end(), std::vector<int>{6, 7}), 0);
}

TEST(PartitionFigure2, OneLoweredEdgeParts) {
  // The figure's tolerance ends here: 0-1 at a tenth makes every other edge of 0 and of 1 look dear.
  CostMatrix costs = three_subnets();
  costs.set(0, 1, 0.1);
  EXPECT_EQ(partition_figure2(costs), (Partition{{0, 1}, {2}, {3, 4, 5}, {6, 7}}));
}

TEST(PartitionFigure2, TwentyPerCentIsTheBorderAndBelongsInside) {
  CostMatrix costs(3);
  costs.set(0, 1, 1.0);
  costs.set(0, 2, 1.2);
  costs.set(1, 2, 1.2);
  EXPECT_EQ(partition_figure2(costs), (Partition{{0, 1, 2}}));
  costs.set(0, 2, 1.21);
  costs.set(1, 2, 1.21);
  EXPECT_EQ(partition_figure2(costs), (Partition{{0, 1}, {2}}));
  EXPECT_EQ(partition_figure2(costs, 1.5), (Partition{{0, 1, 2}}));
}

TEST(PartitionFigure2, OtherEdgesAreNotLookedAtOnMerging) {
  // A path 0-1-2-3 of edges within 20 % of each node's cheapest: one subnet, although 0-3 costs ten times as
  // much.
  CostMatrix costs(4);
  for (int a = 0; a < 4; ++a) {
    for (int b = a + 1; b < 4; ++b) costs.set(a, b, b == a + 1 ? 1.0 : 10.0);
  }
  EXPECT_EQ(partition_figure2(costs), (Partition{{0, 1, 2, 3}}));
}

TEST(PartitionFigure2, CheapestEdgeOfTheSubnetCounts) {
  // Edge 1-2 at 1.15 is within 20 % of both nodes' cheapest (1.15 of node 2 and 1.0 of node 1). Edge 2-3
  // at 1.3 is within 20 % of both of its nodes' cheapest (1.15, 1.3), yet 30 % above the subnet's cheapest,
  // 0-1 at 1.0.
  CostMatrix costs(4);
  for (int a = 0; a < 4; ++a) {
    for (int b = a + 1; b < 4; ++b) costs.set(a, b, 10.0);
  }
  costs.set(0, 1, 1.0);
  costs.set(1, 2, 1.15);
  costs.set(2, 3, 1.3);
  EXPECT_EQ(partition_figure2(costs), (Partition{{0, 1, 2}, {3}}));
}

TEST(PartitionFigure2, TheOrderOfEqualCostsDoesNotMatter) {
  // A merge at weight w leaves w admissible for the merged subnet, so equal edges may come in any order: numbering the
  // hosts differently gives the same parts.
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    CostMatrix costs(6);
    CostMatrix mirrored(6);
    for (int a = 0; a < 6; ++a) {
      for (int b = a + 1; b < 6; ++b) {
        const double cost = 1.0 + 0.1 * static_cast<double>(random() % 4);
        costs.set(a, b, cost);
        mirrored.set(5 - a, 5 - b, cost);
      }
    }
    Partition back = partition_figure2(mirrored);
    for (auto& part : back) {
      for (int& host : part) host = 5 - host;
      std::sort(part.begin(), part.end());
    }
    std::sort(back.begin(), back.end());
    EXPECT_EQ(partition_figure2(costs), back);
  }
}

TEST(CommonRefinement, KeepsTogetherOnlyWhatAllKeepTogether) {
  EXPECT_EQ(common_refinement({{{0, 1, 2}, {3, 4}}, {{0, 1}, {2, 3, 4}}}), (Partition{{0, 1}, {2}, {3, 4}}));
  EXPECT_EQ(common_refinement({{{0, 2}, {1}}}), (Partition{{0, 2}, {1}}));
  EXPECT_THROW(common_refinement({}), InvalidArgument);
}

TEST(CommonRefinement, ABridgeShowsAtTheSmallSizeAndASlowUplinkAtTheLarge) {
  CostMatrix small(4);
  CostMatrix large(4);
  for (int a = 0; a < 4; ++a) {
    for (int b = a + 1; b < 4; ++b) {
      small.set(a, b, (a < 2) == (b < 2) ? 1.0 : 2.0);     // {0,1} | {2,3}
      large.set(a, b, (a % 2) == (b % 2) ? 50.0 : 250.0);  // {0,2} | {1,3}
    }
  }
  EXPECT_EQ(common_refinement({partition_figure2(small), partition_figure2(large)}),
            (Partition{{0}, {1}, {2}, {3}}));
}

}  // namespace
}  // namespace eco::net
