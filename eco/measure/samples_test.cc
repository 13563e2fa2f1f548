#include "eco/measure/samples.h"

#include <gtest/gtest.h>

namespace eco::measure {
namespace {

TEST(ConfirmedMinimum, TakesTheLowestThatAnotherConfirms) {
  EXPECT_EQ(confirmed_minimum({1.3, 1.0, 1.1}), 1.0);
  EXPECT_EQ(confirmed_minimum({0.1, 1.0, 1.1}), 1.0);
  EXPECT_EQ(confirmed_minimum({10.0, 1.0, 1.1}), 1.0);
  EXPECT_EQ(confirmed_minimum({1.0, 1.25}), 1.0);      // exactly 0.8
  EXPECT_EQ(confirmed_minimum({1.0, 2.0, 4.0}), 1.0);  // nothing confirms anything: the lowest
}

TEST(ConfirmedMinimum, SuspectsUnderFourFifthsOfTheNext) {
  EXPECT_TRUE(minimum_is_suspect({1.0}));
  EXPECT_TRUE(minimum_is_suspect({0.79, 1.0, 1.0}));
  EXPECT_FALSE(minimum_is_suspect({0.8, 1.0, 5.0}));
}

TEST(SampleTable, NumbersPairsInOrderAndKeepsSizesAscending) {
  SampleTable table(4);
  ASSERT_EQ(table.pairs.size(), 6u);
  for (std::size_t i = 0; i < table.pairs.size(); ++i)
    EXPECT_EQ(table.index_of(table.pairs[i].a, table.pairs[i].b), i);
  EXPECT_EQ(table.add_size(1024), 0u);
  table.pairs[2].samples[0] = {3.0, 2.5};
  EXPECT_EQ(table.add_size(8), 0u);
  EXPECT_TRUE(table.of(2, 0).empty());
  EXPECT_EQ(table.label(2, 1), 2.5);
  table.drop_size(0);
  EXPECT_EQ(table.sizes, std::vector<std::size_t>{1024});
  EXPECT_EQ(table.label(2, 0), 2.5);
}

}  // namespace
}  // namespace eco::measure
