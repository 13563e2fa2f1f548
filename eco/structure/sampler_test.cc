#include "eco/structure/sampler.h"

#include <gtest/gtest.h>

#include "eco/structure/simulated.h"
#include "eco/structure/testing.h"

namespace eco::structure {
namespace {

using testing::racks;

TEST(Sampler, TakesTheLowestThatAnotherConfirms) {
  EXPECT_EQ(confirmed_minimum({5, 1, 5.1, 9}, 0.9), 5);
  EXPECT_EQ(confirmed_minimum({1, 0.95, 7}, 0.9), 0.95);
  EXPECT_EQ(confirmed_minimum({1, 2, 4}, 0.9), 1);  // nobody confirms anybody
}

std::vector<Pair> all_pairs(int n) {
  std::vector<Pair> pairs;
  for (int a = 0; a < n; ++a) {
    for (int b = a + 1; b < n; ++b) pairs.push_back({a, b});
  }
  return pairs;
}

TEST(Sampler, SpoiltSamplesChangeNothing) {
  const TrueNetwork network = racks({{.n_hosts = 10}, {.n_hosts = 10, .arm_s = 60e-6}}, {10e-6, 5e6});
  SimulatedProbe probe(network, {.noise = 0.01, .spoilt = 0.05, .seed = 3});
  Sampler sampler(probe);
  sampler.want(all_pairs(20));
  for (const Pair& pair : all_pairs(20)) {
    EXPECT_NEAR(sampler.latency_s(pair.from, pair.to) / network.latency_s(pair.from, pair.to), 1, 0.04)
        << pair.from << " " << pair.to;
  }
  EXPECT_TRUE(sampler.in_parallel());
}

TEST(Sampler, MeasuresAPairOnce) {
  const TrueNetwork network = racks({{.n_hosts = 4}}, {});
  SimulatedProbe probe(network, {});
  Sampler sampler(probe);
  sampler.want({{0, 1}, {1, 0}, {2, 3}});
  const long before = probe.cost().messages;
  sampler.want({{1, 0}, {3, 2}, {1, 1}});
  EXPECT_EQ(probe.cost().messages, before);
  EXPECT_EQ(sampler.n_pairs(), 2U);
  EXPECT_FALSE(sampler.knows(0, 2));
}

TEST(Sampler, PairsThatDisturbEachOtherAreMeasuredAlone) {
  const TrueNetwork network = racks({{.n_hosts = 12}}, {});
  SimulatedProbe probe(network, {.noise = 0.005, .spoilt = 0, .crowding = 0.1});
  Sampler sampler(probe);
  sampler.want(all_pairs(12));
  EXPECT_FALSE(sampler.in_parallel());
  EXPECT_NEAR(sampler.latency_s(3, 7), 40e-6, 1e-6);
}

TEST(Sampler, TheCheckComesBeforeTheOtherRounds) {
  const TrueNetwork network = racks({{.n_hosts = 12}}, {});
  SimulatedProbe quiet(network, {});
  SimulatedProbe disturbed(network, {.crowding = 0.1});
  Sampler of_quiet(quiet);
  Sampler of_disturbed(disturbed);
  of_quiet.want(all_pairs(12));
  of_disturbed.want(all_pairs(12));
  // One round of six pairs at once is all that was in vain.
  EXPECT_LE(disturbed.cost().messages, quiet.cost().messages + 6 * (2 * 6 + 4));
}

TEST(Sampler, AGlanceAtWhatWasMeasuredBeforeIsNotLost) {
  const TrueNetwork network = racks({{.n_hosts = 3}}, {});
  testing::OnceProbe probe(network);
  Sampler sampler(probe);
  sampler.glance({{0, 1}});
  sampler.want({{0, 1}, {1, 2}});
  const double true_s = network.latency_s(0, 1);
  EXPECT_NEAR(sampler.latency_s(0, 1), true_s, 0.05 * true_s);
}

TEST(Sampler, RoundsDisturbIfTheTreeContradictsManyPairs) {
  const TrueNetwork network = racks({{.n_hosts = 12}}, {});
  SimulatedProbe probe(network, {});
  Sampler sampler(probe);
  sampler.want(all_pairs(12));
  sampler.judge_rounds(2, 66);
  EXPECT_TRUE(sampler.in_parallel());
  sampler.judge_rounds(2, 4);
  EXPECT_FALSE(sampler.in_parallel());
}

}  // namespace
}  // namespace eco::structure
