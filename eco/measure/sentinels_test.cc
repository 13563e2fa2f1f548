#include "eco/measure/sentinels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "eco/base/errors.h"
#include "eco/measure/testing.h"
#include "eco/measure/testing_cases.h"
#include "eco/net/io.h"
#include "eco/net/synthetic.h"
#include "eco/transport/passing.h"

namespace eco::measure {
namespace {

using net::Network;
using testing::kEco1995;
using testing::kThreeSubnets;
using testing::partition;
using testing::Parts;
using testing::VirtualNetwork;
using testing::VirtualOptions;
using Pair = std::pair<int, int>;
using Hosts = std::vector<int>;

// Counts round trips of 1 KiB: only pings have messages of that size.
class Counting final : public transport::PassingTransport {
 public:
  Counting(transport::Transport& below, std::map<Pair, int>& pings)
      : PassingTransport(below), pings_(pings) {}
  transport::Status post_send(int peer, int tag, std::span<const std::byte> bytes, transport::SendMode mode,
                              transport::Ticket ticket) override {
    // One thread runs at a time; each end of a trip sends once.
    if (bytes.size() == 1024 && rank() < peer) ++pings_[{rank(), peer}];
    return below_.post_send(peer, tag, bytes, mode, ticket);
  }

 private:
  std::map<Pair, int>& pings_;
};

// One rank on each of these hosts of a network that is what the description says.
struct World {
  World(const std::string& description, Hosts on, const VirtualOptions& world_options = {})
      : truth(net::synthetic_network(description)),
        hosts(std::move(on)),
        world(truth, hosts, world_options) {}

  std::vector<net::HostId> identities() const {
    std::vector<net::HostId> ids;
    for (const int host : hosts) ids.push_back(truth.hosts[static_cast<std::size_t>(host)]);
    return ids;
  }

  Network characterized(const std::vector<net::KnownPair>& known = {}, double budget_s = 0) {
    std::string text;
    run([&](transport::Transport& transport, transport::Native& native, const Clock& clock) {
      CharacterizeOptions options;
      options.host_of_rank = identities();
      options.transport = "virtual";
      options.budget_s = budget_s;
      options.clock = clock;
      if (transport.rank() == 0) options.known = known;
      const Network network = characterize(transport, native, options);
      if (transport.rank() == 0) text = net::to_json(network);
    });
    return net::parse_network(text, "test");
  }

  // By the hosts of the remembered network.
  Hosts moved(const Network& remembered, unsigned seed = 1) {
    Hosts found;
    run([&](transport::Transport& transport, transport::Native& native, const Clock& clock) {
      SentinelOptions options;
      options.clock = clock;
      options.seed = seed;
      if (transport.rank() == 0) {
        for (const net::HostId& id : identities()) {
          const auto place = std::find(remembered.hosts.begin(), remembered.hosts.end(), id);
          options.host_of_rank.push_back(static_cast<int>(place - remembered.hosts.begin()));
        }
      }
      const Network nothing;
      const Hosts mine = find_moved(transport, native, transport.rank() == 0 ? remembered : nothing, options);
      if (transport.rank() == 0) found = mine;
      native.barrier();
      EXPECT_EQ(mine, found) << "rank " << transport.rank();
    });
    return found;
  }

  void run(const std::function<void(transport::Transport&, transport::Native&, const Clock&)>& body) {
    pings.clear();
    const double start = world.now();
    world.run([&](transport::Transport& below, transport::Native& native, const Clock& clock) {
      Counting transport(below, pings);
      body(transport, native, clock);
    });
    took_s = world.now() - start;
  }

