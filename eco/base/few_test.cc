#include "eco/base/few.h"

#include <gtest/gtest.h>

namespace eco::base {
namespace {

TEST(Few, HoldsWhatWasPutThereInOrder) {
  Few<int, 3> few = {4};
  few.push_back(5);
  EXPECT_EQ(few, (Few<int, 3>{4, 5}));
  EXPECT_FALSE(few == (Few<int, 3>{4, 5, 6}));
  EXPECT_EQ(few.front(), 4);
  EXPECT_EQ(few.back(), 5);
  int sum = 0;
  for (const int item : few) sum += item;
  EXPECT_EQ(sum, 9);
  EXPECT_TRUE((Few<int, 3>{}.empty()));
}

}  // namespace
}  // namespace eco::base
