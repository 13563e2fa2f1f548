#include "eco/net/tour.h"

#include <gtest/gtest.h>

#include <memory>

#include "eco/net/synthetic.h"

namespace eco::net {
namespace {

TEST(Tour, VisitsSubnetsOnTheFastestLinks) {
  auto network = std::make_shared<Network>(synthetic_network("hosts=1+1+1+1 rate_mbit=100"));
  // 0-1 is fastest and 2-3 slowest, and together they take less than any two of the others, which are alike: by the
  // sum a ring would go over both.
  for (Between& pair : network->between) {
    pair.bytes_per_s = 4e6;
    if (pair.from == 0 && pair.to == 1) pair.bytes_per_s = 12e6;
    if (pair.from == 2 && pair.to == 3) pair.bytes_per_s = 3.2e6;
  }
  network->finish();
  EXPECT_EQ(min_max_tour(make_view(network, {0, 1, 2, 3}), 65536), (std::vector{0, 2, 1, 3}));
}

// Three ranks of two hosts each: a subnet is a point, whatever is on it.
TEST(Tour, HasEachSubnetOnce) {
  auto network = std::make_shared<Network>(synthetic_network("hosts=2+2+2 uplink_mbit=10"));
  EXPECT_EQ(min_max_tour(make_view(network, {5, 0, 3, 1, 4, 2}), 1024), (std::vector{0, 1, 2}));
}

}  // namespace
}  // namespace eco::net
