#include "eco/measure/plogp.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "eco/base/errors.h"
#include "eco/measure/testing.h"
#include "eco/measure/testing_cases.h"
#include "eco/net/io.h"
#include "eco/net/synthetic.h"

namespace eco::measure {
namespace {

using net::ClassPLogP;
using net::Network;
using net::PairClass;
using testing::expect_near;
using testing::one_rank_per_host;
using testing::VirtualNetwork;
using testing::VirtualOptions;

struct Outcome {
  std::vector<ClassPLogP> plogp;
  double took_s = 0;
};

// pLogP alone, of a network whose structure is known.
Outcome plogp_of(const Network& truth, const std::vector<int>& host_of_rank,
                 const VirtualOptions& world_options = {}, PlogpOptions options = {}) {
  VirtualNetwork world(truth, host_of_rank, world_options);
  options.ranks_of_host.resize(truth.hosts.size());
  for (std::size_t rank = 0; rank < host_of_rank.size(); ++rank) {
    options.ranks_of_host[static_cast<std::size_t>(host_of_rank[rank])].push_back(static_cast<int>(rank));
  }
  Outcome run;
  world.run([&](transport::Transport& transport, transport::Native& native, Clock clock) {
    conducted(
        transport, native, clock,
        [&](Conductor& conductor) {
          options.clock = clock;
          const double start = clock();
          run.plogp = measure_plogp(truth, conductor, options);
          run.took_s = clock() - start;
          return std::string("done");
        },
        world.pause(transport.rank()));
  });
  return run;
}

Outcome plogp_of(const char* description, const VirtualOptions& world_options = {}) {
  const Network truth = net::synthetic_network(description);
  return plogp_of(truth, one_rank_per_host(truth), world_options);
}

double slow_down(const ClassPLogP& measured, int n_pairs) {
  for (const net::SlowDown& slow : measured.slow_down) {
    if (slow.n_pairs == n_pairs) return slow.factor;
  }
  return 0;
}

TEST(Plogp, ParametersOfASwitch) {
  const double rate = 6e6;
  const Network truth = net::synthetic_network("hosts=8 rate_mbit=48 latency_us=60 overhead_us=20");
  const Outcome run = plogp_of(truth, one_rank_per_host(truth), {.reads_in_wait = true});
  ASSERT_EQ(run.plogp.size(), 2u);
  for (const ClassPLogP& entry : run.plogp) {
    EXPECT_EQ(entry.pairs, PairClass::subnet);
    const model::PLogP& p = entry.parameters;
    for (const std::size_t bytes : {8u, 1024u, 16384u, 65536u}) {
      const std::string at = std::to_string(bytes) + " B";
      expect_near(p.send_overhead(bytes), 20e-6, 0.01, "os " + at);
      expect_near(p.receive_overhead(bytes), 20e-6, 0.01, "or " + at);
      expect_near(p.gap(bytes), std::max(20e-6, static_cast<double>(bytes) / rate), 0.03, "g " + at);
    }
    expect_near(p.gap(1 << 20), (1 << 20) / rate, 0.03, "g beyond what was measured");
    EXPECT_GE(p.gap.points().size(), 8u);
    EXPECT_LE(p.gap.points().back().bytes, 1048576u);
    expect_near(p.latency_s, truth.message_s(0, 1, 8) - 20e-6, 0.01, "L");
    EXPECT_FALSE(entry.eager_limit);
  }
  EXPECT_EQ(run.plogp[0].from, 0);
  EXPECT_EQ(run.plogp[0].to, 1);
  EXPECT_EQ(run.plogp[1].from, 1);
  EXPECT_EQ(run.plogp[1].to, 0);
  expect_near(slow_down(run.plogp[0], 2), 1, 0.05, "two pairs on a switch");
  expect_near(slow_down(run.plogp[0], 4), 1, 0.05, "four pairs on a switch");
}

TEST(Plogp, TheCurveBendsWhereTheRateBeginsToBind) {
  // 20 us of overhead are 120 bytes' worth at 6 MB/s: between the grid's 64 and 256.
  const Outcome run = plogp_of("hosts=2 rate_mbit=48 latency_us=60 overhead_us=20");
  const auto& points = run.plogp.at(0).parameters.gap.points();
  const auto inside = [](const model::Point& point) { return point.bytes > 64 && point.bytes < 256; };
  EXPECT_GT(std::count_if(points.begin(), points.end(), inside), 0) << "refined where the line misses";
  const auto straight = [](const model::Point& point) { return point.bytes > 16384 && point.bytes < 65536; };
  EXPECT_EQ(std::count_if(points.begin(), points.end(), straight), 0) << "not where it holds";
  EXPECT_NEAR(run.plogp[0].parameters.gap(128), 128 / 6e6, 3e-6);
}

TEST(Plogp, PairsAtOnceOnABusAndAnUplink) {
  const Outcome bus = plogp_of("hosts=8 kind=bus rate_mbit=48");
  expect_near(slow_down(bus.plogp.at(0), 2), 2, 0.1, "two pairs on a bus");
  expect_near(slow_down(bus.plogp.at(0), 4), 4, 0.1, "four pairs on a bus");
  EXPECT_TRUE(bus.plogp.at(1).slow_down.empty()) << "known from the other direction";

  const Outcome uplinks = plogp_of("hosts=4+4 rate_mbit=200 uplink_mbit=40");
  ASSERT_EQ(uplinks.plogp.size(), 6u);
  expect_near(slow_down(uplinks.plogp[0], 2), 1, 0.1, "two pairs inside");
  EXPECT_EQ(slow_down(uplinks.plogp[0], 4), 0) << "four hosts have no four pairs";
  for (const std::size_t across : {4u, 5u}) {
    EXPECT_EQ(uplinks.plogp[across].pairs, PairClass::between);
    expect_near(slow_down(uplinks.plogp[across], 2), 2, 0.1, "two pairs share the uplink");
    expect_near(slow_down(uplinks.plogp[across], 4), 4, 0.1, "four pairs share the uplink");
  }
}

TEST(Plogp, AnAsymmetricalLinkHasTwoGapsAndOneLatency) {
  Network truth = net::synthetic_network("hosts=2+2 rate_mbit=200 uplink_mbit=40");
  const auto out = std::find_if(truth.resources.begin(), truth.resources.end(),
                                [](const net::Resource& r) { return r.name == "uplink 0 out"; });
  ASSERT_NE(out, truth.resources.end());
  out->bytes_per_s /= 4;
  Network known = truth;
  known.plogp = plogp_of(truth, one_rank_per_host(truth)).plogp;
  const ClassPLogP* up = known.plogp_between(1, 3);
  const ClassPLogP* down = known.plogp_between(3, 1);
  ASSERT_NE(up, nullptr);
  ASSERT_NE(down, nullptr);
  expect_near(up->parameters.gap(65536), 65536 / 1.25e6, 0.03, "up");
  expect_near(down->parameters.gap(65536), 65536 / 5e6, 0.03, "down");
  EXPECT_NEAR(up->parameters.latency_s, down->parameters.latency_s, 10e-6);
  EXPECT_EQ(known.plogp_between(0, 1), &known.plogp[0]);
  EXPECT_EQ(known.plogp_between(1, 0), &known.plogp[1]);
  EXPECT_EQ(known.plogp_between(0, 0), nullptr) << "one rank per host";
}

TEST(Plogp, TheEagerLimitIsFound) {
  for (const std::size_t limit : {5000u, 12288u, 65536u}) {
    const Outcome run =
        plogp_of("hosts=2 rate_mbit=200 latency_us=500", {.eager_limit = limit, .reads_in_wait = true});
    for (const ClassPLogP& entry : run.plogp) {
      ASSERT_TRUE(entry.eager_limit) << limit;
      EXPECT_LE(*entry.eager_limit, limit);
      EXPECT_GT(*entry.eager_limit + 16, limit);
      expect_near(entry.parameters.receive_overhead(4 * limit), 2e-6, 0.01, "or goes on beyond the limit");
    }
  }
  EXPECT_FALSE(plogp_of("hosts=2 rate_mbit=200 latency_us=500").plogp.at(0).eager_limit);
  const Outcome never = plogp_of("hosts=2 rate_mbit=200", {.eager_limit = 0});
  EXPECT_EQ(never.plogp.at(0).eager_limit, std::size_t{0}) << "every message waits";
}

TEST(Plogp, GammaIsOneWhereEveryPortIsTheLimit) {
  // A rank's P - 1 messages leave its port one after the other: the upper bound, whatever else is idle.
  const Outcome run = plogp_of("hosts=6 rate_mbit=48 overhead_us=2", {.reads_in_wait = true});
  ASSERT_TRUE(run.plogp.at(0).gamma);
  EXPECT_NEAR(*run.plogp[0].gamma, 1, 0.15);
  EXPECT_FALSE(run.plogp[1].gamma) << "measured once a subnet";
  const Outcome bus = plogp_of("hosts=6 kind=bus rate_mbit=48 overhead_us=2", {.reads_in_wait = true});
  EXPECT_GT(bus.plogp.at(0).gamma.value_or(0), 4) << "on a bus the others' messages take their time too";
  EXPECT_FALSE(plogp_of("hosts=2 rate_mbit=48").plogp.at(0).gamma);
}

TEST(Plogp, RanksOfOneHost) {
  const Network truth = net::synthetic_network("hosts=2 rate_mbit=48");
  const Outcome run = plogp_of(truth, {0, 1, 1, 1, 1});
  ASSERT_EQ(run.plogp.size(), 3u);
  EXPECT_EQ(run.plogp[0].pairs, PairClass::host);
  EXPECT_EQ(run.plogp[0].from, 1);
  EXPECT_EQ(run.plogp[0].to, 1);
  expect_near(run.plogp[0].parameters.gap(1 << 20), (1 << 20) / 5e9, 0.1, "memory");
  EXPECT_GT(slow_down(run.plogp[0], 2), 1.5) << "two pairs in one memory";
  EXPECT_TRUE(plogp_of(net::synthetic_network("hosts=1"), {0}).plogp.empty());
}

TEST(Plogp, ABudgetLeavesOutWhatDoesNotFit) {
  const Network truth = net::synthetic_network("hosts=3+3+2 rate_mbit=200 uplink_mbit=40");
  const Outcome whole = plogp_of(truth, one_rank_per_host(truth));
  EXPECT_EQ(whole.plogp.size(), 12u);
  const double budget_s = whole.took_s / 4;
  PlogpOptions budget;
  budget.budget_s = budget_s;
  const Outcome part = plogp_of(truth, one_rank_per_host(truth), {}, budget);
  EXPECT_GT(part.plogp.size(), 0u);
  EXPECT_LT(part.plogp.size(), 12u);
  EXPECT_LE(part.took_s, budget_s);
}

TEST(Plogp, CharacterizeKeepsThemWhereAsked) {
  const Network truth = net::synthetic_network("hosts=3+2 rate_mbit=200 uplink_mbit=40");
  const auto characterized = [&](bool plogp) {
    VirtualNetwork world(truth, one_rank_per_host(truth));
    std::vector<std::string> texts(truth.hosts.size());
    double last = 0;
    world.run([&](transport::Transport& transport, transport::Native& native, Clock clock) {
      CharacterizeOptions options;
      options.host_of_rank = truth.hosts;
      options.clock = std::move(clock);
      options.pause = world.pause(transport.rank());
      options.plogp = plogp;
      if (transport.rank() == 0) {
        options.progress = [&](const std::string&, double fraction) {
          EXPECT_GE(fraction, last);
          last = fraction;
        };
      }
      texts[static_cast<std::size_t>(transport.rank())] =
          net::to_json(characterize(transport, native, options));
    });
    EXPECT_EQ(last, 1.0);
    Network network = net::parse_network(texts[0], "test");
    texts[0] = net::to_json(network.without_samples());
    for (const std::string& text : texts) EXPECT_EQ(text, texts[0]);
    return network;
  };
  const Network with = characterized(true);
  const Network without = characterized(false);
  EXPECT_EQ(with.plogp.size(), 6u);
  EXPECT_TRUE(without.plogp.empty());
  EXPECT_EQ(with.fingerprint(), without.fingerprint());
  EXPECT_GT(with.plogp[0].samples.size(), 20u);
}

TEST(Plogp, ProgressMayStopIt) {
  const Network truth = net::synthetic_network("hosts=2");
  PlogpOptions options;
  options.progress = [](const std::string&, double) { throw Timeout("enough"); };
  EXPECT_THROW(plogp_of(truth, {0, 1}, {}, options), Error);
}

}  // namespace
}  // namespace eco::measure
