#include "eco/structure/find.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <set>
#include <vector>

#include "eco/structure/generate.h"
#include "eco/structure/sampler.h"
#include "eco/structure/testing.h"
#include "eco/structure/trial.h"

namespace eco::structure {
namespace {

using net::Level;
using net::SubnetKind;
using net::Tree;
using testing::racks;

const SimulatedOptions kNoisy = {.noise = 0.02, .spoilt = 0.05, .seed = 5};

Tree found(const TrueNetwork& network, const SimulatedOptions& options = kNoisy) {
  SimulatedProbe probe(network, options);
  return find_structure(probe).tree;
}

TEST(FindStructure, ABusASwitchAndTheirUplinks) {
  const TrueNetwork network =
      racks({{.n_hosts = 5, .port = 10e6, .is_bus = true}, {.n_hosts = 4, .arm_s = 50e-6}, {.n_hosts = 4}},
            {15e-6, 4e6});
  const Tree tree = found(network);
  EXPECT_EQ(tree.splits(),
            (std::set<std::vector<int>>{{5, 6, 7, 8, 9, 10, 11, 12}, {5, 6, 7, 8}, {9, 10, 11, 12}}));
  ASSERT_EQ(tree.levels.size(), 4U);
  for (std::size_t l = 1; l < tree.levels.size(); ++l) {
    const Level& level = tree.levels[l];
    EXPECT_EQ(level.kind, level.hosts.front() == 0 ? SubnetKind::bus : SubnetKind::switched);
    ASSERT_TRUE(level.uplink_bytes_per_s);
    EXPECT_NEAR(*level.uplink_bytes_per_s / 4e6, 1, 0.1);
    EXPECT_FALSE(level.half_duplex);
    EXPECT_GT(level.confidence, 0.5);
    EXPECT_FALSE(level.evidence.empty());
  }
}

TEST(FindStructure, OneMachineThatPlaysAllHostsIsNoMedium) {
  const TrueNetwork network =
      racks({{.n_hosts = 3}, {.n_hosts = 3, .arm_s = 50e-6}, {.n_hosts = 2, .arm_s = 90e-6}}, {15e-6, 5e6});
  // Two streams in each of three racks would be 150 MB/s.
  const Tree tree = found(network, {.noise = 0.02, .spoilt = 0.05, .most_bytes_per_s = 110e6, .seed = 5});
  ASSERT_EQ(tree.levels.size(), 4U);
  for (std::size_t l = 1; l < tree.levels.size(); ++l) {
    EXPECT_EQ(tree.levels[l].kind, SubnetKind::switched) << tree.levels[l].hosts.size() << " hosts";
  }
}

TEST(FindStructure, NoStructureIsOneLevel) {
  for (const int n : {1, 2, 3, 8, 100}) {
    const Tree tree = found(racks({{.n_hosts = n}}, {}));
    EXPECT_EQ(tree.levels.size(), 1U) << n << " hosts";
    EXPECT_EQ(tree.levels[0].hosts.size(), static_cast<std::size_t>(n));
    if (n > 1) {
      EXPECT_EQ(tree.levels[0].kind, SubnetKind::switched) << n << " hosts";
    }
  }
}

TEST(FindStructure, HalfDuplexUplinksAndThoseThatHoldNobodyUp) {
  const std::vector<testing::Rack> three(3, {.n_hosts = 4});
  for (const bool half : {false, true}) {
    const Tree tree = found(racks(three, {15e-6, 30e6, half}));
    ASSERT_EQ(tree.levels.size(), 4U);
    for (std::size_t l = 1; l < 4; ++l) EXPECT_EQ(tree.levels[l].half_duplex, half);
  }
  const Tree wide = found(racks(three, {15e-6, 200e6}));
  ASSERT_EQ(wide.levels.size(), 4U);
  for (std::size_t l = 1; l < 4; ++l) EXPECT_FALSE(wide.levels[l].uplink_bytes_per_s);
}

TEST(FindStructure, LevelsThatOnlyRatesShow) {
  const Tree tree = found(racks(std::vector<testing::Rack>(4, {.n_hosts = 3}), {0, 8e6}));
  EXPECT_EQ(tree.splits(),
            (std::set<std::vector<int>>{{3, 4, 5, 6, 7, 8, 9, 10, 11}, {3, 4, 5}, {6, 7, 8}, {9, 10, 11}}));
  for (std::size_t l = 1; l < tree.levels.size(); ++l) {
    EXPECT_NEAR(tree.levels[l].bytes_per_s / 25e6, 1, 0.1);
    ASSERT_TRUE(tree.levels[l].uplink_bytes_per_s);
    EXPECT_NEAR(*tree.levels[l].uplink_bytes_per_s / 8e6, 1, 0.1);
  }
}

TEST(FindStructure, LevelsThatOnlyRatesShowTakeOthersIn) {
  // Two halls of two racks each; between the halls it is slow, but takes no time.
  TrueNetwork network;
  network.levels = {{},
                    {.parent = 0, .up = {0, 8e6}},
                    {.parent = 0, .up = {0, 8e6}},
                    {.parent = 1, .up = {15e-6, 40e6}},
                    {.parent = 1, .up = {15e-6, 40e6}},
                    {.parent = 2, .up = {15e-6, 40e6}},
                    {.parent = 2, .up = {15e-6, 40e6}}};
  for (int host = 0; host < 12; ++host) network.hosts.push_back({3 + host / 3, {20e-6, 25e6}});
  network.finish();
  const Tree tree = found(network);
  EXPECT_EQ(tree.splits(),
            (std::set<std::vector<int>>{
                {3, 4, 5, 6, 7, 8, 9, 10, 11}, {3, 4, 5}, {6, 7, 8}, {9, 10, 11}, {6, 7, 8, 9, 10, 11}}));
  ASSERT_EQ(tree.levels.size(), 7U);
  for (int l = 1; l < 7; ++l) {
    EXPECT_LT(tree.levels[l].parent, l);
    const std::vector<int>& siblings = tree.levels[tree.levels[l].parent].children;
    EXPECT_EQ(std::count(siblings.begin(), siblings.end(), l), 1);
  }
}

TEST(FindStructure, ASlowHostBesideFastOnesWithASlowLinkToOthers) {
  // What only rates show of the first switch is found as a group beside the slow host, and dissolved again.
  for (const int n : {2, 4}) {
    TrueNetwork network;
    network.levels = {{}, {.parent = 0, .up = {0, 5e6}}};
    network.hosts.push_back({0, {20e-6, 4e6}});
    for (int host = 0; host < 2 * n; ++host) network.hosts.push_back({host < n ? 0 : 1, {20e-6, 25e6}});
    network.finish();
    for (unsigned long seed = 1; seed <= 3; ++seed) {
      const Tree tree = found(network, {.noise = 0.02, .spoilt = 0.05, .seed = seed});
      for (const Level& level : tree.levels) {
        EXPECT_EQ(level.kind == SubnetKind::lone, level.hosts.size() == 1) << level.hosts.size() << " hosts";
        if (level.hosts.size() < 2) continue;
        EXPECT_EQ(level.kind, SubnetKind::switched);
        EXPECT_NEAR(level.bytes_per_s / 25e6, 1, 0.1);
      }
    }
  }
}

// Five hosts in two groups: few of their pairs are inside one.
TEST(FindStructure, LevelsOfTwoAndThreeHostsThatOnlyRatesShow) {
  TrueNetwork network;
  network.levels = {{}, {.parent = 0, .up = {0, 5.9e6}}, {.parent = 0, .up = {0, 4.1e6}}};
  for (const int level : {1, 2, 2, 1, 2}) network.hosts.push_back({level, {20e-6, 13e6}});
  network.finish();
  EXPECT_EQ(found(network).splits(), (std::set<std::vector<int>>{{1, 2, 4}}));
}

// It reaches that with the fastest link best, as a slow host in it would, but over its link.
TEST(FindStructure, AHostAboveLevelsThatOnlyRatesShowIsInNone) {
  TrueNetwork network;
  network.levels = {
      {}, {.parent = 0, .up = {0, 37e6}}, {.parent = 0, .up = {0, 48e6}}, {.parent = 0, .up = {0, 28e6}}};
  for (const int level : {1, 2, 3}) {
    for (int i = 0; i < 4; ++i) network.hosts.push_back({level, {20e-6, 121e6}});
  }
  network.hosts.push_back({0, {20e-6, 104e6}});
  network.finish();
  EXPECT_EQ(found(network).splits(),
            (std::set<std::vector<int>>{{4, 5, 6, 7, 8, 9, 10, 11, 12}, {4, 5, 6, 7}, {8, 9, 10, 11}}));
}

TEST(FindStructure, SlowHostsAreNoLevel) {
  TrueNetwork network = racks({{.n_hosts = 10}}, {});
  network.hosts[3].port.bytes_per_s = network.hosts[7].port.bytes_per_s = 5e6;
  network.finish();
  EXPECT_EQ(found(network).levels.size(), 1U);
}

TEST(FindStructure, GroupsBehindEqualUplinksAreNotOneBecauseASlowHostAskedThem) {
  // Host 0, above all racks, reaches everybody at its port's rate, which is nearly that of the uplinks.
  TrueNetwork network;
  network.levels = {{}};
  network.hosts.push_back({0, {20e-6, 50e6}});
  for (const int n_hosts : {2, 2, 3}) {
    const auto rack = static_cast<int>(network.levels.size());
    network.levels.push_back({.parent = 0, .up = {0, 45e6}});
    for (int i = 0; i < n_hosts; ++i) network.hosts.push_back({rack, {20e-6, 100e6}});
  }
  network.finish();
  EXPECT_EQ(found(network).splits(), (std::set<std::vector<int>>{{1, 2}, {3, 4}, {5, 6, 7}}));
}

// The first two latencies of a host to others of its rack are wrong, until they are asked for again.
class MistakenProbe final : public Probe {
 public:
  MistakenProbe(const TrueNetwork& network, int host)
      : network_(network), probe_(network, kNoisy), host_(host) {}

