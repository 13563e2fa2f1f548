#include "eco/structure/grouping.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "eco/structure/testing.h"

namespace eco::structure {
namespace {

using testing::racks;
using Parts = std::set<std::set<int>>;

// The hosts below each node between root and leaves.
Parts inner_nodes(const LatencyTree& tree) {
  Parts parts;
  for (int node = 0; node < static_cast<int>(tree.nodes.size()); ++node) {
    if (tree.nodes[node].host >= 0 || node == tree.root || tree.nodes[node].children.empty()) continue;
    std::set<int> hosts;
    for (const int leaf : tree.leaves_below(node)) hosts.insert(tree.nodes[leaf].host);
    parts.insert(hosts);
  }
  return parts;
}

LatencyTree grouped(const TrueNetwork& network, double noise = 0, unsigned seed = 1) {
  std::vector<int> hosts(network.hosts.size());
  std::iota(hosts.begin(), hosts.end(), 0);
  std::mt19937 random(seed);
  std::vector<std::vector<double>> factor(hosts.size(), std::vector<double>(hosts.size(), 1));
  for (auto& row : factor) {
    for (double& value : row) value += noise * std::uniform_real_distribution<>(0, 1)(random);
  }
  LatencyTree tree = group_hosts(
      hosts, [&](int a, int b) { return network.latency_s(a, b) * factor[std::min(a, b)][std::max(a, b)]; });
  tree.hang_from_line();
  return tree;
}

TEST(Grouping, OneSwitchHasNoStructure) {
  const TrueNetwork network = racks({{.n_hosts = 9}}, {});
  EXPECT_EQ(inner_nodes(grouped(network)), Parts());
  EXPECT_EQ(inner_nodes(grouped(network, 0.02)), Parts());
}

TEST(Grouping, SlowHostsStayOnTheirSwitch) {
  // Between hosts of the slow rack it is farther than from there to the fast one: by distance they would not be together.
  const TrueNetwork network = racks({{.n_hosts = 3}, {.n_hosts = 3, .arm_s = 60e-6}}, {8e-6, 5e6});
  ASSERT_GT(network.latency_s(3, 4), network.latency_s(0, 3));
  const Parts expected = {{0, 1, 2}, {3, 4, 5}};
  EXPECT_EQ(inner_nodes(grouped(network)), expected);
  EXPECT_EQ(inner_nodes(grouped(network, 0.015)), expected);
}

TEST(Grouping, TheRootIsInTheMiddle) {
  // A site of three racks, and one of two hosts that is far from it: the tree hangs from the line between them.
  TrueNetwork network;
  network.levels = {{}, {.parent = 0, .up = {4e-3, 1e9}}, {.parent = 0, .up = {3e-3, 1e9}}};
  for (int rack = 0; rack < 3; ++rack) network.levels.push_back({.parent = 1, .up = {20e-6, 1e9}});
  for (int host = 0; host < 12; ++host) network.hosts.push_back({3 + host / 4, {20e-6, 25e6}});
  for (int host = 0; host < 2; ++host) network.hosts.push_back({2, {20e-6, 25e6}});
  network.finish();
  const LatencyTree tree = grouped(network);
  const auto leaves = tree.leaves_below(tree.root);
  ASSERT_EQ(leaves.size(), network.hosts.size());
  const auto farthest_s = [&](int node) {
    double farthest_s = 0;
    for (const int leaf : leaves) farthest_s = std::max(farthest_s, tree.way_s(node, leaf));
    return farthest_s;
  };
  EXPECT_EQ(tree.nodes[tree.root].children.size(), 2U);
  EXPECT_LT(farthest_s(tree.root), 4e-3);
  for (int node = 0; node < static_cast<int>(tree.nodes.size()); ++node) {
    if (tree.nodes[node].children.size() > 1) {
      EXPECT_LE(farthest_s(tree.root), farthest_s(node) + 1e-9);
    }
  }
  for (const int a : leaves) {
    for (const int b : leaves) {
      if (a == b) continue;
      EXPECT_NEAR(tree.way_s(a, b), network.latency_s(tree.nodes[a].host, tree.nodes[b].host), 1e-9);
    }
  }
}

TEST(Grouping, FindsLevelsAndTheirLinks) {
  // Two sites of two racks each.
  TrueNetwork network;
  network.levels = {{},
                    {.parent = 0, .up = {5e-3, 1e9}},
                    {.parent = 0, .up = {2e-3, 1e9}},
                    {.parent = 1, .up = {15e-6, 1e9}},
                    {.parent = 1, .up = {25e-6, 1e9}},
                    {.parent = 2, .up = {15e-6, 1e9}},
                    {.parent = 2, .up = {15e-6, 1e9}}};
  for (int host = 0; host < 12; ++host) network.hosts.push_back({3 + host / 3, {30e-6, 1e9}});
  network.finish();
  const Parts expected = {{0, 1, 2},   {3, 4, 5},          {6, 7, 8},
                          {9, 10, 11}, {0, 1, 2, 3, 4, 5}, {6, 7, 8, 9, 10, 11}};
  EXPECT_EQ(inner_nodes(grouped(network, 0.01)), expected);
  const LatencyTree tree = grouped(network);
  EXPECT_EQ(inner_nodes(tree), expected);
  for (int node = 0; node < static_cast<int>(tree.nodes.size()); ++node) {
    if (tree.leaves_below(node).size() != 3) continue;
    const bool is_second = tree.nodes[tree.leaves_below(node).front()].host / 3 == 1;
    EXPECT_NEAR(tree.nodes[node].arm_s, is_second ? 25e-6 : 15e-6, 1e-9);
  }
}

TEST(Grouping, WhatHangsOnADissolvedNodeIsAsFarAsBefore) {
  LatencyTree tree = grouped(racks({{.n_hosts = 3}, {.n_hosts = 3}, {.n_hosts = 4}}, {20e-6, 1e9}));
  const auto leaf_of = [&](int host) {
    return static_cast<int>(std::find_if(tree.nodes.begin(), tree.nodes.end(),
                                         [&](const TreeNode& node) { return node.host == host; }) -
                            tree.nodes.begin());
  };
  EXPECT_NEAR(tree.way_s(leaf_of(0), leaf_of(1)), 40e-6, 1e-9);
  EXPECT_NEAR(tree.way_s(leaf_of(0), leaf_of(9)), 80e-6, 1e-9);
  const int rack = tree.nodes[leaf_of(0)].parent;
  ASSERT_NE(rack, tree.root);
  tree.dissolve(rack);
  EXPECT_EQ(inner_nodes(tree), (Parts{{3, 4, 5}, {6, 7, 8, 9}}));
  EXPECT_NEAR(tree.way_s(leaf_of(0), leaf_of(9)), 80e-6, 1e-9);
}

TEST(Grouping, LoneHostsAndFewHosts) {
  TrueNetwork network = racks({{.n_hosts = 3}, {.n_hosts = 3}}, {20e-6, 1e9});
  network.hosts.push_back({0, {45e-6, 1e9}});
  network.finish();
  EXPECT_EQ(inner_nodes(grouped(network, 0.01)), (Parts{{0, 1, 2}, {3, 4, 5}}));
  for (int n = 1; n <= 3; ++n) {
    const LatencyTree tree = grouped(racks({{.n_hosts = n}}, {}));
    EXPECT_EQ(inner_nodes(tree), Parts());
    EXPECT_EQ(tree.leaves_below(tree.root).size(), static_cast<std::size_t>(n));
  }
}

}  // namespace
}  // namespace eco::structure
