#include "eco/measure/common.h"

#include <gtest/gtest.h>

#include "eco/net/synthetic.h"

namespace eco::measure {
namespace {

// What 8 hosts take that have this in common, and nothing else, of exchanges that two would finish in 100 us.
CommonTimes times_of(const Common& truth) {
  CommonTimes times;
  const double all_s = 100e-6 + 54 * truth.message_s + 6 * truth.wake_s;
  const double ring_s = 8 * (truth.message_s + truth.wake_s);
  const double short_ring_s = 4 * (truth.message_s + truth.wake_s);
  times.two_s = {100e-6, 101e-6, 90e-6};
  times.all_s = {all_s + 1e-3, all_s, all_s - 1e-5};
  times.ring_s = {ring_s, ring_s - 1e-5, ring_s + 1e-3};
  times.short_ring_s = {short_ring_s, short_ring_s - 1e-5, short_ring_s + 1e-3};
  return times;
}

void expect_common(const Common& found, double message_s, double wake_s) {
  EXPECT_NEAR(found.message_s, message_s, 1e-9);
  EXPECT_NEAR(found.wake_s, wake_s, 1e-9);
}

TEST(Common, ARingTellsWakingFromPassing) {
  expect_common(common_from(8, times_of({12e-6, 20e-6})), 12e-6, 20e-6);
}

TEST(Common, WhereTheWayIsLongARingSaysNothing) {
  CommonTimes times = times_of({12e-6, 0});
  times.two_s = {1e-3};
  times.all_s = {1e-3 + 54 * 12e-6};
  times.ring_s = {1.01e-3};
  times.short_ring_s = {1e-3};
  const Common found = common_from(8, times);
  expect_common(found, 12e-6, 0);
  EXPECT_EQ(found.wake_s, 0);
}

TEST(Common, NothingWakesWhereARingTakesNoLongerThanItsMessages) {
  CommonTimes times = times_of({20e-6, 0});
  times.ring_s = {155e-6};
  times.short_ring_s = {80e-6};
  const Common found = common_from(8, times);
  expect_common(found, 20e-6, 0);
  EXPECT_EQ(found.wake_s, 0);
}

TEST(Common, WithoutARingMessagesHoldAllOfIt) {
  CommonTimes times = times_of({12e-6, 20e-6});
  times.ring_s.clear();
  const Common found = common_from(8, times);
  expect_common(found, (54 * 12e-6 + 6 * 20e-6) / 54, 0);
  EXPECT_EQ(found.wake_s, 0);
}

TEST(Common, IsAskedForOnlyWhereLinksDoNotExplainTheExchange) {
  net::Network network = net::synthetic_network("hosts=8 rate_mbit=200 latency_us=40");
  const double explained = explained_s(network, {0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_FALSE(has_common({{100e-6}, {120e-6}, {}, {}}, explained));
  EXPECT_TRUE(has_common({{100e-6, 300e-6}, {900e-6, 700e-6}, {}, {}}, explained));
  EXPECT_FALSE(has_common({{0}, {700e-6}, {}, {}}, explained));
}

}  // namespace
}  // namespace eco::measure
