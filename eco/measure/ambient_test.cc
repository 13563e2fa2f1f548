#include "eco/measure/ambient.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "eco/measure/testing.h"
#include "eco/net/synthetic.h"

namespace eco::measure {
namespace {

using net::Ambient;
using net::Network;
using testing::VirtualNetwork;
using testing::VirtualOptions;

constexpr const char* kAmbientNetwork = "hosts=3+3+2 rate_mbit=200 uplink_mbit=40 between_us=5000";

int link_named(const Network& network, const std::string& name) {
  for (std::size_t r = 0; r < network.resources.size(); ++r) {
    if (network.resources[r].name == name) return static_cast<int>(r);
  }
  ADD_FAILURE() << "no link " << name;
  return 0;
}

struct SeenAmbient {
  std::string text;  // the same on all ranks
  double took_s = 0;
};

SeenAmbient look_at(const Network& network, const Ambient& ambient, const Ambient& was = {},
                    unsigned turn = 0, VirtualOptions how = {}) {
  std::vector<int> hosts(static_cast<std::size_t>(network.n_hosts()));
  std::iota(hosts.begin(), hosts.end(), 0);
  VirtualNetwork world(network, hosts, how);
  std::vector<SeenAmbient> seen(hosts.size());
  std::size_t next = 0;
  world.carry(ambient);
  world.run([&](transport::Transport& transport, transport::Native& native, const Clock& clock) {
    const auto rank = static_cast<std::size_t>(transport.rank());
    ++next;
    const Ambient found =
        find_ambient(transport, native, network, was, {.host_of_rank = hosts, .clock = clock, .turn = turn});
    seen[rank] = {found.describe(network), clock()};
  });
  EXPECT_EQ(next, hosts.size());
  for (const SeenAmbient& each : seen) EXPECT_EQ(each.text, seen[0].text) << "ranks disagree";
  return seen[0];
}

TEST(FindAmbient, FindsNothingWhereNothingIs) {
  for (const char* text : {kAmbientNetwork, "hosts=8 rate_mbit=200",
                           "hosts=4+4 kind=bus rate_mbit=100 uplink_mbit=30", "hosts=2 rate_mbit=1000"}) {
    const Network network = net::synthetic_network(text);
    for (const unsigned turn : {0U, 1U, 5U}) {
      const SeenAmbient seen = look_at(network, {}, {}, turn, {.noise = 0.1});
      EXPECT_EQ(seen.text, "quiet") << text;
      EXPECT_LT(seen.took_s, 0.3) << text;
    }
    EXPECT_EQ(look_at(network, {}, {{{0, 300}}, {}}).text, "quiet") << text;
  }
}

TEST(FindAmbient, FindsTheLoadedLink) {
  const Network network = net::synthetic_network(kAmbientNetwork);
  for (const char* name : {"uplink 0 out", "uplink 1 in", "uplink 2 out", "host 4 in", "host 1 out"}) {
    for (const unsigned turn : {0U, 1U, 2U}) {
      const SeenAmbient seen =
          look_at(network, {{{link_named(network, name), 300}}, {}}, {}, turn, {.noise = 0.1});
      EXPECT_TRUE(seen.text.starts_with(std::string(name) + " at ")) << name << ": " << seen.text;
      EXPECT_EQ(seen.text.find(','), std::string::npos) << name << ": " << seen.text;
      EXPECT_LT(seen.took_s, 1.5);
    }
  }
}

TEST(FindAmbient, FindsLongQueues) {
  const Network network = net::synthetic_network(kAmbientNetwork);
  const SeenAmbient seen = look_at(network, {{}, {{1, 20000}}});
  EXPECT_EQ(seen.text, "subnets 0 and 2 20.0 ms further apart");
}

TEST(FindAmbient, ALittleIsTooLittleUnlessItWasMore) {
  const Network network = net::synthetic_network(kAmbientNetwork);
  const Ambient little{{{link_named(network, "uplink 1 out"), 680}}, {}};
  EXPECT_EQ(look_at(network, little).text, "quiet");
  EXPECT_NE(look_at(network, little, little).text, "quiet");
}

TEST(FindAmbient, WhereLinksWereLoadedTheyAreAskedFirst) {
  const Network network = net::synthetic_network(kAmbientNetwork);
  const Ambient was{{{link_named(network, "uplink 1 out"), 300}}, {}};
  const SeenAmbient first = look_at(network, was);
  const SeenAmbient again = look_at(network, was, was);
  EXPECT_EQ(again.text, first.text);
  EXPECT_LT(again.took_s, 0.6 * first.took_s);
  // Another link is found only when the first one is free.
  const Ambient other{{{link_named(network, "host 1 out"), 300}}, {}};
  EXPECT_TRUE(look_at(network, other, was).text.starts_with("host 1 out at "));
}

}  // namespace
}  // namespace eco::measure
