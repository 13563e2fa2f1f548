#include "eco/structure/visible.h"

#include <gtest/gtest.h>

#include "eco/structure/testing.h"

namespace eco::structure {
namespace {

using testing::racks;

TEST(Visible, ARootOfTwoIsAPlaceOnALink) {
  const auto splits = true_splits(racks({{.n_hosts = 3}, {.n_hosts = 3}}, {10e-6, 5e6}));
  ASSERT_EQ(splits.size(), 1U);
  EXPECT_EQ(splits[0].side, (std::vector<int>{3, 4, 5}));
  EXPECT_EQ(splits[0].n_links, 2);
  EXPECT_EQ(splits[0].seen_by, SeenBy::latency);
  EXPECT_NEAR(splits[0].share, 2 * 20.0 / 60, 1e-9);
  EXPECT_DOUBLE_EQ(splits[0].could_carry, 75e6);
}

TEST(Visible, WhatTakesNoTimeIsSeenByRateBySharingOrNotAtAll) {
  const std::vector<testing::Rack> three(3, {.n_hosts = 3});
  const auto seen_by = [&](double uplink) {
    const auto splits = true_splits(racks(three, {0, uplink}));
    EXPECT_EQ(splits.size(), 3U);
    for (const TrueSplit& split : splits) EXPECT_EQ(split.seen_by, splits[0].seen_by);
    return splits[0].seen_by;
  };
  EXPECT_EQ(seen_by(5e6), SeenBy::rate);
  EXPECT_EQ(seen_by(30e6), SeenBy::sharing);
  EXPECT_EQ(seen_by(80e6), SeenBy::nothing);
}

TEST(Visible, WhatIsNotSeenIsMerged) {
  const TrueNetwork network = racks({{.n_hosts = 2}, {.n_hosts = 2}, {.n_hosts = 2}}, {0, 80e6});
  const std::vector<int> groups = visible_groups(network);
  EXPECT_EQ(groups, std::vector<int>(6, groups[0]));
  const std::vector<int> apart = visible_groups(racks({{.n_hosts = 2}, {.n_hosts = 2}}, {10e-6, 80e6}));
  EXPECT_EQ(apart[0], apart[1]);
  EXPECT_NE(apart[1], apart[2]);
}

}  // namespace
}  // namespace eco::structure
