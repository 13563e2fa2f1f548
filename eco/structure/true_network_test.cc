#include "eco/structure/true_network.h"

#include <gtest/gtest.h>

#include "eco/structure/testing.h"

namespace eco::structure {
namespace {

using testing::racks;

TEST(TrueNetwork, LatenciesOfLinksAddUp) {
  const TrueNetwork network = racks({{.n_hosts = 2}, {.n_hosts = 2, .arm_s = 50e-6}}, {10e-6, 5e6});
  EXPECT_DOUBLE_EQ(network.latency_s(0, 1), 40e-6);
  EXPECT_DOUBLE_EQ(network.latency_s(0, 2), 90e-6);
  EXPECT_DOUBLE_EQ(network.latency_s(3, 0), 90e-6);
}

TEST(TrueNetwork, FlowsShareMaxMinFairly) {
  const TrueNetwork network = racks({{.n_hosts = 3}, {.n_hosts = 3}}, {10e-6, 30e6});
  // Alone, a port is the limit; three at once divide the uplink.
  EXPECT_EQ(network.shares({{0, 3}}), (std::vector<double>{25e6}));
  EXPECT_EQ(network.shares({{0, 3}, {1, 4}, {2, 5}}), (std::vector<double>{10e6, 10e6, 10e6}));
  // The other direction is another resource, and what one leaves another may take.
  EXPECT_EQ(network.shares({{0, 3}, {4, 1}}), (std::vector<double>{25e6, 25e6}));
  EXPECT_EQ(network.shares({{0, 3}, {0, 1}, {2, 4}}), (std::vector<double>{12.5e6, 12.5e6, 17.5e6}));
}

TEST(TrueNetwork, BusesAndHalfDuplexUplinksCarryBothDirectionsAtOnce) {
  const TrueNetwork half = racks({{.n_hosts = 2}, {.n_hosts = 2}}, {10e-6, 10e6, true});
  EXPECT_EQ(half.shares({{0, 2}, {3, 1}}), (std::vector<double>{5e6, 5e6}));
  const TrueNetwork bus =
      racks({{.n_hosts = 4, .port = 10e6, .is_bus = true}, {.n_hosts = 2}}, {10e-6, 100e6});
  EXPECT_EQ(bus.shares({{0, 1}, {2, 3}}), (std::vector<double>{5e6, 5e6}));
  EXPECT_EQ(bus.shares({{0, 1}, {4, 5}}), (std::vector<double>{10e6, 25e6}));
  EXPECT_EQ(bus.shares({{0, 1}, {4, 2}}), (std::vector<double>{5e6, 5e6}));
}

}  // namespace
}  // namespace eco::structure
