#include "lab/relay/config.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace eco::lab {
namespace {

Config parse(const std::string& text) {
  std::istringstream in(text);
  return parse_config(in);
}

const std::string kGood =
    "eco-relay 1\n"
    "# two hosts on a bus\n"
    "server bus bus 10000000 0 4000 2\n"
    "server port fifo 2e7 100000 4000 1\n"
    "port p0 02:ec:00:00:00:01\n"
    "port p1 02:ec:00:00:00:02\n"
    "path 0 1 0.1 1\n"
    "traffic 0 1 1000000 1514 poisson 0 0 3\n";

TEST(RelayConfig, ReadsEveryKindOfLine) {
  const Config config = parse(kGood);
  ASSERT_EQ(config.servers.size(), 2u);
  EXPECT_EQ(config.servers[0].discipline, Discipline::bus);
  EXPECT_EQ(config.servers[0].n_stations, 2);
  EXPECT_DOUBLE_EQ(config.servers[1].bits_per_s, 2e7);
  EXPECT_EQ(config.servers[1].delay_ns, 100'000);
  EXPECT_EQ(config.ports[1].mac, (Mac{0x02, 0xec, 0, 0, 0, 2}));
  ASSERT_EQ(config.paths[0].hops.size(), 2u);
  EXPECT_EQ(config.paths[0].hops[0].station, 1);
  EXPECT_EQ(config.traffic[0].arrivals, Arrivals::poisson);
}

struct Bad {
  const char* line;
  const char* reason;
};

class BadRelayConfig : public ::testing::TestWithParam<Bad> {};

TEST_P(BadRelayConfig, IsRefusedWithLineAndReason) {
  try {
    parse(kGood + GetParam().line + "\n");
    FAIL() << "accepted: " << GetParam().line;
  } catch (const ConfigError& e) {
    EXPECT_NE(std::string(e.what()).find("line 9"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find(GetParam().reason), std::string::npos) << e.what();
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, BadRelayConfig,
    ::testing::Values(
        Bad{"cable 0 1", "none of server"}, Bad{"server s hub 1 0 4000 1", "neither fifo nor bus"},
        Bad{"server s fifo fast 0 4000 1", "no number"}, Bad{"server s fifo -1 0 4000 1", "out of range"},
        Bad{"server s fifo nan 0 4000 1", "out of range"}, Bad{"server s fifo 1 0 4000", "missing"},
        Bad{"server s fifo 1 0 10 1", "queue 10"}, Bad{"server s bus 0 0 4000 2", "needs a rate"},
        Bad{"server s fifo 1 0 4000 1 more", "too much"}, Bad{"port p2 02:ec", "no MAC"},
        Bad{"port p2 02:ec:00:00:00:02:03", "no MAC"}, Bad{"path 0 2 0.0", "destination port"},
        Bad{"path 0 1 7", "server 7"}, Bad{"path 0 1 0.2", "station 2"}, Bad{"path 0 1", "at least one"},
        Bad{"path 0 1 0.x", "no whole number"}, Bad{"traffic 1 0 1000 1514 cbr 0 0 1", "no path"},
        Bad{"traffic 0 1 1000 40 cbr 0 0 1", "frame bytes"},
        Bad{"traffic 0 1 1000 1514 rush 0 0 1", "none of cbr"},
        Bad{"traffic 0 1 1000 1514 on-off 0 5 1", "needs an on time"}));

TEST(RelayConfig, RefusesAnotherFileAndAnEmptyOne) {
  EXPECT_THROW(parse("[segment]\n"), ConfigError);
  EXPECT_THROW(parse("eco-relay 2\n"), ConfigError);
  EXPECT_THROW(parse(""), ConfigError);
  EXPECT_THROW(parse("eco-relay 1\n"), ConfigError);  // no ports
}

}  // namespace
}  // namespace eco::lab
