// Sites of subnets: what cuts of a view they make, what a message crosses, what becomes of them in files and parts.
#include "eco/net/sites.h"

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "eco/base/errors.h"
#include "eco/net/io.h"
#include "eco/net/part.h"
#include "eco/net/synthetic.h"

namespace eco::net {
namespace {

const std::string kTwoSites =
    "hosts=2+2+2+2+1 rate_mbit=200 uplink_mbit=60+60+60+60+none latency_us=50 between_us=400 sites=1+1+2+2+3 "
    "site_mbit=20 far_us=5000";

GroupView one_rank_each(const std::shared_ptr<const Network>& network) {
  std::vector<int> hosts(network->hosts.size());
  std::iota(hosts.begin(), hosts.end(), 0);
  return make_view(network, hosts);
}

std::vector<std::string> crossed(const Network& network, int from, int to) {
  std::vector<std::string> names;
  for (const int r : network.route(from, to).resources)
    names.push_back(network.resources[static_cast<std::size_t>(r)].name);
  return names;
}

TEST(Sites, WhatLeavesASiteCrossesItsLink) {
  const Network network = synthetic_network(kTwoSites);
  EXPECT_EQ(crossed(network, 0, 2),
            (std::vector<std::string>{"host 0 out", "uplink 0 out", "uplink 1 in", "host 2 in"}));
  EXPECT_EQ(crossed(network, 0, 4), (std::vector<std::string>{"host 0 out", "uplink 0 out", "site 0 out",
                                                              "site 1 in", "uplink 2 in", "host 4 in"}));
  EXPECT_EQ(crossed(network, 8, 0),
            (std::vector<std::string>{"host 8 out", "site 0 in", "uplink 0 in", "host 0 in"}));
}

TEST(Sites, ThoseWithinOthersAreLeftFirst) {
  Network network = synthetic_network("hosts=1+1+1+1 rate_mbit=100");
  network.sites = {{{0, 1, 2}, 5e6}, {{0, 1}, 4e6}};
  network.finish();
  const auto names = crossed(network, 0, 3);
  const auto back = crossed(network, 3, 0);
  const std::vector<std::string> up(names.begin() + 1, names.begin() + 3);
  const std::vector<std::string> down(back.begin() + 1, back.begin() + 3);
  EXPECT_EQ(up, (std::vector<std::string>{"site 1 out", "site 0 out"}));
  EXPECT_EQ(down, (std::vector<std::string>{"site 0 in", "site 1 in"}));
  EXPECT_EQ(crossed(network, 0, 2)[1], "site 1 out");
}

TEST(Sites, OneLinkServesBothDirectionsIfItIsHalfDuplex) {
  Network network = synthetic_network("hosts=1+1+1 rate_mbit=100");
  network.sites = {{{0, 1}, 4e6, true}};
  network.finish();
  EXPECT_EQ(crossed(network, 0, 2)[1], "site 0");
  EXPECT_EQ(crossed(network, 2, 0)[1], "site 0");
}

TEST(Sites, CutsAreByLevelAndWithWhatIsOfNoSiteTogether) {
  const auto network = std::make_shared<const Network>(synthetic_network(kTwoSites));
  EXPECT_EQ(site_cuts(one_rank_each(network)), (std::vector<std::vector<int>>{{0, 0, 1, 1, 2}}));

  Network nested = synthetic_network("hosts=1+1+1+1+1 rate_mbit=100");
  nested.sites = {{{0, 1, 2}}, {{0, 1}}};
  nested.finish();
  EXPECT_EQ(
      site_cuts(one_rank_each(std::make_shared<const Network>(nested))),
      (std::vector<std::vector<int>>{{0, 0, 0, 1, 2}, {0, 0, 0, 1, 1}, {0, 0, 1, 2, 3}, {0, 0, 1, 2, 2}}));
}

TEST(Sites, ThereAreNoCutsWhereSubnetsAreAllThereIs) {
  const auto flat = std::make_shared<const Network>(synthetic_network("hosts=2+2+2"));
  EXPECT_TRUE(site_cuts(one_rank_each(flat)).empty());
  // Ranks of one site only.
  const auto network = std::make_shared<const Network>(synthetic_network(kTwoSites));
  EXPECT_TRUE(site_cuts(make_view(network, {0, 1, 2, 3})).empty());
}

TEST(Sites, JoinedSubnetsHaveTheirRanksSubnetBySubnet) {
  const auto network = std::make_shared<const Network>(synthetic_network(kTwoSites));
  const GroupView view = make_view(network, {6, 0, 8, 4, 2, 1});
  const GroupView joined = join_subnets(view, site_cuts(view).at(0));
  ASSERT_EQ(joined.n_subnets(), 3);
  EXPECT_EQ(joined.subnets[0].ranks, (std::vector<int>{1, 5, 4}));
  EXPECT_EQ(joined.subnets[1].ranks, (std::vector<int>{3, 0}));
  EXPECT_EQ(joined.subnet_of_rank, (std::vector<int>{1, 0, 2, 1, 0, 0}));
}

TEST(Sites, JoinedSubnetsOfOneInnerSiteAreNeighbours) {
  Network nested = synthetic_network("hosts=1+1+1+1+1 rate_mbit=100");
  nested.sites = {{{0, 1, 2, 4}}, {{0, 4}}, {{1, 2}}};
  nested.finish();
  const GroupView view = one_rank_each(std::make_shared<const Network>(nested));
  const GroupView joined = join_subnets(view, {0, 0, 0, 1, 0});
  EXPECT_EQ(joined.subnets[0].ranks, (std::vector<int>{0, 4, 1, 2}));
  EXPECT_EQ(joined.subnets[1].ranks, std::vector<int>{3});
}

TEST(Sites, TheirTreeCrossesEachLinkOnce) {
  Network nested =
      synthetic_network("hosts=1+1+1+1+1+1 rate_mbit=100+100+10+100+100+100 latency_us=50 between_us=400");
  nested.sites = {{{0, 1, 2, 4}}, {{0, 4}}, {{1, 2}}};
  nested.finish();
  const GroupView view = one_rank_each(std::make_shared<const Network>(nested));
  // Subnets 0 and 4 are one site, 1 and 2 (which is slow) another, all of these a third; 3 and 5 are of none.
  EXPECT_EQ(site_tree(view), (std::vector<int>{-1, 0, 1, 0, 0, 0}));
  // A slow subnet speaks for no site.
  EXPECT_EQ(site_tree(make_view(view.network, {2, 1, 0, 3})), (std::vector<int>{-1, 0, 1, 0}));
  const auto flat = std::make_shared<const Network>(synthetic_network("hosts=2+2+2"));
  EXPECT_TRUE(site_tree(one_rank_each(flat)).empty());
}

TEST(Sites, FilesAndPartsKeepThem) {
  const auto network = std::make_shared<const Network>(synthetic_network(kTwoSites));
  const Network again = parse_network(to_json(*network), "test");
  ASSERT_EQ(again.sites.size(), 2U);
  EXPECT_EQ(again.sites[1].subnets, (std::vector<int>{2, 3}));
  EXPECT_EQ(again.fingerprint(), network->fingerprint());
  const Part part = part_of(network, {2, 3, 4, 6});
  ASSERT_EQ(part.network->sites.size(), 2U);
  EXPECT_EQ(part.network->sites[0].subnets, (std::vector<int>{0}));
  EXPECT_EQ(part.network->sites[1].subnets, (std::vector<int>{1, 2}));
  EXPECT_EQ(crossed(*part.network, 0, 2)[2], "site 0 out");
}

TEST(Sites, ContradictionsAreRefused) {
  const auto refused = [](std::vector<Site> sites) {
    Network network = synthetic_network("hosts=1+1+1+1 rate_mbit=100");
    network.sites = std::move(sites);
    try {
      network.finish();
    } catch (const InvalidArgument& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_NE(refused({{{0, 4}}}).find("there is no subnet 4"), std::string::npos);
  EXPECT_NE(refused({{{1, 0}}}).find("not ascending"), std::string::npos);
  EXPECT_NE(refused({{{}}}).find("has no subnets"), std::string::npos);
  EXPECT_NE(refused({{{0, 1}}, {{1, 2}}}).find("neither apart from nor within site 0"), std::string::npos);
  EXPECT_NE(refused({{{0, 1}}, {{0, 1, 2}}}).find("neither apart from nor within site 0"), std::string::npos);
  EXPECT_NE(refused({{{0, 1, 2}, 1e6}, {{0, 1}, 1e6}, {{0}, 1e6}}).find("more than 2 links"),
            std::string::npos);
  EXPECT_NE(refused({{{0, 1}, -1.0}}).find("not a rate"), std::string::npos);
}

}  // namespace
}  // namespace eco::net
