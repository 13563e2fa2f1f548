#include "eco/net/network.h"

#include <gtest/gtest.h>

#include <memory>

#include "eco/base/errors.h"
#include "eco/net/group_view.h"
#include "eco/net/synthetic.h"

namespace eco::net {
namespace {

std::vector<std::string> names_on_route(const Network& network, int from, int to) {
  std::vector<std::string> names;
  for (const int r : network.route(from, to).resources) {
    names.push_back(network.resources[static_cast<std::size_t>(r)].name);
  }
  return names;
}

using Names = std::vector<std::string>;

TEST(Route, SwitchedSubnetsWithUplinks) {
  const Network network =
      synthetic_network("hosts=3+3+2 rate_mbit=200 uplink_mbit=40 latency_us=50 between_us=90");
  EXPECT_EQ(names_on_route(network, 0, 2), (Names{"host 0 out", "host 2 in"}));
  EXPECT_EQ(names_on_route(network, 1, 6), (Names{"host 1 out", "uplink 0 out", "uplink 2 in", "host 6 in"}));
  EXPECT_EQ(names_on_route(network, 6, 1), (Names{"host 6 out", "uplink 2 out", "uplink 0 in", "host 1 in"}));
  EXPECT_EQ(names_on_route(network, 4, 4), (Names{"memory 4"}));
  EXPECT_DOUBLE_EQ(network.route(0, 2).latency_s, 50e-6);
  EXPECT_DOUBLE_EQ(network.route(6, 1).latency_s, 90e-6);
}

TEST(Route, BusesAreOneResourceForBothDirections) {
  const Network network = synthetic_network("hosts=3+3+2 kind=bus rate_mbit=10");
  EXPECT_EQ(names_on_route(network, 0, 1), (Names{"bus 0"}));
  EXPECT_EQ(network.route(0, 1).resources, network.route(1, 0).resources);
  EXPECT_EQ(names_on_route(network, 0, 7), (Names{"bus 0", "bus 2"}));
}

TEST(Route, HalfDuplexUplinkIsOneResource) {
  Network network = synthetic_network("hosts=2+2 rate_mbit=100 uplink_mbit=10");
  network.uplinks[0].half_duplex = true;
  network.finish();
  EXPECT_EQ(names_on_route(network, 0, 2)[1], "uplink 0");
  EXPECT_EQ(network.route(0, 2).resources[1], network.route(3, 1).resources[2]);
}

TEST(Route, WhatNothingSharedExplainsLimitsEachPair) {
  // Unshared uplinks: every pair of hosts has the rate for itself, in each direction.
  const Network network = synthetic_network("hosts=2+2 rate_mbit=100 uplink_mbit=10 shared=no");
  EXPECT_EQ(names_on_route(network, 1, 2), (Names{"host 1 out", "host 1 to 2", "host 2 in"}));
  EXPECT_EQ(names_on_route(network, 3, 0), (Names{"host 3 out", "host 3 to 0", "host 0 in"}));

  // A pair of subnets slower than both uplinks.
  Network slow = synthetic_network("hosts=2+2+1 rate_mbit=100 uplink_mbit=40");
  slow.between[1].bytes_per_s = 1e6;  // subnets 0 and 2
  slow.finish();
  EXPECT_EQ(names_on_route(slow, 4, 1),
            (Names{"host 4 out", "uplink 2 out", "host 4 to 1", "uplink 0 in", "host 1 in"}));
  EXPECT_EQ(names_on_route(slow, 0, 2), (Names{"host 0 out", "uplink 0 out", "uplink 1 in", "host 2 in"}));
}

TEST(MessageTime, LatencyPacketPerHopThenTheSlowest) {
  const Network network =
      synthetic_network("hosts=2+1 rate_mbit=80 uplink_mbit=8 latency_us=100 between_us=200 overhead_us=5");
  EXPECT_NEAR(network.message_s(0, 1, 0), 110e-6, 1e-12);
  EXPECT_NEAR(network.message_s(0, 1, 1000), 110e-6 + 2 * 1000 / 10e6, 1e-12);
  EXPECT_NEAR(network.message_s(0, 2, 11448), 210e-6 + 2 * 1448 / 10e6 + 2 * 1448 / 1e6 + 10000 / 1e6, 1e-12);
}

TEST(MessageTime, EveryPacketHasHeadersAndEveryMessageAnEnvelope) {
  Network network = synthetic_network("hosts=2 rate_mbit=8 latency_us=100 overhead_us=5");
  EXPECT_EQ(network.wire_bytes(1000), 1000);
  network.packet_bytes = 1000;
  network.frame_bytes = 250;  // so a full packet's wire is 1250, of which 1000 count
  network.envelope_bytes = 50;
  EXPECT_NEAR(network.wire_bytes(0), (50 + 250) * 0.8, 1e-9);
  EXPECT_NEAR(network.wire_bytes(950), 1000, 1e-9);
  EXPECT_NEAR(network.wire_bytes(951), (1001 + 500) * 0.8, 1e-9);
  network.finish();
  EXPECT_NEAR(network.message_s(0, 1, 950), 110e-6 + 2 * 1000 / 1e6, 1e-12);
}

TEST(Finish, JoinsTheDirectionsOfALink) {
  const Network network = synthetic_network("hosts=2+2 uplink_mbit=40");
  for (std::size_t r = 0; r < network.resources.size(); ++r) {
    const Resource& resource = network.resources[r];
    if (resource.kind == ResourceKind::memory) {
      EXPECT_EQ(resource.reverse, -1);
      continue;
    }
    ASSERT_GE(resource.reverse, 0) << resource.name;
    EXPECT_EQ(network.resources[static_cast<std::size_t>(resource.reverse)].reverse, static_cast<int>(r));
    EXPECT_NE(resource.reverse, static_cast<int>(r));
  }
}

TEST(Finish, RefusesContradictions) {
  const Network good = synthetic_network("hosts=2+2");
  const auto refused = [&](auto&& spoil, const std::string& reason) {
    Network bad = good;
    spoil(bad);
    try {
      bad.finish();
      ADD_FAILURE() << "accepted; expected: " << reason;
    } catch (const InvalidArgument& error) {
      EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
    }
  };
  refused([](Network& n) { n.subnets[1].hosts = {2, 9}; }, "subnet 1: host 9 is out of range");
  refused([](Network& n) { n.subnets[1].hosts = {1, 2}; }, "host 1 is in two subnets");
  refused(
      [](Network& n) {
        n.subnets.pop_back();
        n.between.clear();
      },
      "host 2 is in no subnet");
  refused([](Network& n) { n.subnets[0].kind = SubnetKind::lone; }, "is called lone but has 2 hosts");
  refused([](Network& n) { n.between.clear(); }, "entries in 'between'");
  refused([](Network& n) { n.between[0].bytes_per_s = 0; }, "bytes_per_s is not a rate");
  refused([](Network& n) { n.hosts[3] = n.hosts[0]; }, "hosts 0 and 3 are the same");
  refused([](Network& n) { n.pairs[0].seconds[0] = -1; }, "pair 0: a time is not positive");
  refused([](Network& n) { n.reverse_share = 1; }, "reverse_share");
  refused([](Network& n) { n.memory_message_s = -1; }, "memory_message_s is not a time");
  refused([](Network& n) { n.memory_wake_s = -1; }, "memory_wake_s is not a time");
  refused([](Network& n) { n.memory_pair_bytes_per_s = -1; }, "memory_pair_bytes_per_s is not a rate");
  refused([](Network& n) { n.common_message_s = -1; }, "common_message_s is not a time");
  refused([](Network& n) { n.common_wake_s = -1; }, "common_wake_s is not a time");
  refused([](Network& n) { n.hosts.clear(); }, "there are no hosts");
}

TEST(Fingerprint, SameForSmallDifferencesAndOtherForLargeOnes) {
  const Network network = synthetic_network("hosts=3+3+2 rate_mbit=200 uplink_mbit=40");
  Network renamed = network;
  renamed.hosts[0].name = "another";
  renamed.measured_at = "later";
  EXPECT_EQ(network.fingerprint(), renamed.fingerprint());
  Network close = network;
  close.between[0].bytes_per_s *= 1.01;
  EXPECT_EQ(network.fingerprint(), close.fingerprint());
  Network faster = network;
  faster.between[0].bytes_per_s *= 2;
  EXPECT_NE(network.fingerprint(), faster.fingerprint());
  EXPECT_NE(network.fingerprint(),
            synthetic_network("hosts=3+2+3 rate_mbit=200 uplink_mbit=40").fingerprint());
}

TEST(GroupView, FollowsRanksNotHosts) {
  const auto network = std::make_shared<const Network>(synthetic_network("hosts=3+3+2"));
  const GroupView view = make_view(network, {7, 0, 3, 6, 0, 4});
  ASSERT_EQ(view.n_subnets(), 3);
  EXPECT_EQ(view.subnets[0].ranks, (std::vector<int>{1, 4}));
  EXPECT_EQ(view.subnets[0].kind, SubnetKind::lone);  // two ranks, one host
  EXPECT_EQ(view.subnets[1].ranks, (std::vector<int>{2, 5}));
  EXPECT_EQ(view.subnets[1].kind, SubnetKind::switched);
  EXPECT_EQ(view.subnets[2].ranks, (std::vector<int>{3, 0}));
  EXPECT_EQ(view.subnet_of_rank, (std::vector<int>{2, 0, 1, 2, 0, 1}));
  EXPECT_EQ(view.describe(), "2+2+2 (lone, switched, switched)");
  EXPECT_EQ(make_view(network, {0, 1, 2, 3, 4, 5, 6, 7}).describe(), "3+3+2 switched");
  EXPECT_THROW(make_view(network, {0, 8}), InvalidArgument);
}

TEST(GroupView, LocatesHostsByIdentityAlone) {
  Network network = synthetic_network("hosts=2");
  network.hosts[1] = network.hosts[0];
  network.hosts[1].net_namespace = "other";  // equal names and addresses
  EXPECT_EQ(locate_hosts(network, {network.hosts[1], network.hosts[0]}), (std::vector<int>{1, 0}));
  HostId unknown = network.hosts[0];
  unknown.boot_id = "rebooted";
  EXPECT_THROW(locate_hosts(network, {unknown}), InvalidArgument);
}

TEST(Rails, ShareNothingButHosts) {
  const Network network =
      synthetic_network("hosts=2+2 rate_mbit=20 uplink_mbit=10 rail_mbit=8+4 latency_us=50 between_us=90");
  ASSERT_EQ(network.n_rails(), 3);
  const auto names = [&](int from, int to, int rail) {
    Names found;
    for (const int r : network.route(from, to, rail).resources)
      found.push_back(network.resources[static_cast<std::size_t>(r)].name);
    return found;
  };
  EXPECT_EQ(names(1, 2, 0), (Names{"host 1 out", "uplink 0 out", "uplink 1 in", "host 2 in"}));
  EXPECT_EQ(names(1, 2, 2),
            (Names{"rail 2 host 1 out", "rail 2 uplink 0 out", "rail 2 uplink 1 in", "rail 2 host 2 in"}));
  EXPECT_EQ(names(3, 3, 1), (Names{"memory 3"})) << "memory is the host's";
  EXPECT_DOUBLE_EQ(network.rail_bytes_per_s(0), 20e6 / 8);
  EXPECT_DOUBLE_EQ(network.rail_bytes_per_s(2), 4e6 / 8);
  EXPECT_DOUBLE_EQ(network.route(0, 3, 1).latency_s, 90e-6);

  // Of a rail, as of the first, everything is checked and is part of what plans are remembered by.
  Network other = network;
  other.more_rails[1].subnets[0].bytes_per_s *= 2;
  other.finish();
  EXPECT_NE(other.fingerprint(), network.fingerprint());
  other.more_rails[0].subnets[1].hosts = {2};
  EXPECT_THROW(other.finish(), InvalidArgument);
  Network first_alone = network;
  first_alone.more_rails.clear();
  first_alone.finish();
  EXPECT_EQ(
      first_alone.fingerprint(),
      synthetic_network("hosts=2+2 rate_mbit=20 uplink_mbit=10 latency_us=50 between_us=90").fingerprint());
}

TEST(Rails, SomeHostsMayLackOne) {
  const Network network = synthetic_network(
      "hosts=4+3 rate_mbit=20 uplink_mbit=10 rail_mbit=8+4 rail_hosts=5+2 latency_us=50 between_us=90");
  ASSERT_EQ(network.n_rails(), 3);
  for (int host = 0; host < 7; ++host) {
    EXPECT_TRUE(network.has_rail(host, 0));
    EXPECT_EQ(network.has_rail(host, 1), host < 5);
    EXPECT_EQ(network.has_rail(host, 2), host < 2);
  }
  const auto is_rail_0s = [&](int from, int to, int rail) {
    const Route route = network.route(from, to, rail);
    const Route first = network.route(from, to);
    return route.resources == first.resources && route.latency_s == first.latency_s;
  };
  EXPECT_FALSE(is_rail_0s(3, 4, 1)) << "between subnets, to the only host of its own there";
  EXPECT_TRUE(is_rail_0s(4, 5, 1));
  EXPECT_TRUE(is_rail_0s(6, 0, 1));
  EXPECT_FALSE(is_rail_0s(1, 0, 2));
  EXPECT_TRUE(is_rail_0s(1, 2, 2));
  EXPECT_EQ(network.more_rails[0].subnets[1].kind, SubnetKind::lone);
  EXPECT_DOUBLE_EQ(network.rail_bytes_per_s(2), 4e6 / 8);

  Network other = synthetic_network("hosts=4+3 rate_mbit=20 rail_mbit=8 rail_hosts=4");
  EXPECT_NE(other.fingerprint(), synthetic_network("hosts=4+3 rate_mbit=20 rail_mbit=8").fingerprint());
  other.more_rails[0].subnets[0].hosts = {0, 1, 7};
  EXPECT_THROW(other.finish(), InvalidArgument);
  other.more_rails[0] = {};
  other.finish();
  EXPECT_EQ(other.rail_bytes_per_s(1), 0) << "nobody has it";
  other.subnets[1].hosts.pop_back();
  EXPECT_THROW(other.finish(), InvalidArgument) << "rail 0 is everybody's";
}

TEST(Synthetic, SubnetsMayDiffer) {
  const Network network =
      synthetic_network("hosts=2+3+2 kind=bus+switched+switched rate_mbit=10+100+80 uplink_mbit=none+40+20");
  EXPECT_EQ(names_on_route(network, 0, 2), (Names{"bus 0", "uplink 1 in", "host 2 in"}));
  EXPECT_DOUBLE_EQ(network.between[0].bytes_per_s, 10e6 / 8);  // 0 and 1: the bus
  EXPECT_DOUBLE_EQ(network.between[2].bytes_per_s, 20e6 / 8);  // 1 and 2: the slower uplink
  ASSERT_EQ(network.uplinks.size(), 2U);
  EXPECT_DOUBLE_EQ(network.uplinks[1].bytes_per_s, 20e6 / 8);
}

TEST(Synthetic, NamesTheBadWord) {
  const auto refused = [](const std::string& text, const std::string& reason) {
    try {
      synthetic_network(text);
      ADD_FAILURE() << "accepted " << text;
    } catch (const InvalidArgument& error) {
      EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
    }
  };
  refused("", "hosts=A+B+... is needed");
  refused("hosts=3+x", "hosts=3+x is not a list");
  refused("hosts=3 rate_mbit=fast", "rate_mbit=fast");
  refused("hosts=3 kind=ring", "kind=ring");
  refused("hosts=3 rail_mbit=8 rail_hosts=4", "rail_hosts=4");
  refused("hosts=3 rail_mbit=8 rail_hosts=2+2", "rail_hosts=2+2");
  refused("hosts=3+3+2 uplink_mbit=10+20", "uplink_mbit=10+20 is neither one word nor one for each");
  refused("hosts=3+3 uplink_mbit=10+slow", "uplink_mbit=slow");
  refused("hosts=3 colour=red", "unknown word 'colour'");
}

}  // namespace
}  // namespace eco::net
