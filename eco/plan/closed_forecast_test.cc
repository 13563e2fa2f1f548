#include "eco/plan/closed_forecast.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "eco/net/synthetic.h"
#include "eco/plan/forecast.h"
#include "eco/plan/testing.h"

namespace eco::plan {
namespace {

using coll::Collective;
using net::PairClass;

net::ClassPLogP measured(PairClass pairs, int from, int to, double rate, double latency_s) {
  net::ClassPLogP entry;
  entry.pairs = pairs;
  entry.from = from;
  entry.to = to;
  entry.parameters.latency_s = latency_s;
  entry.parameters.send_overhead = model::Curve({{8, 2e-6}});
  entry.parameters.receive_overhead = model::Curve({{8, 2e-6}});
  entry.parameters.gap = model::Curve({{0, 2e-6}, {1 << 20, 2e-6 + (1 << 20) / rate}});
  return entry;
}

// 6 MB/s inside, 2 MB/s between; both directions of the latter.
std::shared_ptr<net::Network> network_of(const std::string& hosts) {
  auto network = std::make_shared<net::Network>(
      net::synthetic_network("hosts=" + hosts + " rate_mbit=48 uplink_mbit=16 latency_us=60 between_us=200"));
  network->plogp.push_back(measured(PairClass::subnet, 0, 1, 6e6, 65e-6));
  if (network->subnets.size() > 1) {
    const int other = network->subnets[1].hosts.front();
    network->plogp.push_back(measured(PairClass::between, 0, other, 2e6, 205e-6));
  }
  network->finish();
  return network;
}

std::optional<ClosedForecast> closed(const std::string& recipe, Collective collective, std::size_t bytes,
                                     const net::GroupView& view) {
  const coll::CommonProblem problem{.collective = collective, .n_ranks = view.n_ranks(), .bytes = bytes};
  return closed_forecast(algo::parse_recipe(recipe), problem, view);
}

TEST(ClosedForecast, AgreesWithThePredictorOnASwitch) {
  // Where every message is alone on its way the two are about the same thing; store and forward, which only the
  // predictor knows, is small beside segments of several packets.
  const auto view = net::make_view(network_of("8"), {0, 1, 2, 3, 4, 5, 6, 7});
  for (const char* recipe : {"broadcast/flat", "broadcast/chain", "broadcast/binomial",
                             "broadcast/chain segment=16384", "broadcast/binomial segment=16384"}) {
    const coll::CommonProblem problem{.collective = Collective::broadcast, .n_ranks = 8, .bytes = 1 << 18};
    const double predicted = forecast(algo::parse_recipe(recipe), problem, view).seconds;
    const auto formula = closed(recipe, Collective::broadcast, 1 << 18, view);
    ASSERT_TRUE(formula) << recipe;
    EXPECT_NEAR(formula->seconds / predicted, 1, 0.1) << recipe << ": " << formula->form->formula;
  }
  const auto binary = closed("broadcast/kary degree=2 inside=kary", Collective::broadcast, 1 << 18, view);
  ASSERT_TRUE(binary);
  EXPECT_EQ(binary->form->says, model::Says::at_most);
}

TEST(ClosedForecast, TakesTheDearestClassOfTheGroup) {
  const auto network = network_of("3+3");
  const auto all =
      closed("broadcast/flat", Collective::broadcast, 65536, net::make_view(network, {0, 1, 2, 3}));
  ASSERT_TRUE(all);
  EXPECT_EQ(all->pairs->pairs, PairClass::between);
  const auto inside =
      closed("broadcast/flat", Collective::broadcast, 65536, net::make_view(network, {0, 1, 2}));
  ASSERT_TRUE(inside);
  EXPECT_EQ(inside->pairs->pairs, PairClass::subnet);
  EXPECT_NEAR(inside->seconds, 2 * (2e-6 + 65536 / 6e6) + 65e-6, 1e-9);
}

TEST(ClosedForecast, SaysNothingOfWhatItDoesNotKnow) {
  const auto network = network_of("3+3");
  const auto view = net::make_view(network, {0, 1, 2});
  EXPECT_FALSE(closed("broadcast/subnets segment=4096", Collective::broadcast, 65536, view));
  EXPECT_FALSE(closed("alltoall/flat", Collective::alltoall, 3 * 4096, view)) << "gamma was not measured";
  network->plogp[0].gamma = 0.5;
  const auto exchange = closed("alltoall/flat", Collective::alltoall, 3 * 4096, view);
  ASSERT_TRUE(exchange);
  EXPECT_NEAR(exchange->seconds, 65e-6 + 2 * 4e-6 + 0.5 * 2 * 4096 / 6e6, 1e-9);
  EXPECT_FALSE(closed("broadcast/flat", Collective::broadcast, 65536, net::make_view(network, {0, 0})))
      << "no pair of one host was measured";
  EXPECT_FALSE(closed("broadcast/flat", Collective::broadcast, 65536, net::make_view(network, {3, 4})))
      << "the second subnet was not measured";
  EXPECT_FALSE(closed("broadcast/flat", Collective::broadcast, 65536, net::make_view(network, {0})));
}

// By the network's own rates every network has closed forms; alone on its way a message takes what they say.
TEST(ClosedForecast, IsTheSimulationOfWholeMessagesOnASwitch) {
  const net::GroupView view = view_of(kOneSwitch);
  for (const Collective collective : {Collective::broadcast, Collective::reduce, Collective::allreduce}) {
    const coll::CommonProblem problem = problem_of(collective, 16384, view);
    for (const char* pattern : {"/flat", "/chain", "/binomial"}) {
      const algo::Recipe recipe = algo::parse_recipe(std::string(coll::name(collective)) + pattern);
      const Candidate candidate = candidate_of(recipe, problem, view);
      const auto by_rates = closed_by_rates(recipe, problem, view);
      ASSERT_TRUE(by_rates) << recipe.text();
      EXPECT_EQ(by_rates->least_s, by_rates->most_s);
      EXPECT_NEAR(by_rates->most_s / candidate.forecast.seconds, 1, 0.01) << recipe.text();
      EXPECT_FALSE(contradiction(candidate, problem, view));
    }
  }
}

// Chains of segments on a bus: every hop is on the same medium, which no formula knows.
TEST(ClosedForecast, ContradictsWhereMessagesShareAMedium) {
  const net::GroupView view = view_of(kEco1995);
  const coll::CommonProblem problem = problem_of(Collective::broadcast, 1 << 20, view);
  const Candidate chain = candidate_of(algo::parse_recipe("broadcast/chain segment=8624"), problem, view);
  const auto closed = contradiction(chain, problem, view);
  ASSERT_TRUE(closed);
  EXPECT_LT(kClosedFactor * closed->most_s, chain.forecast.seconds);
  EXPECT_LT(closed->least_s, closed->most_s);
  EXPECT_FALSE(
      contradiction(candidate_of(algo::parse_recipe("broadcast/flat"), problem, view), problem, view));
}

}  // namespace
}  // namespace eco::plan
