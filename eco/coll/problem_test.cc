#include "eco/coll/problem.h"

#include <gtest/gtest.h>

namespace eco::coll {
namespace {

std::size_t grain(Collective collective, std::size_t bytes, std::size_t element_bytes) {
  return grain_of({.collective = collective, .n_ranks = 3, .bytes = bytes}, element_bytes);
}

TEST(Problem, ShortElementsAreCutAsDoublesAre) {
  EXPECT_EQ(grain(Collective::allreduce, 8, 1), 8);
  EXPECT_EQ(grain(Collective::allreduce, 1024, 4), 8);
  EXPECT_EQ(grain(Collective::allreduce, 24, 8), 8);
  EXPECT_EQ(grain(Collective::reduce_scatter, 3 * 16, 2), 8);
}

TEST(Problem, NeverInsideAnElementOrAcrossBlocks) {
  EXPECT_EQ(grain(Collective::allreduce, 12, 4), 4) << "no whole doubles";
  EXPECT_EQ(grain(Collective::allreduce, 48, 16), 16);
  EXPECT_EQ(grain(Collective::allreduce, 24, 3), 3);
  EXPECT_EQ(grain(Collective::reduce_scatter, 3 * 4, 4), 4) << "of one block";
  EXPECT_EQ(grain(Collective::reduce_scatter, 3 * 8 + 8, 1), 1) << "no equal blocks";
}

}  // namespace
}  // namespace eco::coll
