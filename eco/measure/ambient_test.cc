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

constexpr const char* kThree = "hosts=3+3+2 rate_mbit=200 uplink_mbit=40 between_us=5000";

int resource(const Network& network, const std::string& name) {
  for (std::size_t r = 0; r < network.resources.size(); ++r) {
    if (network.resources[r].name == name) return static_cast<int>(r);
  }
  ADD_FAILURE() << "no resource " << name;
  return 0;
}

struct Seen {
  std::string text;  // the same on all ranks
  double took_s = 0;
};

Seen look(const Network& network, const Ambient& ambient, bool was_loaded = false, unsigned turn = 0,
          VirtualOptions how = {}) {
  std::vector<int> hosts(static_cast<std::size_t>(network.n_hosts()));
  std::iota(hosts.begin(), hosts.end(), 0);
  VirtualNetwork world(network, hosts, how);
  std::vector<Seen> seen(hosts.size());
  std::size_t next = 0;
  world.carry(ambient);
  world.run([&](transport::Transport& transport, transport::Native& native, const Clock& clock) {
    const auto rank = static_cast<std::size_t>(transport.rank());
    ++next;
    const Ambient found = find_ambient(transport, native, network, was_loaded,
                                       {.host_of_rank = hosts, .clock = clock, .turn = turn});
    seen[rank] = {found.describe(network), clock()};
  });
  EXPECT_EQ(next, hosts.size());
  for (const Seen& each : seen) EXPECT_EQ(each.text, seen[0].text) << "ranks disagree";
  return seen[0];
}

TEST(FindAmbient, FindsNothingWhereNothingIs) {
  for (const char* text : {kThree, "hosts=8 rate_mbit=200", "hosts=4+4 kind=bus rate_mbit=100 uplink_mbit=30",
                           "hosts=2 rate_mbit=1000"}) {
    const Network network = net::synthetic_network(text);
    for (const unsigned turn : {0U, 1U, 5U}) {
      const Seen seen = look(network, {}, false, turn, {.noise = 0.1});
      EXPECT_EQ(seen.text, "quiet") << text;
      EXPECT_LT(seen.took_s, 0.3) << text;
    }
    EXPECT_EQ(look(network, {}, true).text, "quiet") << text;
  }
}

TEST(FindAmbient, FindsTheLoadedLink) {
  const Network network = net::synthetic_network(kThree);
  for (const char* name : {"uplink 0 out", "uplink 1 in", "uplink 2 out", "host 4 in", "host 1 out"}) {
    for (const unsigned turn : {0U, 1U, 2U}) {
      const Seen seen = look(network, {{{resource(network, name), 300}}, {}}, false, turn, {.noise = 0.1});
      EXPECT_TRUE(seen.text.starts_with(std::string(name) + " at ")) << name << ": " << seen.text;
      EXPECT_EQ(seen.text.find(','), std::string::npos) << name << ": " << seen.text;
      EXPECT_LT(seen.took_s, 1.5);
    }
  }
}

TEST(FindAmbient, FindsLongQueues) {
  const Network network = net::synthetic_network(kThree);
  const Seen seen = look(network, {{}, {{1, 20000}}});
  EXPECT_EQ(seen.text, "subnets 0 and 2 20.0 ms further apart");
}

TEST(FindAmbient, ALittleIsTooLittleUnlessItWasMore) {
  const Network network = net::synthetic_network(kThree);
  const Ambient little{{{resource(network, "uplink 1 out"), 680}}, {}};
  EXPECT_EQ(look(network, little, false).text, "quiet");
  EXPECT_NE(look(network, little, true).text, "quiet");
}

}  // namespace
}  // namespace eco::measure