  Network truth;
  Hosts hosts;
  VirtualNetwork world;
  std::map<Pair, int> pings;  // by ranks
  double took_s = 0;
};

Hosts all(int n) {
  Hosts hosts(static_cast<std::size_t>(n));
  std::iota(hosts.begin(), hosts.end(), 0);
  return hosts;
}

std::vector<net::KnownPair> pairs_of(const Network& network, const Hosts& but = {}) {
  std::vector<net::KnownPair> known;
  for (const net::PairTimes& pair : network.pairs) {
    if (std::count(but.begin(), but.end(), pair.a) + std::count(but.begin(), but.end(), pair.b) > 0) continue;
    known.push_back({network.hosts[static_cast<std::size_t>(pair.a)],
                     network.hosts[static_cast<std::size_t>(pair.b)], network.sizes, pair.samples});
  }
  return known;
}

std::set<Pair> visited(const World& world) {
  std::set<Pair> pairs;
  for (const auto& [pair, n] : world.pings) pairs.insert(pair);
  return pairs;
}

TEST(KnownPairs, FiveKnownHostsAndANewOneMeasureTheFiveNewPairs) {
  const std::string nine = "hosts=3+3+3 rate_mbit=200 uplink_mbit=40 latency_us=40 between_us=80";
  World first(nine, {0, 1, 2, 3, 4, 5, 6, 7});
  const Network known = first.characterized();
  EXPECT_EQ(visited(first).size(), 28u);

  for (const double budget_s : {0.0, 2.5}) {
    // Ranks in another order than hosts: rank 2 is the new one.
    World job(nine, {4, 0, 8, 1, 3, 2});
    const Network network = job.characterized(pairs_of(known), budget_s);
    EXPECT_EQ(visited(job), (std::set<Pair>{{0, 2}, {1, 2}, {2, 3}, {2, 4}, {2, 5}})) << budget_s << " s";
    EXPECT_EQ(network.note, "5 of 15 pairs measured, the others known");
    EXPECT_EQ(network.sizes, (std::vector<std::size_t>{8, 1024, 16384, 65536})) << "there is time for all";
    EXPECT_EQ(partition(network), (Parts{{0, 4}, {1, 3, 5}, {2}}));
    for (const net::PairTimes& pair : network.pairs) {
      for (std::size_t i = 0; i < network.sizes.size(); ++i) {
        const int a = job.hosts[static_cast<std::size_t>(pair.a)];
        const int b = job.hosts[static_cast<std::size_t>(pair.b)];
        EXPECT_NEAR(pair.seconds[i] / job.truth.message_s(a, b, network.sizes[i]), 1, 0.05);
      }
    }
  }
}

TEST(KnownPairs, APartOfWhatIsKnownMeasuresNoPair) {
  World first(kThreeSubnets, all(8));
  const Network known = first.characterized();
  World part(kThreeSubnets, {6, 1, 3, 0, 4});
  const Network network = part.characterized(pairs_of(known));
  EXPECT_TRUE(visited(part).empty());
  EXPECT_EQ(network.note, "0 of 10 pairs measured, the others known");
  EXPECT_EQ(partition(network), (Parts{{0}, {1, 3}, {2, 4}}));
}

TEST(KnownPairs, APairKnownAtFewerSizesIsMeasuredAtTheOthersOnly) {
  World first(kThreeSubnets, all(8));
  std::vector<net::KnownPair> known = pairs_of(first.characterized());
  known[0].sizes.pop_back();
  known[0].samples.pop_back();
  World again(kThreeSubnets, all(8));
  EXPECT_EQ(again.characterized(known).note, "1 of 28 pairs measured, the others known");
  EXPECT_TRUE(visited(again).empty()) << "at 1 KiB";
}

TEST(KnownPairs, OfOtherHostsChangeNothing) {
  World first(kThreeSubnets, all(8));
  const Network network = first.characterized();
  std::vector<net::KnownPair> known = pairs_of(network);
  for (net::KnownPair& pair : known) pair.a.boot_id = "rebooted";
  World again(kThreeSubnets, all(8));
  EXPECT_EQ(again.characterized(known).note, "");
  EXPECT_EQ(visited(again).size(), 28u);
}

TEST(KnownPairs, ABudgetChoosesTheSizeThatIsKnown) {
  // 64 KiB over 28 pairs of these buses take far longer than two seconds, and 4 KiB do not.
  World first(kEco1995, all(8));
  const Network known = first.characterized();
  World job(kEco1995, all(8));
  const Network alone = job.characterized({}, 2.5);
  EXPECT_LT(alone.largest_size(), 65536u);
  const Network helped = job.characterized(pairs_of(known, {7}), 2.5);
  EXPECT_EQ(helped.note, "7 of 28 pairs measured, the others known");
  EXPECT_GE(helped.largest_size(), 16384u);
  EXPECT_LE(job.took_s, 2.5);
}

TEST(Sentinels, AreFewAndQuietWhereNothingHasChanged) {
  for (const char* description : {kThreeSubnets, kEco1995, "hosts=8 rate_mbit=48", "hosts=2", "hosts=3+1"}) {
    const int n = net::synthetic_network(description).n_hosts();
    const Network network = World(description, all(n)).characterized();
    World job(description, all(n));
    for (unsigned seed = 1; seed <= 5; ++seed) {
      EXPECT_EQ(job.moved(network, seed), Hosts{}) << description;
      EXPECT_LE(job.took_s, 0.04) << description;  // of virtual time
      for (const auto& [pair, pings] : job.pings) EXPECT_EQ(pings, 1) << description;
      EXPECT_LE(job.pings.size(), static_cast<std::size_t>(n));
    }
  }
}

TEST(Sentinels, OfPairsAcrossALongWayPingAtTheSameTime) {
  // Three pairs inside the other site, of which each alone takes an order and an answer: 20 ms.
  const char* const sites = "hosts=6+6 rate_mbit=200 uplink_mbit=100 latency_us=40 between_us=10000";
  const Network network = World(sites, all(12)).characterized();
  World job(sites, all(12));
  EXPECT_EQ(job.moved(network), Hosts{});
  EXPECT_EQ(job.pings.size(), 7u);
  for (const auto& [pair, pings] : job.pings) EXPECT_EQ(pings, 1) << pair.first << " " << pair.second;
  // An order, a ping that opens the connection, one across, an answer: each takes a way or two. Each on its own took 0.1.
  EXPECT_LE(job.took_s, 0.075);  // of virtual time
}

TEST(Sentinels, StayQuietWhereMessagesAreNoisy) {
  const Network network = World(kThreeSubnets, all(8), {.noise = 0.3, .seed = 99}).characterized();
  for (unsigned seed = 1; seed <= 20; ++seed) {
    VirtualOptions options{.noise = 0.3, .seed = seed};
    // And some that are delayed by much: the first pings of every pair.
    for (int a = 0; a < 8; ++a) {
      for (int b = a + 1; b < 8; ++b) {
        if ((a * b + static_cast<int>(seed)) % 2 == 0) options.spoilt.push_back({a, b, 1024, 0, 20.0});
        if ((a + b + static_cast<int>(seed)) % 3 == 0) options.spoilt.push_back({a, b, 1024, 1, 20.0});
      }
    }
    World job(kThreeSubnets, all(8), options);
    EXPECT_EQ(job.moved(network, seed), Hosts{}) << seed;
  }
}

TEST(Sentinels, OnePingTooQuickIsAClockThatJumped) {
  const Network network = World(kEco1995, all(8)).characterized();
  VirtualOptions options;
  for (int a = 0; a < 8; ++a) {
    for (int b = a + 1; b < 8; ++b) options.spoilt.push_back({a, b, 1024, 0, 0.1});
  }
  EXPECT_EQ(World(kEco1995, all(8), options).moved(network), Hosts{});
}

TEST(Sentinels, HostsThatAreAllBusyHaveNotMoved) {
  const Network network = World(kThreeSubnets, all(8)).characterized();
  World busy("hosts=3+3+2 rate_mbit=50 uplink_mbit=10 latency_us=160 between_us=320", all(8));
  for (unsigned seed = 1; seed <= 5; ++seed) EXPECT_EQ(busy.moved(network, seed), Hosts{});
}

struct Move {
  const char* before;
  const char* after;
  Hosts suspects;  // all of them, and no more
  Parts parts;
};

TEST(Sentinels, AHostThatMovedIsNoticedAndItsPairsMeasuredAgain) {
  const std::string fast = " rate_mbit=200 uplink_mbit=40 latency_us=40 between_us=80";
  const std::string buses = " kind=bus rate_mbit=9.6 latency_us=150 between_us=300";
  const std::string slow_links = " rate_mbit=400 uplink_mbit=100 latency_us=40 between_us=40";
  const std::vector<Move> moves = {
      {"hosts=3+3+2", "hosts=2+4+2", {2}, {{0, 1}, {2, 3, 4, 5}, {6, 7}}},
      {"hosts=4+4", "hosts=3+5", {3}, {{0, 1, 2}, {3, 4, 5, 6, 7}}},
      // Of two hosts that are far from each other now nobody can say which it was that moved.
      {"hosts=3+3+2", "hosts=3+4+1", {6, 7}, {{0, 1, 2}, {3, 4, 5, 6}, {7}}},
  };
  for (const std::string& rates : {fast, buses, slow_links}) {
    for (const Move& move : moves) {
      const Network before = World(move.before + rates, all(8)).characterized();
      World now(move.after + rates, all(8));
      for (unsigned seed = 1; seed <= 4; ++seed) {
        const Hosts moved = now.moved(before, seed);
        EXPECT_EQ(moved, move.suspects) << move.before << " -> " << move.after << rates << ", " << seed;
      }
      const Network after = now.characterized(pairs_of(before, move.suspects));
      EXPECT_EQ(partition(after), move.parts) << move.after << rates;
      for (const auto& [a, b] : visited(now)) {
        EXPECT_TRUE(std::count(move.suspects.begin(), move.suspects.end(), a) +
                    std::count(move.suspects.begin(), move.suspects.end(), b))
            << a << "-" << b;
      }
      EXPECT_EQ(now.moved(after), Hosts{}) << "and then all is as remembered";
    }
  }
}

TEST(Sentinels, AHostThatMovedIsNoticedWhereFirstPingsAreSlow) {
  // As on a busy machine: whatever has not been asked twice looks as far away as a host that moved.
  const Network before = World(kThreeSubnets, all(8)).characterized();
  const std::string after = "hosts=2+4+2 rate_mbit=200 uplink_mbit=40 latency_us=40 between_us=80";
  for (const int slow_pings : {1, 3}) {
    VirtualOptions options;
    for (int a = 0; a < 8; ++a) {
      for (int b = a + 1; b < 8; ++b) {
        for (int trip = 0; trip < slow_pings; ++trip) options.spoilt.push_back({a, b, 1024, trip, 6.0});
      }
    }
    for (unsigned seed = 1; seed <= 6; ++seed) {
      EXPECT_EQ(World(after, all(8), options).moved(before, seed), Hosts{2}) << slow_pings << ", " << seed;
      EXPECT_EQ(World(kThreeSubnets, all(8), options).moved(before, seed), Hosts{})
          << slow_pings << ", " << seed;
    }
  }
}

TEST(Sentinels, AHostThatMovedIsNoticedWhereAnotherPairIsDelayedWhenTheyLookAgain) {
  // Two others of its old subnet are near each other in the first look, and delayed all through the second.
  const Network before = World(kThreeSubnets, all(8)).characterized();
  VirtualOptions options;
  for (int trip = 1; trip < 60; ++trip) options.spoilt.push_back({0, 1, 1024, trip, 8.0});
  const std::string after = "hosts=2+4+2 rate_mbit=200 uplink_mbit=40 latency_us=40 between_us=80";
  for (unsigned seed = 1; seed <= 6; ++seed) {
    EXPECT_EQ(World(after, all(8), options).moved(before, seed), Hosts{2}) << seed;
  }
}

TEST(Sentinels, LooksTakeTwoSecondsBesideTrafficAndNoMore) {
  // Every ping of the second subnet takes long, now much longer and now less.
  const Network network = World(kThreeSubnets, all(8)).characterized();
  for (unsigned seed = 1; seed <= 4; ++seed) {
    VirtualOptions options;
    for (int a = 0; a < 8; ++a) {
      for (int b = std::max(a + 1, 3); b < 8; ++b) {
        if (a >= 6 || (b > 5 && a < 3)) continue;  // neither is in it
        for (int trip = 0; trip < 60; ++trip)
          options.spoilt.push_back({a, b, 1024, trip, trip % 2 ? 500.0 : 100.0});
      }
    }
    World job(kThreeSubnets, all(8), options);
    EXPECT_EQ(job.moved(network, seed), Hosts{}) << seed;
    EXPECT_LE(job.took_s, 2.5) << seed;
  }
}

TEST(Sentinels, AHostThatMovedBetweenSitesIsNoticed) {
  for (const char* between_us : {"10000", "20000", "40000"}) {
    const std::string rates =
        std::string(" rate_mbit=200 uplink_mbit=100 latency_us=40 between_us=") + between_us;
    const Network before = World("hosts=4+4" + rates, all(8)).characterized();
    EXPECT_EQ(World("hosts=3+5" + rates, all(8)).moved(before), Hosts{3}) << between_us;
  }
}

TEST(Sentinels, AHostAloneThatMovedInWithOthersIsNoticed) {
  const std::string rates = " rate_mbit=200 uplink_mbit=40 latency_us=40 between_us=80";
  const Network before = World("hosts=3+3+1" + rates, all(7)).characterized();
  EXPECT_EQ(World("hosts=3+4" + rates, all(7)).moved(before), (Hosts{3, 4, 5, 6}));
}

TEST(Sentinels, ASlowerUplinkAccusesItsSubnet) {
  const Network before = World(kThreeSubnets, all(8)).characterized();
  Network truth = net::synthetic_network(kThreeSubnets);
  for (net::Uplink& uplink : truth.uplinks) {
    if (uplink.subnet == 1) uplink.bytes_per_s /= 8;
  }
  truth.finish();
  VirtualNetwork slower(truth, all(8));
  Hosts moved;
  slower.run([&](transport::Transport& transport, transport::Native& native, const Clock& clock) {
    SentinelOptions options{.host_of_rank = all(8), .clock = clock};
    const Hosts mine = find_moved(transport, native, before, options);
    if (transport.rank() == 0) moved = mine;
  });
  EXPECT_EQ(moved, (Hosts{3, 4, 5}));
}

TEST(Sentinels, LookAtTheHostsOfTheJobOnly) {
  const Network before = World(kThreeSubnets, all(8)).characterized();
  const std::string after = "hosts=2+4+2 rate_mbit=200 uplink_mbit=40 latency_us=40 between_us=80";
  EXPECT_EQ(World(after, {0, 1, 4, 7}).moved(before), Hosts{}) << "host 2 is not in it";
  EXPECT_EQ(World(after, {7, 5, 2, 0, 1}).moved(before), (Hosts{2}));
  // Several ranks on a host, and a network of which no samples are left.
  EXPECT_EQ(World(after, {0, 0, 1, 1, 2, 2, 4, 5}).moved(before.without_samples()), (Hosts{2}));
}

TEST(Sentinels, AreASampleOfManyHosts) {
  const std::string many = "hosts=20+20+20+20 rate_mbit=200 uplink_mbit=40 latency_us=40 between_us=80";
  const Network network = net::synthetic_network(many);
  World job(many, all(80));
  std::set<Pair> seen;
  for (unsigned seed = 1; seed <= 3; ++seed) {
    EXPECT_EQ(job.moved(network, seed), Hosts{});
    EXPECT_LE(job.pings.size(), 30u);
    for (const Pair& pair : visited(job)) seen.insert(pair);
  }
  EXPECT_GT(seen.size(), 60u) << "another one each time";
}

TEST(Sentinels, ALostRankEndsInAnErrorOnAllOthers) {
  const Network network = World(kThreeSubnets, all(8)).characterized();
  for (const int dies : {0, 4}) {
    VirtualNetwork world(network, all(8), {.dies = dies, .dies_after_s = 0.001});
    int told = 0;
    world.run([&](transport::Transport& transport, transport::Native& native, const Clock& clock) {
      try {
        find_moved(transport, native, network, {.host_of_rank = all(8), .clock = clock});
      } catch (const TransportError&) {
        ++told;
      }
    });
    EXPECT_EQ(told, 7) << "rank " << dies << " died";
  }
}

}  // namespace
}  // namespace eco::measure
