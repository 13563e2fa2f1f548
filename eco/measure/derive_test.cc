// Map: what uplinks and links of sites are made of pair rates, and where flows go that ask what is shared at a border.
#include "eco/measure/derive.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "eco/measure/sharing.h"
#include "eco/net/synthetic.h"

namespace eco::measure {
namespace {

// Subnets of two hosts at 12.5 MB/s inside, of which the first two are a site; rates between them in MB/s.
net::Network four_subnets(double a_b, double b_others, double a_others) {
  net::Network network = net::synthetic_network("hosts=2+2+2+2 rate_mbit=100");
  network.sites = {{{0, 1}}};
  for (net::Between& pair : network.between) {
    const bool is_of_a = pair.from == 0;
    const bool is_of_b = pair.from == 1 || pair.to == 1;
    pair.bytes_per_s = 1e6 * (is_of_a && is_of_b ? a_b : is_of_b ? b_others : is_of_a ? a_others : 12.5);
  }
  return network;
}

std::set<int> subnets_asked(const net::Network& network, const std::string& what) {
  std::set<int> asked;
  for (const SharingTest& test : tests_across(network)) {
    if (test.what() != what) continue;
    for (const HostFlow& flow : test.flows)
      asked.insert(network.subnet_of_host[static_cast<std::size_t>(flow.to)]);
  }
  return asked;
}

TEST(Derive, ASiblingsSlowUplinkIsNotOnesOwn) {
  net::Network network = four_subnets(2.5, 2.5, 12.5);
  derive_uplinks(network, {});
  ASSERT_EQ(network.uplinks.size(), 1U);
  EXPECT_EQ(network.uplinks[0].subnet, 1);
  EXPECT_DOUBLE_EQ(network.uplinks[0].bytes_per_s, 2.5e6);
}

TEST(Derive, WhatIsSharedAtABorderIsAskedWithinTheSite) {
  EXPECT_EQ(subnets_asked(four_subnets(7.5, 2.5, 2.5), "uplink 0"), std::set<int>{1});
  // Unless ways out of it are clearly faster.
  EXPECT_EQ(subnets_asked(four_subnets(2.5, 2.5, 7.5), "uplink 0"), (std::set<int>{2, 3}));
}

TEST(Derive, FlowsToOneSiteMeetOnItsLink) {
  // Subnet 2 has subnets 0 and 1 behind one link, and 3 beside them.
  EXPECT_TRUE(subnets_asked(four_subnets(7.5, 7.5, 7.5), "uplink 2").contains(3));
}

TEST(Derive, ASitesLinkIsWhatTheBestPairThatLeavesItGets) {
  net::Network slow = four_subnets(7.5, 2.5, 3);
  derive_site_links(slow);
  EXPECT_DOUBLE_EQ(slow.sites[0].bytes_per_s, 3e6);
  net::Network fast = four_subnets(7.5, 2.5, 7.5);
  derive_site_links(fast);
  EXPECT_DOUBLE_EQ(fast.sites[0].bytes_per_s, 0);
}

TEST(Derive, PairsPartedAtOneSizeOrByLittleAreContested) {
  // Hosts 0 1 2 and 3, far away. Of short messages 0 and 1 look alone, by little; of long ones 1 and 2 are near each other.
  const std::vector<std::size_t> sizes = {1024, 65536};
  const std::vector<net::PairTimes> pairs = {{0, 1, {130e-6, 5.5e-3}, {}}, {0, 2, {100e-6, 7e-3}, {}},
                                             {0, 3, {900e-6, 40e-3}, {}},  {1, 2, {140e-6, 4e-3}, {}},
                                             {1, 3, {900e-6, 40e-3}, {}},  {2, 3, {900e-6, 40e-3}, {}}};
  const auto indices = [](std::initializer_list<std::size_t> all) { return std::vector<std::size_t>(all); };
  EXPECT_EQ(contested_pairs(4, sizes, pairs, 0), indices({3}));
  EXPECT_EQ(close_pairs(4, pairs, 0), indices({0, 3}));
  EXPECT_EQ(contested_pairs(4, sizes, pairs, 1), indices({1}));
  EXPECT_EQ(close_pairs(4, pairs, 1), indices({0}));
}

TEST(Derive, OfSitesWithinEachOtherTheInnermostLoseTheirLinks) {
  std::vector<net::Site> sites = {{{0, 1, 2, 3}, 1e6}, {{0, 1, 2}, 2e6}, {{0, 1}, 3e6}, {{4, 5}, 4e6}};
  limit_site_links(sites);
  EXPECT_EQ(std::count_if(sites.begin(), sites.end(), [](const net::Site& s) { return s.bytes_per_s > 0; }),
            3);
  EXPECT_DOUBLE_EQ(sites[2].bytes_per_s, 0);
}

}  // namespace
}  // namespace eco::measure
