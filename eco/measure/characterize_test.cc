#include "eco/measure/characterize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>

#include "eco/base/errors.h"
#include "eco/measure/testing.h"
#include "eco/measure/testing_cases.h"
#include "eco/net/io.h"
#include "eco/net/synthetic.h"

namespace eco::measure {
namespace {

using net::Network;
using net::SubnetKind;
using testing::expect_near;
using testing::kEco1995;
using testing::kThreeSubnets;
using testing::one_rank_per_host;
using testing::partition;
using testing::Parts;
using testing::VirtualNetwork;
using testing::VirtualOptions;

const char* const kOneSwitch = "hosts=8 rate_mbit=48 latency_us=60";

// The network as rank 0 has it; the others must have the same without the samples.
Network measured(const Network& truth, const std::vector<int>& host_of_rank,
                 const VirtualOptions& world_options = {}, CharacterizeOptions options = {}) {
  VirtualNetwork world(truth, host_of_rank, world_options);
  for (const int host : host_of_rank)
    options.host_of_rank.push_back(truth.hosts[static_cast<std::size_t>(host)]);
  options.transport = "virtual";
  options.measured_at = "2026-01-01T00:00:00Z";
  options.frame_bytes = truth.frame_bytes;
  options.envelope_bytes = truth.envelope_bytes;
  std::vector<std::string> texts(host_of_rank.size());
  world.run([&](transport::Transport& transport, transport::Native& native, Clock clock) {
    CharacterizeOptions mine = options;
    mine.clock = std::move(clock);
    texts[static_cast<std::size_t>(transport.rank())] = net::to_json(characterize(transport, native, mine));
  });
  Network network = net::parse_network(texts[0], "test");
  texts[0] = net::to_json(network.without_samples());
  for (const std::string& text : texts) EXPECT_EQ(text, texts[0]);
  return network;
}

Network measured(const char* description, const VirtualOptions& world_options = {}) {
  const Network truth = net::synthetic_network(description);
  return measured(truth, one_rank_per_host(truth), world_options);
}

const Parts kThree = {{0, 1, 2}, {3, 4, 5}, {6, 7}};

// Small messages, which broadcasts are made of, must come out of the model as they were measured.
void expect_model_fits(const Network& network, double tolerance) {
  for (const net::PairTimes& pair : network.pairs) {
    for (std::size_t i = 0; i < network.sizes.size(); ++i) {
      const std::size_t bytes = network.sizes[i];
      expect_near(
          network.message_s(pair.a, pair.b, bytes), pair.seconds[i], tolerance,
          std::to_string(pair.a) + "-" + std::to_string(pair.b) + ", " + std::to_string(bytes) + " B");
    }
  }
}

TEST(Characterize, ThreeSwitchedSubnetsBehindSharedUplinks) {
  const Network network = measured(kThreeSubnets);
  EXPECT_EQ(partition(network), kThree);
  for (const net::Subnet& subnet : network.subnets) {
    EXPECT_EQ(subnet.kind, SubnetKind::switched);
    expect_near(subnet.bytes_per_s, 25e6, 0.03, "rate inside");
    expect_near(subnet.latency_s, 40e-6, 0.1, "latency inside");
  }
  for (const net::Between& pair : network.between) {
    expect_near(pair.bytes_per_s, 5e6, 0.03, "rate between");
    expect_near(pair.latency_s, 80e-6, 0.1, "latency between");
  }
  ASSERT_EQ(network.uplinks.size(), 3u);
  for (const net::Uplink& uplink : network.uplinks) {
    expect_near(uplink.bytes_per_s, 5e6, 0.03, "uplink");
    EXPECT_TRUE(uplink.shared);
    EXPECT_FALSE(uplink.half_duplex);
  }
  for (const net::Resource& resource : network.resources) EXPECT_NE(resource.kind, net::ResourceKind::pair);
  expect_near(network.send_overhead_s, 2e-6, 0.1, "send overhead");
  expect_near(network.receive_overhead_s, 2e-6, 0.5, "receive overhead");
  expect_model_fits(network, 0.05);
  EXPECT_EQ(network.pairs.size(), 28u);
  EXPECT_GE(network.pairs[0].samples[0].size(), 4u);
}

TEST(Characterize, TheTreeIsBesideFigure2WhereAllPairsAreMeasured) {
  const Network network = measured(kThreeSubnets);
  EXPECT_EQ(network.tree.subnets(), kThree);
  EXPECT_TRUE(network.tree.is_sure());
  EXPECT_NE(network.tree.verdict.find("Figure 2 says the same"), std::string::npos) << network.tree.verdict;
}

TEST(Characterize, LinksOfSitesAreNotTakenForUplinks) {
  const Network truth = net::synthetic_network(
      "hosts=2+2+2+2+2+2 rate_mbit=100 uplink_mbit=60 latency_us=100 between_us=400 sites=1+1+2+2+3+3 "
      "site_mbit=20 far_us=5000");
  for (const double budget_s : {0.0, 5.0}) {
    CharacterizeOptions options;
    options.budget_s = budget_s;
    const Network network = measured(truth, one_rank_per_host(truth), {}, options);
    ASSERT_EQ(network.sites.size(), 3u) << budget_s;
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(network.sites[i].subnets, truth.sites[i].subnets);
      expect_near(network.sites[i].bytes_per_s, 2.5e6, 0.1, "link of a site");
    }
    ASSERT_EQ(network.uplinks.size(), 6u);
    const double tolerance = 0.05;
    for (const net::Uplink& uplink : network.uplinks)
      expect_near(uplink.bytes_per_s, 7.5e6, tolerance, "uplink");
  }
}

TEST(Characterize, ManyHostsByTheTreeAndRepresentatives) {
  const Network network = measured("hosts=5+5+4 rate_mbit=200 uplink_mbit=40 latency_us=40 between_us=80");
  EXPECT_EQ(partition(network), (Parts{{0, 1, 2, 3, 4}, {5, 6, 7, 8, 9}, {10, 11, 12, 13}}));
  EXPECT_NE(network.tree.verdict.find("those of the tree"), std::string::npos) << network.tree.verdict;
  const auto visited = [&](std::size_t size) {
    return std::count_if(network.pairs.begin(), network.pairs.end(),
                         [&](const net::PairTimes& pair) { return !pair.samples[size].empty(); });
  };
  ASSERT_EQ(network.sizes.size(), 4u);
  EXPECT_EQ(visited(1), 91);                 // at 1 KiB, for the tree
  EXPECT_EQ(visited(3), 5 + 5 + 4 + 3 * 2);  // at 64 KiB
  for (const net::Subnet& subnet : network.subnets) {
    EXPECT_EQ(subnet.kind, SubnetKind::switched);
    expect_near(subnet.bytes_per_s, 25e6, 0.1, "rate inside");
  }
  ASSERT_EQ(network.uplinks.size(), 3u);
  for (const net::Uplink& uplink : network.uplinks) {
    expect_near(uplink.bytes_per_s, 5e6, 0.1, "uplink");
    EXPECT_TRUE(uplink.shared);
    EXPECT_FALSE(uplink.half_duplex);
  }
  expect_model_fits(network, 0.1);
}

TEST(Characterize, TimesOfATreeThatIsNotBelievedAreTakenAnew) {
  const Network truth =
      net::synthetic_network("hosts=5+4+4 rate_mbit=200 uplink_mbit=40 latency_us=40 between_us=80");
  // While the tree is looked for, every pair takes longer, each otherwise.
  VirtualOptions options;
  std::mt19937 random(1);
  for (int a = 0; a < 13; ++a) {
    for (int b = a + 1; b < 13; ++b) {
      const double factor = std::uniform_real_distribution<>(1, 20)(random);
      for (int trip = 0; trip < 12; ++trip) options.spoilt.push_back({a, b, 1024, trip, factor});
    }
  }
  const Network network = measured(truth, one_rank_per_host(truth), options);
  for (const net::PairTimes& pair : network.pairs) {
    ASSERT_FALSE(pair.samples[3].empty()) << "no pair stands for others";
  }
  EXPECT_EQ(partition(network), (Parts{{0, 1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}}));
  for (const net::PairTimes& pair : network.pairs) {
    expect_near(pair.seconds[1], truth.message_s(pair.a, pair.b, 1024), 0.1,
                std::to_string(pair.a) + "-" + std::to_string(pair.b));
  }
}

TEST(Characterize, FindsWhatEveryMessageTakesOfSomethingCommon) {
  Network truth = net::synthetic_network(kThreeSubnets);
  truth.common_message_s = 10e-6;
  truth.finish();
  const Network network = measured(truth, one_rank_per_host(truth));
  expect_near(network.common_message_s, 10e-6, 0.3, "common");
  // It also shows as the gap of small messages, so overheads and latency are known as a sum only.
  expect_model_fits(network, 0.05);
  EXPECT_LT(network.common_wake_s, 2e-6);
  for (const char* description : {kThreeSubnets, kEco1995, kOneSwitch}) {
    EXPECT_EQ(measured(description).common_message_s, 0) << description;
    EXPECT_EQ(measured(description).common_wake_s, 0) << description;
  }
}

TEST(Characterize, FindsWhatWakingTakesOfSomethingCommon) {
  Network truth = net::synthetic_network(kOneSwitch);
  truth.common_message_s = 10e-6;
  truth.common_wake_s = 20e-6;
  truth.finish();
  const Network network = measured(truth, one_rank_per_host(truth));
  EXPECT_GT(network.common_wake_s, 5e-6);
  // How often a rank wakes in an exchange of all with all is not known; in a ring it is.
  expect_near(network.common_message_s + network.common_wake_s, 30e-6, 0.1, "both");
  expect_model_fits(network, 0.05);
}

TEST(Characterize, ThreeBusesWithoutUplinks) {
  const Network network = measured(kEco1995);
  EXPECT_EQ(partition(network), kThree);
  for (const net::Subnet& subnet : network.subnets) {
    EXPECT_EQ(subnet.kind, SubnetKind::bus);
    expect_near(subnet.bytes_per_s, 1.2e6, 0.03, "bus");
  }
  EXPECT_TRUE(network.uplinks.empty());
  expect_model_fits(network, 0.05);
}

TEST(Characterize, OneSwitchIsOneSwitchedSubnet) {
  const Network network = measured(kOneSwitch);
  EXPECT_EQ(partition(network), (Parts{{0, 1, 2, 3, 4, 5, 6, 7}}));
  EXPECT_EQ(network.subnets[0].kind, SubnetKind::switched);
  expect_near(network.subnets[0].bytes_per_s, 6e6, 0.03, "port");
  EXPECT_TRUE(network.uplinks.empty());
}

TEST(Characterize, KindsOfSubnetsOfTwoThreeAndFour) {
  for (const char* hosts : {"hosts=2", "hosts=3", "hosts=4"}) {
    EXPECT_EQ(measured((std::string(hosts) + " rate_mbit=100").c_str()).subnets[0].kind, SubnetKind::switched)
        << hosts;
    EXPECT_EQ(measured((std::string(hosts) + " rate_mbit=100 kind=bus").c_str()).subnets[0].kind,
              SubnetKind::bus)
        << hosts;
  }
}

TEST(Characterize, UnsharedAndHalfDuplexUplinks) {
  const Network unshared = measured("hosts=2+2+2 rate_mbit=200 uplink_mbit=40 shared=no");
  ASSERT_EQ(unshared.uplinks.size(), 3u);
  for (const net::Uplink& uplink : unshared.uplinks) EXPECT_FALSE(uplink.shared);

  Network truth = net::synthetic_network("hosts=2+2+2 rate_mbit=200 uplink_mbit=40");
  truth.uplinks[1].half_duplex = true;
  truth.finish();
  const Network half = measured(truth, one_rank_per_host(truth));
  ASSERT_EQ(half.uplinks.size(), 3u);
  EXPECT_FALSE(half.uplinks[0].half_duplex);
  EXPECT_TRUE(half.uplinks[1].half_duplex);
  EXPECT_FALSE(half.uplinks[2].half_duplex);
}

TEST(Characterize, AnUplinkAsFastAsThePortsIsFoundBecauseItIsShared) {
  // Latency tells the subnets apart; only pairs at once tell that they share the way out.
  const Network network = measured("hosts=3+3+3 rate_mbit=100 uplink_mbit=100 latency_us=20 between_us=200");
  EXPECT_EQ(partition(network), (Parts{{0, 1, 2}, {3, 4, 5}, {6, 7, 8}}));
  ASSERT_EQ(network.uplinks.size(), 3u);
  EXPECT_TRUE(network.uplinks[0].shared);
  expect_near(network.uplinks[0].bytes_per_s, 12.5e6, 0.05, "uplink");
}

TEST(Characterize, LoneHosts) {
  const Network network = measured("hosts=3+1+1 rate_mbit=200 uplink_mbit=40");
  EXPECT_EQ(partition(network),
            (Parts{{0, 1, 2}, {3, 4}}));  // to Figure 2 two equal lone hosts are neighbours
  Network truth = net::synthetic_network("hosts=3+1 rate_mbit=200 uplink_mbit=40");
  const Network one = measured(truth, one_rank_per_host(truth));
  EXPECT_EQ(partition(one), (Parts{{0, 1, 2}, {3}}));
  EXPECT_EQ(one.subnets[1].kind, SubnetKind::lone);
  expect_near(one.subnets[1].bytes_per_s, 5e6, 0.03, "lone port");
  ASSERT_EQ(one.uplinks.size(), 1u);
  EXPECT_EQ(one.uplinks[0].subnet, 0);
}

TEST(Characterize, OneHostHasMemoryOnly) {
  const Network truth = net::synthetic_network("hosts=1");
  const Network alone = measured(truth, {0});
  EXPECT_EQ(partition(alone), (Parts{{0}}));
  EXPECT_TRUE(alone.pairs.empty());
  const Network four = measured(truth, {0, 0, 0, 0});
  EXPECT_EQ(four.n_hosts(), 1);
  expect_near(four.memory_bytes_per_s, 5e9, 0.1, "memory");
  expect_near(four.message_s(0, 0, 8), truth.message_s(0, 0, 8), 0.1, "a small message in memory");
}

TEST(Characterize, FindsWhatTheRanksOfAHostTakeOfItsProcessors) {
  Network truth = net::synthetic_network("hosts=2 rate_mbit=200");
  truth.memory_message_s = 5e-6;
  truth.memory_wake_s = 30e-6;
  truth.finish();
  const Network network = measured(truth, {0, 1, 1, 1, 1, 1, 1, 1, 1});  // the fuller host tells
  expect_near(network.memory_message_s + network.memory_wake_s, 35e-6, 0.1, "both");
  EXPECT_GT(network.memory_wake_s, 10e-6);
  expect_near(network.message_s(1, 1, 8), truth.message_s(1, 1, 8), 0.1, "a small message in memory");
  EXPECT_EQ(network.common_wake_s, 0) << "what the ranks of one host share";
  truth = net::synthetic_network("hosts=1");
  truth.memory_pair_bytes_per_s = 1e9;
  truth.finish();
  const Network own = measured(truth, {0, 0, 0, 0, 0, 0, 0, 0});
  expect_near(own.memory_bytes_per_s, 5e9, 0.1, "all ranks at once");
  expect_near(own.memory_pair_bytes_per_s, 1e9, 0.1, "a pair alone");
  EXPECT_EQ(own.memory_wake_s, 0);
  EXPECT_LT(own.memory_message_s, 1e-6);
}

TEST(Characterize, TwoHosts) {
  const Network network = measured("hosts=2 rate_mbit=100 latency_us=100");
  EXPECT_EQ(partition(network), (Parts{{0, 1}}));
  expect_near(network.subnets[0].latency_s, 100e-6, 0.05, "latency");
}

TEST(Characterize, EveryPlacementGivesTheSamePartition) {
  for (const char* description : {kThreeSubnets, kEco1995, kOneSwitch}) {
    const Network truth = net::synthetic_network(description);
    std::vector<int> host_of_rank = one_rank_per_host(truth);
    for (unsigned seed = 0; seed < 5; ++seed) {
      std::mt19937 random(seed);
      std::shuffle(host_of_rank.begin(), host_of_rank.end(), random);
      const Network network = measured(truth, host_of_rank, {.noise = 0.05, .seed = seed});
      // Hosts are numbered by their first rank: translated back, the parts are those of the description.
      Parts back;
      for (const net::Subnet& subnet : network.subnets) {
        std::vector<int> part;
        for (const int host : subnet.hosts) part.push_back(host_of_rank[static_cast<std::size_t>(host)]);
        std::sort(part.begin(), part.end());
        back.push_back(part);
      }
      std::sort(back.begin(), back.end());
      EXPECT_EQ(back, partition(truth)) << description << ", placement " << seed;
    }
  }
}

TEST(Characterize, OneSpoiltTripChangesNothing) {
  for (const char* description :
       {"hosts=3+3+2 rate_mbit=200 uplink_mbit=40", "hosts=3+2 kind=bus", "hosts=4"}) {
    const Network truth = net::synthetic_network(description);
    const int last = truth.n_hosts() - 1;
    for (const double factor : {0.1, 10.0}) {
      for (const std::size_t bytes : {1024u, 65536u}) {
        // A pair of the first subnet, one across, the last subnet's first pair; in a later sweep and in the first.
        const std::vector<testing::Spoilt> cases = {
            {0, 1, bytes, 4, factor}, {0, last, bytes, 0, factor}, {last - 1, last, bytes, 0, factor}};
        for (const testing::Spoilt& spoilt : cases) {
          EXPECT_EQ(partition(measured(truth, one_rank_per_host(truth), {.spoilt = {spoilt}})),
                    partition(truth))
              << description << ": trip " << spoilt.trip << " of " << spoilt.a << "-" << spoilt.b << ", "
              << bytes << " B, x" << factor;
        }
      }
    }
  }
}

TEST(Characterize, NoiseLeavesStructureAndRates) {
  for (unsigned seed = 1; seed <= 3; ++seed) {
    const Network network = measured(kThreeSubnets, {.noise = 0.3, .seed = seed});
    EXPECT_EQ(partition(network), kThree);
    ASSERT_EQ(network.uplinks.size(), 3u);
    for (const net::Uplink& uplink : network.uplinks) {
      expect_near(uplink.bytes_per_s, 5e6, 0.15, "uplink");
      EXPECT_TRUE(uplink.shared);
    }
    for (const net::Subnet& subnet : network.subnets) EXPECT_EQ(subnet.kind, SubnetKind::switched);
  }
}

TEST(Characterize, NamesPlayNoPart) {
  Network truth = net::synthetic_network(kThreeSubnets);
  const Network before = measured(truth, one_rank_per_host(truth));
  for (net::HostId& host : truth.hosts) host = {"same", "10.0.0.1", "same", "namespace " + host.name};
  const Network after = measured(truth, one_rank_per_host(truth));
  EXPECT_EQ(partition(after), kThree);
  EXPECT_EQ(after.fingerprint(), before.fingerprint());
}

TEST(Characterize, OtherRatesGiveOtherNumbers) {
  const Network network = measured("hosts=3+3+2 rate_mbit=400 uplink_mbit=20 latency_us=40 between_us=80");
  EXPECT_EQ(partition(network), kThree);
  ASSERT_EQ(network.uplinks.size(), 3u);
  expect_near(network.uplinks[0].bytes_per_s, 2.5e6, 0.03, "uplink");
  expect_near(network.subnets[0].bytes_per_s, 50e6, 0.05, "port");
}

TEST(Characterize, SeveralRanksOnAHostMeasureItsMemory) {
  const Network truth = net::synthetic_network("hosts=2+2 rate_mbit=100 uplink_mbit=10");
  const Network network = measured(truth, {0, 1, 2, 3, 0, 1, 2, 3});
  EXPECT_EQ(network.n_hosts(), 4);
  EXPECT_EQ(partition(network), (Parts{{0, 1}, {2, 3}}));
  expect_near(network.memory_bytes_per_s, 5e9, 0.1, "memory");
}

double seconds_with_budget(const char* description, double budget_s, Network* result) {
  const Network truth = net::synthetic_network(description);
  VirtualNetwork world(truth, one_rank_per_host(truth));
  world.run([&](transport::Transport& transport, transport::Native& native, Clock clock) {
    CharacterizeOptions options;
    options.host_of_rank = truth.hosts;
    options.transport = "virtual";
    options.budget_s = budget_s;
    options.clock = std::move(clock);
    Network network = characterize(transport, native, options);
    if (transport.rank() == 0) *result = std::move(network);
  });
  return world.now();
}

TEST(Characterize, SizesShrinkUntilTwoSweepsFitTheBudget) {
  Network network;
  EXPECT_LE(seconds_with_budget(kThreeSubnets, 5, &network), 5);
  EXPECT_EQ(partition(network), kThree);
  EXPECT_EQ(network.sizes.back(), 65536u);
  EXPECT_EQ(network.uplinks.size(), 3u);

  EXPECT_LE(seconds_with_budget(kEco1995, 5, &network), 5);
  EXPECT_EQ(partition(network), kThree);
  EXPECT_LT(network.sizes.back(), 65536u);
  EXPECT_GT(network.sizes.back(), 1024u);
  for (const net::Subnet& subnet : network.subnets) EXPECT_EQ(subnet.kind, SubnetKind::bus);

  EXPECT_LE(seconds_with_budget(kOneSwitch, 1, &network), 1);
  EXPECT_EQ(network.subnets.size(), 1u);

  // Streams of a budget are short beside a long way; that its link is shared is seen all the same.
  seconds_with_budget("hosts=4+4 rate_mbit=200 uplink_mbit=40 latency_us=40 between_us=10000", 8, &network);
  ASSERT_EQ(network.uplinks.size(), 2u);
  EXPECT_TRUE(network.uplinks[0].shared && network.uplinks[1].shared);
}

TEST(Characterize, ABudgetTooShortIsSaidOnEveryRank) {
  Network network;
  try {
    seconds_with_budget(kEco1995, 0.05, &network);
    ADD_FAILURE() << "accepted";
  } catch (const Unsupported& error) {
    EXPECT_NE(std::string(error.what()).find("do not fit into"), std::string::npos) << error.what();
  }
}

TEST(Characterize, ALostRankEndsInAnErrorOnAllOthers) {
  const Network truth = net::synthetic_network(kThreeSubnets);
  for (const int dies : {0, 4}) {
    VirtualNetwork world(truth, one_rank_per_host(truth), {.dies = dies, .dies_after_s = 0.05});
    std::vector<int> told(8, 0);
    world.run([&](transport::Transport& transport, transport::Native& native, Clock clock) {
      CharacterizeOptions options;
      options.host_of_rank = truth.hosts;
      options.clock = std::move(clock);
      try {
        characterize(transport, native, options);
      } catch (const TransportError&) {
        told[static_cast<std::size_t>(transport.rank())] = 1;
      }
    });
    EXPECT_EQ(std::accumulate(told.begin(), told.end(), 0), 7) << "rank " << dies << " died";
  }
}

TEST(Characterize, ALostRankInTheRoundsOfTheTreeEndsInAnErrorOnAllOthers) {
  const Network truth =
      net::synthetic_network("hosts=5+4+4 rate_mbit=200 uplink_mbit=40 latency_us=40 between_us=80");
  for (const int dies : {0, 4, 12}) {
    for (const double after_s : {0.02, 0.2, 0.7, 1.5}) {
      VirtualNetwork world(truth, one_rank_per_host(truth), {.dies = dies, .dies_after_s = after_s});
      std::string said;
      int told = 0;
      world.run([&](transport::Transport& transport, transport::Native& native, Clock clock) {
        CharacterizeOptions options;
        options.host_of_rank = truth.hosts;
        options.clock = std::move(clock);
        options.progress = [&](const std::string& what, double) { said = what; };
        try {
          characterize(transport, native, options);
        } catch (const TransportError&) {
          ++told;
        }
      });
      EXPECT_EQ(told, 12) << "rank " << dies << " died in " << said;
    }
  }
}

TEST(Characterize, ProgressMovesForwardAndMayStop) {
  const Network truth = net::synthetic_network(kThreeSubnets);
  double last = 0;
  CharacterizeOptions options;
  options.progress = [&](const std::string& what, double fraction) {
    EXPECT_FALSE(what.empty());
    EXPECT_GE(fraction, last);
    last = fraction;
  };
  measured(truth, one_rank_per_host(truth), {}, options);
  EXPECT_EQ(last, 1.0);

  options.progress = [](const std::string&, double) { throw Timeout("enough"); };
  EXPECT_THROW(measured(truth, one_rank_per_host(truth), {}, options), Error);
}

TEST(Characterize, RefusesOtherThanOneIdentityPerRank) {
  const Network truth = net::synthetic_network("hosts=2");
  VirtualNetwork world(truth, {0, 1});
  EXPECT_THROW(world.run([&](transport::Transport& transport, transport::Native& native, Clock) {
    characterize(transport, native, {});
  }),
               InvalidArgument);
}

}  // namespace
}  // namespace eco::measure