  int n_hosts() const override { return probe_.n_hosts(); }
  std::vector<std::vector<double>> latencies(const std::vector<Round>& rounds, int samples,
                                             Pace pace) override {
    auto seconds = probe_.latencies(rounds, samples, pace);
    auto next = seconds.begin();
    for (const Round& round : rounds) {
      for (const auto [from, to] : round) {
        std::vector<double>& of_pair = *next++;
        if (from != host_ && to != host_) continue;
        if (network_.hosts[from].level != network_.hosts[to].level || mistaken_.size() == 2) continue;
        if (!mistaken_.insert(pair_key(from, to)).second) continue;
        for (double& sample : of_pair) sample *= 2;
      }
    }
    return seconds;
  }
  std::vector<double> rates(const std::vector<Pair>& flows, double seconds) override {
    return probe_.rates(flows, seconds);
  }
  Cost cost() const override { return probe_.cost(); }

 private:
  const TrueNetwork& network_;
  SimulatedProbe probe_;
  int host_;
  std::set<std::uint64_t> mistaken_;
};

TEST(FindStructure, AHostThatWasMeasuredWronglyIsPutInItsPlace) {
  const TrueNetwork network = racks(std::vector<testing::Rack>(8, {.n_hosts = 20}), {15e-6, 50e6});
  const std::set<std::vector<int>> splits = found(network).splits();
  ASSERT_EQ(splits.size(), 8U);
  for (int host = 0; host < network.n_hosts(); host += 9) {
    MistakenProbe probe(network, host);
    EXPECT_EQ(find_structure(probe).tree.splits(), splits) << "host " << host;
  }
}

TEST(FindStructure, ManyHostsWithFewPairs) {
  const TrueNetwork network = racks(std::vector<testing::Rack>(8, {.n_hosts = 30}), {15e-6, 50e6});
  SimulatedProbe probe(network, kNoisy);
  const Found structure = find_structure(probe);
  EXPECT_EQ(structure.tree.levels.size(), 9U);
  EXPECT_TRUE(structure.in_parallel);
  EXPECT_LT(structure.pairs, 240U * 239 / 2 / 4);
}

TEST(FindStructure, FarLinesSayNothingOfNearWays) {
  // Two sites of three racks, milliseconds apart: what a far host says of where a near one hangs is off by more than a rack's
  // links are long. Whoever believes it sees hosts leave the line everywhere, and measures nearly all pairs.
  TrueNetwork network;
  network.levels = {{}, {.parent = 0, .up = {4e-3, 1e9}}, {.parent = 0, .up = {3e-3, 1e9}}};
  for (int rack = 0; rack < 6; ++rack) network.levels.push_back({.parent = 1 + rack / 3, .up = {20e-6, 1e9}});
  constexpr int kHosts = 90;
  for (int host = 0; host < kHosts; ++host) network.hosts.push_back({3 + host / (kHosts / 6), {20e-6, 25e6}});
  network.finish();
  SimulatedProbe probe(network, kNoisy);
  const Found structure = find_structure(probe);
  EXPECT_EQ(structure.tree.splits().size(), 7U);
  EXPECT_LT(structure.pairs, static_cast<std::size_t>(kHosts * (kHosts - 1) / 2 / 2));
}

TEST(FindStructure, WhatWasMeasuredBeforeShowsItsTreeToo) {
  const TrueNetwork network = racks(std::vector<testing::Rack>(3, {.n_hosts = 20}), {15e-6, 50e6});
  testing::OnceProbe probe(network);
  const Found structure = find_latency_levels(probe);
  EXPECT_EQ(structure.tree.splits().size(), 3U);
  EXPECT_EQ(structure.tree.levels.size(), 4U);
}

// Two sites, each of two racks of 20: of so many hosts, far pairs are staggered.
TrueNetwork far_sites() {
  TrueNetwork network;
  network.levels.push_back({});
  for (int site = 0; site < 2; ++site) {
    const int number = static_cast<int>(network.levels.size());
    network.levels.push_back({.parent = 0, .up = {3e-3, 50e6}});
    for (int rack = 0; rack < 2; ++rack) {
      for (int i = 0; i < 20; ++i)
        network.hosts.push_back({static_cast<int>(network.levels.size()), {20e-6, 25e6}});
      network.levels.push_back({.parent = number, .up = {40e-6, 50e6}});
    }
  }
  network.finish();
  return network;
}

TEST(FindStructure, FarSitesAreFoundAlsoOfWhatIsRemembered) {
  const TrueNetwork network = far_sites();
  SimulatedProbe fresh(network, {.noise = 0.01, .seed = 3});
  testing::OnceProbe once(network);
  std::vector<int> other_site(40);
  std::iota(other_site.begin(), other_site.end(), 40);
  for (Probe* probe : {static_cast<Probe*>(&fresh), static_cast<Probe*>(&once)}) {
    // The line between the sites, and a link between the racks of each: to which of them the line goes is lost in its errors.
    const std::set<std::vector<int>> splits = find_latency_levels(*probe).tree.splits();
    EXPECT_EQ(splits.size(), 3U);
    EXPECT_TRUE(splits.contains(other_site));
  }
}

TEST(FindStructure, NotEveryHostOfFarSitesBecomesALandmark) {
  // Hosts 20 ms away can't tell which side of a link of some microseconds they are on, if the tree hangs from that.
  const TrueNetwork network = generate_network(32, 29);
  SimulatedProbe probe(network, {.noise = 0.03, .spoilt = 0.05, .seed = 31 * 32 + 29});
  EXPECT_LT(find_structure(probe).pairs, 100000U) << "of 499500";
}

TEST(FindStructure, GeneratedNetworksAreFoundAgain) {
  for (int index = 0; index < 12; ++index) {
    const TrueNetwork network = generate_network(2026, index);
    if (network.n_hosts() > 200) continue;
    const Trial trial = try_structure(network, kNoisy);
    EXPECT_TRUE(trial.is_right()) << "network " << index << ": " << trial.n_missed << " missed, "
                                  << trial.n_invented << " invented";
    EXPECT_EQ(trial.n_media_right, trial.n_media) << "network " << index;
  }
}

TEST(FindStructure, TheSameNetworkForTheSameNumbers) {
  const TrueNetwork one = generate_network(7, 3);
  const TrueNetwork same = generate_network(7, 3);
  const TrueNetwork other = generate_network(8, 3);
  ASSERT_EQ(one.n_hosts(), same.n_hosts());
  EXPECT_EQ(one.latency_s(0, 1), same.latency_s(0, 1));
  EXPECT_NE(one.latency_s(0, 1), other.latency_s(0, 1));
}

}  // namespace
}  // namespace eco::structure
