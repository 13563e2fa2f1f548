#include "eco/measure/live_probe.h"

#include <gtest/gtest.h>

#include <numeric>

#include "eco/measure/find_tree.h"
#include "eco/measure/testing.h"
#include "eco/net/synthetic.h"
#include "eco/structure/sampler.h"

namespace eco::measure {
namespace {

using structure::Pace;
using structure::Pair;
using structure::pair_key;
using testing::VirtualNetwork;
using testing::VirtualOptions;

// Runs `ask` on rank 0 of a described network, one rank per host.
void with_probe(const char* description, const std::function<void(LiveProbe&, Conductor&, const Clock&)>& ask,
                const VirtualOptions& options = {}, const ProbeSamples& known = {}) {
  const net::Network truth = net::synthetic_network(description);
  std::vector<int> hosts(truth.hosts.size());
  std::iota(hosts.begin(), hosts.end(), 0);
  VirtualNetwork world(truth, hosts, options);
  world.run([&](transport::Transport& transport, transport::Native& native, const Clock& clock) {
    conducted(
        transport, native, clock,
        [&](Conductor& conductor) {
          LiveProbe probe(conductor, hosts, clock, [] {}, known);
          ask(probe, conductor, clock);
          return std::string("done");
        },
        world.pause(transport.rank()));
  });
}

net::Tree tree_of(const char* description, const VirtualOptions& options = {}) {
  net::Tree tree;
  with_probe(
      description,
      [&](LiveProbe& probe, Conductor& conductor, const Clock& clock) {
        std::vector<int> ranks(static_cast<std::size_t>(probe.n_hosts()));
        std::iota(ranks.begin(), ranks.end(), 0);
        tree = find_tree(conductor, {.rank_of_host = ranks, .clock = clock}).tree;
      },
      options);
  return tree;
}

TEST(RateWithin, CountsPartsOfMessages) {
  const std::vector<double> times = {1, 2, 3, 5};
  EXPECT_DOUBLE_EQ(rate_within(times, 10, 1, 3), 10);
  EXPECT_DOUBLE_EQ(rate_within(times, 10, 1.5, 2.5), 10);
  EXPECT_DOUBLE_EQ(rate_within(times, 10, 3, 5), 5);
  EXPECT_EQ(rate_within(times, 10, 3, 3), 0);
  EXPECT_EQ(rate_within({}, 10, 0, 1), 0);
}

TEST(LiveProbe, TimesPairsAtOnceAndEachTrip) {
  with_probe("hosts=6 rate_mbit=100 latency_us=50", [](LiveProbe& probe, Conductor&, const Clock&) {
    const auto seconds = probe.latencies({{{1, 2}, {3, 4}, {5, 0}}}, 4, Pace::in_turn);
    ASSERT_EQ(seconds.size(), 3U);
    for (const auto& of_pair : seconds) {
      ASSERT_EQ(of_pair.size(), 4U);
      // 1 KiB at 12.5 MB/s, twice, and 50 us.
      for (const double one_way : of_pair) EXPECT_NEAR(one_way / 214e-6, 1, 0.1);
    }
    EXPECT_EQ(probe.samples().at(pair_key(0, 5)).size(), 4U);
    EXPECT_GT(probe.cost().messages, 3 * 2 * 4);
    EXPECT_GT(probe.cost().network_s, 4 * 2 * 200e-6);
  });
}

// One host meets all others, of which some are near and the far ones differ.
TEST(LiveProbe, StaggeredTripsSayTheSameInLessTime) {
  constexpr int kSamples = 3;
  with_probe("hosts=5+4+4 sites=1+2+3 rate_mbit=100 latency_us=50 between_us=9000 far_us=20000",
             [](LiveProbe& probe, Conductor&, const Clock&) {
               std::vector<structure::Round> rounds;
               for (int host = 0; host < 13; ++host) {
                 if (host != 3) rounds.push_back({{3, host}});
               }
               const auto in_turn = probe.latencies(rounds, kSamples, Pace::in_turn);
               const double in_turn_s = probe.cost().network_s;
               const auto staggered = probe.latencies(rounds, kSamples, Pace::staggered);
               const double staggered_s = probe.cost().network_s - in_turn_s;
               ASSERT_EQ(staggered.size(), 12U);
               for (std::size_t i = 0; i < staggered.size(); ++i) {
                 ASSERT_EQ(staggered[i].size(), static_cast<std::size_t>(kSamples));
                 // Answers are seen by looks.
                 for (const double one_way : staggered[i])
                   EXPECT_NEAR(one_way, in_turn[i].front(), 40e-6) << i;
               }
               EXPECT_LT(staggered_s, in_turn_s / 2);
             });
}

// One pair of which rank 0 is neither end, one that it starts, one that it answers.
TEST(LiveProbe, StaggeredTripsOfSinglePairs) {
  with_probe("hosts=2+2 rate_mbit=100 between_us=10000", [](LiveProbe& probe, Conductor&, const Clock&) {
    for (const Pair pair : {Pair{1, 2}, Pair{0, 3}, Pair{3, 0}}) {
      const auto seconds = probe.latencies({{pair}}, 5, Pace::staggered);
      ASSERT_EQ(seconds.size(), 1U);
      ASSERT_EQ(seconds[0].size(), 5U);
      for (const double one_way : seconds[0]) EXPECT_NEAR(one_way / 10.2e-3, 1, 0.02);
    }
  });
}

TEST(LiveProbe, GivesOutWhatIsKnownFirst) {
  const ProbeSamples known = {{pair_key(0, 1), {1.0, 2.0, 3.0}}};
  with_probe(
      "hosts=4 rate_mbit=100",
      [](LiveProbe& probe, Conductor&, const Clock&) {
        EXPECT_EQ(probe.latencies({{{1, 0}}}, 2, Pace::in_turn)[0], (std::vector<double>{1, 2}));
        const auto mixed = probe.latencies({{{0, 1}}, {{2, 3}}}, 2, Pace::in_turn);
        EXPECT_EQ(mixed[0], (std::vector<double>{3}));
        EXPECT_EQ(mixed[1].size(), 2U);
        EXPECT_LT(probe.latencies({{{0, 1}}}, 1, Pace::in_turn)[0][0], 1);
        EXPECT_EQ(probe.samples().at(pair_key(0, 1)).size(), 1U);
      },
      {}, known);
}

TEST(LiveProbe, RatesAloneAndShared) {
  with_probe("hosts=4+4 rate_mbit=200 uplink_mbit=40", [](LiveProbe& probe, Conductor&, const Clock&) {
    EXPECT_NEAR(probe.rates({{0, 1}}, 0.02)[0] / 25e6, 1, 0.1);
    EXPECT_NEAR(probe.rates({{0, 4}}, 0.02)[0] / 5e6, 1, 0.1);
    const auto shared = probe.rates({{0, 4}, {1, 5}, {2, 3}}, 0.02);
    EXPECT_NEAR((shared[0] + shared[1]) / 5e6, 1, 0.15);
    EXPECT_NEAR(shared[2] / 25e6, 1, 0.15);
    const auto both = probe.rates({{0, 4}, {5, 1}}, 0.02);
    EXPECT_NEAR((both[0] + both[1]) / 10e6, 1, 0.15);
  });
}

TEST(LiveProbe, StopsWhenAskedTo) {
  struct Enough {};
  EXPECT_THROW(with_probe("hosts=4 rate_mbit=100",
                          [](LiveProbe&, Conductor& conductor, const Clock& clock) {
                            TreeSearch search{{0, 1, 2, 3}, clock};
                            search.asked = [n = 0]() mutable {
                              if (++n == 3) throw Enough();
                            };
                            find_tree(conductor, search);
                          }),
               Enough);
}

TEST(FindTree, SwitchesBehindSharedUplinks) {
  const net::Tree tree =
      tree_of("hosts=3+3+2 rate_mbit=200 uplink_mbit=40 latency_us=40 between_us=80", {.noise = 0.03});
  EXPECT_EQ(tree.subnets(), (net::Partition{{0, 1, 2}, {3, 4, 5}, {6, 7}}));
  EXPECT_TRUE(tree.is_sure());
  ASSERT_EQ(tree.levels.size(), 4U);
  for (std::size_t l = 1; l < tree.levels.size(); ++l) {
    const net::Level& level = tree.levels[l];
    EXPECT_EQ(level.kind, net::SubnetKind::switched);
    EXPECT_NEAR(level.bytes_per_s / 25e6, 1, 0.15);
    ASSERT_TRUE(level.uplink_bytes_per_s);
    EXPECT_NEAR(*level.uplink_bytes_per_s / 5e6, 1, 0.15);
    EXPECT_FALSE(level.half_duplex);
  }
}

TEST(FindTree, TheRootsUplinkIsThatOfItsOnlyChild) {
  net::Tree tree;
  tree.levels.resize(3);
  tree.levels[0].hosts = {0, 1};
  tree.levels[0].children = {1};
  tree.levels[1].parent = 0;
  tree.levels[1].children = {2};
  tree.levels[1].hosts = {4};
  tree.levels[1].uplink_bytes_per_s = 5e6;
  tree.levels[2].parent = 1;
  tree.levels[2].hosts = {2, 3};
  tree.levels[2].uplink_bytes_per_s = 7e6;
  const std::vector<net::Subnet> subnets = {{{0, 1}}, {{2, 3}}, {{4}}};
  const std::vector<net::Uplink> uplinks = uplinks_of(tree, subnets);
  ASSERT_EQ(uplinks.size(), 2U);
  EXPECT_EQ(uplinks[0].subnet, 0);
  EXPECT_EQ(uplinks[0].bytes_per_s, 5e6);
  EXPECT_EQ(uplinks[1].bytes_per_s, 7e6);
}

TEST(FindTree, BusesAndOneSwitch) {
  const net::Tree buses = tree_of("hosts=3+3+2 kind=bus rate_mbit=9.6 latency_us=150 between_us=300");
  EXPECT_EQ(buses.subnets().size(), 3U);
  for (std::size_t l = 1; l < buses.levels.size(); ++l) EXPECT_EQ(buses.levels[l].kind, net::SubnetKind::bus);
  const net::Tree one = tree_of("hosts=8 rate_mbit=48 latency_us=60", {.noise = 0.2});
  ASSERT_EQ(one.levels.size(), 1U);
  EXPECT_EQ(one.levels[0].kind, net::SubnetKind::switched);
}

}  // namespace
}  // namespace eco::measure
