#include "eco/net/tree.h"

#include <gtest/gtest.h>

#include "eco/base/errors.h"
#include "eco/net/io.h"
#include "eco/net/synthetic.h"

namespace eco::net {
namespace {

// 3 + 3 + 2 hosts, of which two subnets hang on a level of their own.
Network with_tree() {
  Network network = synthetic_network("hosts=3+3+2 rate_mbit=200 uplink_mbit=40");
  network.tree.levels.resize(5);
  const auto put = [&](std::size_t number, int parent, std::vector<int> hosts) {
    Level& level = network.tree.levels[number];
    level.parent = parent;
    level.hosts = std::move(hosts);
    level.kind = level.hosts.empty() ? SubnetKind::unknown : SubnetKind::switched;
    level.latency_s = 40e-6;
    level.bytes_per_s = 25e6;
    if (parent >= 0)
      network.tree.levels[static_cast<std::size_t>(parent)].children.push_back(static_cast<int>(number));
  };
  put(0, -1, {});
  put(1, 0, {});
  put(2, 1, {0, 1, 2});
  put(3, 1, {3, 4, 5});
  put(4, 0, {6, 7});
  network.tree.levels[2].uplink_bytes_per_s = 5e6;
  network.tree.levels[2].half_duplex = true;
  network.tree.levels[3].confidence = 0.5;
  network.tree.levels[3].evidence = "3 of 6 checks";
  network.tree.verdict = "because";
  network.tree.seconds = 1.5;
  network.finish();
  return network;
}

std::string refusal_of_tree(const Network& network) {
  try {
    parse_network(to_json(network), "x");
  } catch (const CorruptFile& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Tree, IsWrittenAndReadAgain) {
  const Network network = with_tree();
  const Network same = parse_network(to_json(network), "x");
  EXPECT_EQ(to_json(same), to_json(network));
  EXPECT_EQ(same.tree.levels[1].children, (std::vector<int>{2, 3}));
  EXPECT_EQ(same.tree.splits(), network.tree.splits());
  EXPECT_EQ(same.tree.levels[2].uplink_bytes_per_s, 5e6);
  EXPECT_FALSE(same.tree.levels[3].uplink_bytes_per_s);
  EXPECT_EQ(same.tree.verdict, "because");
}

TEST(Tree, OfNoFileBeforeItWasKnown) {
  const Network network = synthetic_network("hosts=3+3+2");
  EXPECT_EQ(to_json(network).find("\"tree\""), std::string::npos);
  EXPECT_FALSE(parse_network(to_json(network), "x").tree.is_known());
  EXPECT_EQ(with_tree().fingerprint(),
            synthetic_network("hosts=3+3+2 rate_mbit=200 uplink_mbit=40").fingerprint());
  EXPECT_FALSE(with_tree().without_samples().tree.is_known());
}

TEST(Tree, SubnetsAndLevelsOfHosts) {
  Tree tree = with_tree().tree;
  EXPECT_EQ(tree.subnets(), (Partition{{0, 1, 2}, {3, 4, 5}, {6, 7}}));
  EXPECT_EQ(tree.level_of_host(), (std::vector<int>{2, 2, 2, 3, 3, 3, 4, 4}));
  EXPECT_FALSE(tree.is_sure());
  tree.levels[3].confidence = 1;
  EXPECT_TRUE(tree.is_sure());
  EXPECT_FALSE(Tree().is_sure());
  EXPECT_TRUE(Tree().subnets().empty());
}

TEST(Tree, WhatIsNoTreeIsRefused) {
  const auto spoilt = [](const auto& spoil) {
    Network network = with_tree();
    spoil(network.tree.levels);
    return refusal_of_tree(network);
  };
  using Levels = std::vector<Level>&;
  EXPECT_NE(spoilt([](Levels levels) { levels[2].parent = 3; }).find("its parent 3 is not before it"),
            std::string::npos);
  EXPECT_NE(spoilt([](Levels levels) { levels[0].parent = 0; }).find("is not before it"), std::string::npos);
  EXPECT_NE(spoilt([](Levels levels) { levels[4].hosts = {6}; }).find("host 7 is on 0 levels"),
            std::string::npos);
  EXPECT_NE(spoilt([](Levels levels) { levels[4].hosts = {5, 6, 7}; }).find("host 5 is on 2 levels"),
            std::string::npos);
  EXPECT_NE(spoilt([](Levels levels) { levels[4].hosts = {6, 7, 8}; }).find("host 8 is out of range"),
            std::string::npos);
  EXPECT_NE(spoilt([](Levels levels) { levels[4].hosts = {7, 6}; }).find("not ascending"), std::string::npos);
  EXPECT_NE(spoilt([](Levels levels) { levels[2].uplink_bytes_per_s = 0; }).find("not a rate"),
            std::string::npos);
  EXPECT_NE(spoilt([](Levels levels) { levels[2].confidence = 2; }).find("confidence"), std::string::npos);
  EXPECT_NE(spoilt([](Levels levels) { levels[2].latency_s = -1; }).find("not a time"), std::string::npos);
}

}  // namespace
}  // namespace eco::net
