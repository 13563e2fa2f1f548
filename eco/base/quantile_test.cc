#include "eco/base/quantile.h"

#include <gtest/gtest.h>

#include <vector>

namespace eco::base {
namespace {

TEST(Quantile, LiesBetweenTheTwoNearest) {
  const std::vector<double> four{1, 2, 4, 8};
  EXPECT_DOUBLE_EQ(quantile(four, 0), 1);
  EXPECT_DOUBLE_EQ(quantile(four, 0.5), 3);
  EXPECT_DOUBLE_EQ(quantile(four, 0.75), 5);
  EXPECT_DOUBLE_EQ(quantile(four, 1), 8);
  EXPECT_DOUBLE_EQ(quantile(std::vector<double>{7}, 0.25), 7);
}

}  // namespace
}  // namespace eco::base
