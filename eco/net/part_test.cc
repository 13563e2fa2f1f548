#include "eco/net/part.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "eco/net/synthetic.h"

namespace eco::net {
namespace {

TEST(Part, HasTheSameMessages) {
  const auto whole = std::make_shared<const Network>(
      synthetic_network("hosts=30+4+20+1 kind=switched+bus+switched+switched rate_mbit=1000+100+500+200 "
                        "uplink_mbit=90+40+none+10 "
                        "between_us=300"));
  const std::vector<int> hosts = {40, 3, 31, 33, 29, 54, 40};
  const Part part = part_of(whole, hosts);
  EXPECT_EQ(part.network->n_hosts(), 6);
  EXPECT_EQ(part.hosts.front(), part.hosts.back());
  for (std::size_t a = 0; a < hosts.size(); ++a) {
    EXPECT_EQ(part.network->hosts[static_cast<std::size_t>(part.hosts[a])].name,
              whole->hosts[static_cast<std::size_t>(hosts[a])].name);
    for (std::size_t b = 0; b < hosts.size(); ++b) {
      for (const std::size_t bytes : {8U, 100'000U}) {
        EXPECT_DOUBLE_EQ(part.network->message_s(part.hosts[a], part.hosts[b], bytes),
                         whole->message_s(hosts[a], hosts[b], bytes))
            << hosts[a] << " to " << hosts[b];
      }
    }
  }
}

TEST(Part, LeavesOutSubnetsWithoutHostsAndWhatWasMeasuredThere) {
  Network network = synthetic_network("hosts=3+3+3 uplink_mbit=10+20+30");
  for (const auto& [from, to] : {std::pair(0, 1), std::pair(4, 5), std::pair(0, 6)}) {
    ClassPLogP measured;
    measured.pairs = from == 0 && to == 6 ? PairClass::between : PairClass::subnet;
    measured.from = from;
    measured.to = to;
    measured.eager_limit = 4096;
    network.plogp.push_back(measured);
  }
  network.finish();
  const Part part = part_of(std::make_shared<const Network>(network), {2, 8, 1});
  EXPECT_EQ(part.network->subnets.size(), 2U);
  EXPECT_EQ(part.network->subnets[1].kind, SubnetKind::lone);
  ASSERT_EQ(part.network->uplinks.size(), 2U);
  EXPECT_DOUBLE_EQ(part.network->uplinks[1].bytes_per_s, 30e6 / 8);
  EXPECT_EQ(part.network->plogp.size(), 2U);
  EXPECT_EQ(part.network->eager_bytes(), 4096U);
  EXPECT_TRUE(part.network->pairs.empty());
}

TEST(Part, KeepsTheRailsOfItsHosts) {
  const auto whole = std::make_shared<const Network>(
      synthetic_network("hosts=3+4 rate_mbit=20 uplink_mbit=10 rail_mbit=500+8 rail_hosts=5+2"));
  const std::vector<int> hosts = {4, 0, 6, 2};
  const Part part = part_of(whole, hosts);
  ASSERT_EQ(part.network->n_rails(), 3);
  for (std::size_t a = 0; a < hosts.size(); ++a) {
    for (int rail = 0; rail < 3; ++rail) {
      EXPECT_EQ(part.network->has_rail(part.hosts[a], rail), whole->has_rail(hosts[a], rail));
      for (std::size_t b = 0; b < hosts.size(); ++b) {
        const Route route = whole->route(hosts[a], hosts[b], rail);
        const Route same = part.network->route(part.hosts[a], part.hosts[b], rail);
        EXPECT_DOUBLE_EQ(same.latency_s, route.latency_s);
        ASSERT_EQ(same.resources.size(), route.resources.size());
        for (std::size_t i = 0; i < route.resources.size(); ++i) {
          EXPECT_DOUBLE_EQ(part.network->resources[static_cast<std::size_t>(same.resources[i])].bytes_per_s,
                           whole->resources[static_cast<std::size_t>(route.resources[i])].bytes_per_s);
        }
      }
    }
  }
  // Of hosts that all have it a rail is as any other; of hosts without it nothing is left but its number.
  const Part all = part_of(whole, {3, 0, 1});
  for (int host = 0; host < 3; ++host) EXPECT_TRUE(all.network->has_rail(host, 1));
  EXPECT_TRUE(part_of(whole, {5, 6}).network->more_rails[0].subnets.empty());
}

TEST(Part, OfARailInOtherSubnets) {
  Network network = synthetic_network("hosts=2+2 rate_mbit=20 rail_mbit=8");
  Rail& rail = network.more_rails[0];
  rail.subnets[0].hosts = {0, 3};
  rail.subnets[1].hosts = {1, 2};
  network.finish();
  const Part part = part_of(std::make_shared<const Network>(network), {1, 2, 3});
  EXPECT_EQ(part.network->more_rails[0].subnets[0].hosts, (std::vector<int>{0, 1}));
  EXPECT_EQ(part.network->more_rails[0].subnets[1].hosts, (std::vector<int>{2}));
}

}  // namespace
}  // namespace eco::net
