#include "eco/coll/neighborhood.h"

#include <gtest/gtest.h>

#include "eco/coll/meaning.h"
#include "eco/coll/problem.h"

namespace eco::coll {
namespace {

using Lists = std::vector<std::vector<int>>;
using Incoming = Neighborhood::Incoming;
constexpr int kNobody = Neighborhood::kNobody;

TEST(Neighborhood, FirstToldIsFirstHeardInGraphs) {
  // 0 tells 1 twice, 1 tells itself and 0.
  const auto graph = paired(Lists{{1}, {0, 1, 0}}, Lists{{1, 1}, {1, 0}}, Pairing::in_order);
  ASSERT_TRUE(graph);
  EXPECT_EQ(graph->sources_of(0), (std::vector<Incoming>{{1, 1}}));
  EXPECT_EQ(graph->sources_of(1), (std::vector<Incoming>{{0, 0}, {1, 0}, {0, 1}}));
  EXPECT_EQ(graph->others_told_by(0), std::vector<int>{1});
  EXPECT_EQ(graph->others_heard_by(1), std::vector<int>{0});
  EXPECT_EQ(graph->largest_degree(), 3U);
}

TEST(Neighborhood, InGridsWhatGoesOneWayComesFromTheOther) {
  // Closed over two and over one.
  const Lists grid = {{1, 1, 0, 0}, {0, 0, 1, 1}};
  const auto torus = paired(grid, grid, Pairing::opposite);
  ASSERT_TRUE(torus);
  EXPECT_EQ(torus->sources_of(0), (std::vector<Incoming>{{1, 1}, {1, 0}, {0, 3}, {0, 2}}));
  // Nobody at the ends.
  const Lists line = {{kNobody, 1}, {0, 2}, {1, kNobody}};
  const auto open = paired(line, line, Pairing::opposite);
  ASSERT_TRUE(open);
  EXPECT_EQ(open->sources_of(0), (std::vector<Incoming>{{kNobody, 0}, {1, 0}}));
  EXPECT_EQ(open->sources_of(1), (std::vector<Incoming>{{0, 1}, {2, 0}}));
  EXPECT_TRUE(open->tells_somebody(2));
}

TEST(Neighborhood, RefusesListsThatContradictEachOther) {
  EXPECT_FALSE(paired(Lists{{}, {}}, Lists{{1}, {}}, Pairing::in_order)) << "told, not heard";
  EXPECT_FALSE(paired(Lists{{}, {0}}, Lists{{}, {}}, Pairing::in_order)) << "heard, not told";
  EXPECT_FALSE(paired(Lists{{}, {0, 0}}, Lists{{1}, {}}, Pairing::in_order)) << "heard too often";
  EXPECT_FALSE(paired(Lists{{}, {2}}, Lists{{}, {}}, Pairing::in_order)) << "no such rank";
  EXPECT_FALSE(paired(Lists{{}}, Lists{{}, {}}, Pairing::in_order));
  EXPECT_FALSE(
      paired(Lists{{1, kNobody}, {kNobody, 0}}, Lists{{kNobody, 1}, {kNobody, 0}}, Pairing::opposite));
}

TEST(Neighborhood, SaysWhoIsAlone) {
  const auto graph = paired(Lists{{0}, {2}, {}}, Lists{{0}, {}, {1}}, Pairing::in_order);
  ASSERT_TRUE(graph);
  EXPECT_TRUE(graph->is_alone(0)) << "with itself";
  EXPECT_FALSE(graph->is_alone(1));
  EXPECT_FALSE(graph->is_alone(2));
  EXPECT_FALSE(graph->tells_somebody(1));
}

TEST(Neighborhood, ADigestTellsGraphsApart) {
  const Lists ring = {{1, 2}, {2, 0}, {0, 1}};
  const auto one = paired(ring, ring, Pairing::in_order);
  const auto other = paired(ring, Lists{{2, 1}, {2, 0}, {0, 1}}, Pairing::in_order);
  ASSERT_TRUE(one && other);
  EXPECT_EQ(one->digest(), paired(ring, ring, Pairing::in_order)->digest());
  EXPECT_NE(one->digest(), other->digest());
}

TEST(Neighborhood, HoldsWhatTheCollectivesMean) {
  const Lists line = {{kNobody, 1}, {0, 2}, {1, kNobody}};
  CommonProblem problem{.collective = Collective::neighbor_alltoall,
                        .n_ranks = 3,
                        .bytes = 4,
                        .neighbors = paired(line, line, Pairing::opposite)};
  EXPECT_EQ(input_bytes(problem, 0), 8U) << "with the place of nobody";
  EXPECT_EQ(output_bytes(problem, 0), 8U);
  const std::vector<Part> exchanged = meaning(problem, 0);
  ASSERT_EQ(exchanged.size(), 1U);
  EXPECT_EQ(exchanged[0].offset, 4U);
  EXPECT_EQ(exchanged[0].first, 1);
  EXPECT_EQ(exchanged[0].input_offset, 0U);
  problem.collective = Collective::neighbor_allgather;
  EXPECT_EQ(input_bytes(problem, 0), 4U);
  EXPECT_EQ(meaning(problem, 1)[1].first, 2);
  EXPECT_EQ(meaning(problem, 1)[1].input_offset, 0U);
  // Who tells nobody has no block.
  problem.neighbors = paired(Lists{{1, 2}, {}, {}}, Lists{{}, {0}, {0}}, Pairing::in_order);
  EXPECT_EQ(input_bytes(problem, 0), 0U);
  EXPECT_EQ(output_bytes(problem, 0), 8U);
  EXPECT_EQ(output_bytes(problem, 1), 0U);
}

}  // namespace
}  // namespace eco::coll
