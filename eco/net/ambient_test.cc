#include "eco/net/ambient.h"

#include <gtest/gtest.h>

#include <string>

#include "eco/base/errors.h"
#include "eco/net/synthetic.h"

namespace eco::net {
namespace {

Network two_for_ambient() { return synthetic_network("hosts=2+2 rate_mbit=200 uplink_mbit=40"); }

int link_named(const Network& network, const std::string& name) {
  for (std::size_t r = 0; r < network.resources.size(); ++r) {
    if (network.resources[r].name == name) return static_cast<int>(r);
  }
  return -1;
}

TEST(Ambient, TakesOfALinkAndLeavesTheOthers) {
  const Network network = two_for_ambient();
  const int out = link_named(network, "uplink 0 out");
  ASSERT_GE(out, 0);
  const Network loaded = under(network, {{{out, 250}}, {{0, 3000}}});
  for (std::size_t r = 0; r < network.resources.size(); ++r) {
    const double left = static_cast<int>(r) == out ? 0.25 : 1;
    EXPECT_DOUBLE_EQ(loaded.resources[r].bytes_per_s, left * network.resources[r].bytes_per_s) << r;
  }
  EXPECT_NEAR(loaded.route(0, 2).latency_s - network.route(0, 2).latency_s, 0.003, 1e-9);
  EXPECT_EQ(loaded.subnet_of_host, network.subnet_of_host);
}

TEST(Ambient, IsSentAsText) {
  const Ambient ambient{{{3, 400}, {7, 0}}, {{0, 12}}};
  const Ambient again = Ambient::parse(ambient.text());
  EXPECT_EQ(again.links, ambient.links);
  EXPECT_EQ(again.ways, ambient.ways);
  EXPECT_TRUE(Ambient::parse("").is_quiet());
  for (const char* bad : {"link", "link 3", "link x 4", "hop 3 4", "link -1 4", "way 0 -3", "link 3 4 way"})
    EXPECT_THROW(Ambient::parse(bad), InvalidArgument) << bad;
}

TEST(Ambient, WhatIsNotOfTheNetworkIsRefused) {
  const Network network = two_for_ambient();
  EXPECT_THROW(under(network, {{{1000, 500}}, {}}), InvalidArgument);
  EXPECT_THROW(under(network, {{}, {{1, 500}}}), InvalidArgument);
}

TEST(Ambient, SaysWhere) {
  const Network network = two_for_ambient();
  const Ambient ambient{{{link_named(network, "uplink 1 in"), 405}}, {{0, 6000}}};
  EXPECT_EQ(ambient.describe(network), "uplink 1 in at 40 %, subnets 0 and 1 6.0 ms further apart");
  EXPECT_EQ(Ambient{}.describe(network), "quiet");
  EXPECT_TRUE(ambient.is_where({{{ambient.links[0].resource, 100}}, {{0, 1}}}));
  EXPECT_FALSE(ambient.is_where({{{ambient.links[0].resource, 100}}, {}}));
}

}  // namespace
}  // namespace eco::net
