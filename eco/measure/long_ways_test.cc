#include "eco/measure/long_ways.h"

#include <gtest/gtest.h>

namespace eco::measure {
namespace {

TEST(LongWays, AThirdHostTellsOfTwoThatNeverMet) {
  LongWays ways(4);
  EXPECT_FALSE(ways.are_far(1, 2));
  ways.saw(0, 1, 1e-4);
  ways.saw(0, 2, 0.01);
  ways.saw(0, 3, 0.01);
  EXPECT_TRUE(ways.are_far(0, 2));
  EXPECT_TRUE(ways.are_far(2, 1));   // one is near to 0, the other is not
  EXPECT_FALSE(ways.are_far(2, 3));  // they may be neighbours
  EXPECT_EQ(ways.sites(), (std::vector<int>{0, 0, 1, 2}));
  ways.saw(2, 3, 2e-4);
  EXPECT_EQ(ways.sites(), (std::vector<int>{0, 0, 1, 1}));
}

TEST(LongWays, TheLowestTimeCounts) {
  LongWays ways(2);
  ways.saw(0, 1, 0.01);
  ways.saw(1, 0, 1e-4);  // the first was disturbed
  EXPECT_FALSE(ways.are_far(0, 1));
}

}  // namespace
}  // namespace eco::measure
