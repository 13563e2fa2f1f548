#include "eco/plan/forecast.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "eco/algo/algorithm.h"
#include "eco/base/errors.h"
#include "eco/net/synthetic.h"
#include "eco/plan/explain.h"
#include "eco/plan/proving.h"
#include "eco/plan/shortlist.h"
#include "eco/plan/testing.h"

namespace eco::plan {
namespace {

using coll::Collective;
using coll::CommonProblem;

struct Recorded {
  const char* network;
  Collective collective;
  const char* recipe;
  double seconds;
  double n_messages;
};

// Predictions of 100,000 bytes as they were when windows and events were kept in plain lists and one binary heap:
// faster ones must not change them. Ranks are dealt out over the subnets. (Of allreduce/subnets: as they are since its ranks
// begin with different owners, and few segments come ahead where there is a send window; of synchronous sends: since answers take
// what messages of no bytes take.)
TEST(Forecast, IsTheSameToTheLastDigit) {
  const Recorded recorded[] = {
      {kThreeSubnets, Collective::broadcast,
       "broadcast/subnets segment=1392 head=2 window=4 inside=flat order=0,2,1", 0.027715874345549681, 1008},
      {kThreeSubnets, Collective::broadcast, "broadcast/binomial segment=5728", 0.084424178010471154, 126},
      {kThreeSubnets, Collective::allreduce, "allreduce/ring segment=1392", 0.11059749738219936, 1008},
      {kThreeSubnets, Collective::allreduce, "allreduce/subnets segment=2832 window=2 between=flat",
       0.030262205382198936, 1008},
      {kThreeSubnets, Collective::allgather, "allgather/leaders segment=1392 inside=binomial",
       0.016842502617801049, 549},
      {kThreeSubnets, Collective::reduce_scatter, "reduce_scatter/flat segment=1392", 0.039892187602094148,
       504},
      {kThreeSubnets, Collective::alltoall, "alltoall/subnets segment=1392 window=2", 0.041855578534031393,
       1008},
      {kThreeSubnets, Collective::scan, "scan/doubling segment=1392", 0.15132520183874412, 1224},
      {kEco1995, Collective::broadcast,
       "broadcast/subnets segment=1392 head=2 window=4 inside=flat order=0,2,1", 0.31725282426778301, 1008},
      {kEco1995, Collective::broadcast, "broadcast/binomial segment=5728", 0.50345376569037636, 126},
      {kEco1995, Collective::allreduce, "allreduce/ring segment=1392", 0.88006966527196029, 1008},
      {kEco1995, Collective::allreduce, "allreduce/subnets segment=2832 window=2 between=flat",
       0.55920903765690277, 1008},
      {kEco1995, Collective::allgather, "allgather/leaders segment=1392 inside=binomial", 0.30344228033472836,
       549},
      {kEco1995, Collective::reduce_scatter, "reduce_scatter/flat segment=1392", 0.37659948756485534, 504},
      {kEco1995, Collective::alltoall, "alltoall/subnets segment=1392 window=2", 0.37697653765690409, 1008},
      {kEco1995, Collective::scan, "scan/doubling segment=1392", 1.005517297174886, 1224},
  };
  for (const Recorded& one : recorded) {
    const net::GroupView view = net::make_view(
        std::make_shared<net::Network>(net::synthetic_network(one.network)), {0, 3, 6, 1, 4, 7, 2, 5});
    CommonProblem problem{.collective = one.collective, .n_ranks = 8};
    if (coll::is_reduction(one.collective)) problem.element_bytes = 8;
    problem.bytes = coll::whole_bytes(problem, 100'000);
    const Forecast found = forecast(algo::parse_recipe(one.recipe), problem, view);
    // To the last digits: compilers may round a product and a sum together.
    EXPECT_DOUBLE_EQ(found.seconds, one.seconds) << one.recipe << " on " << one.network;
    EXPECT_EQ(found.n_messages, one.n_messages) << one.recipe;
    EXPECT_FALSE(found.extrapolated);
  }
}

// What the library sends on an island is a guess, and named as one; the schedules themselves can't be predicted.
TEST(Forecast, GuessesNativeParts) {
  const net::GroupView view = net::make_view(
      std::make_shared<net::Network>(net::synthetic_network(kThreeSubnets)), {0, 3, 6, 1, 4, 7, 2, 5});
  const CommonProblem problem{.collective = Collective::broadcast, .n_ranks = 8, .bytes = 100'000};
  const algo::Recipe native =
      algo::parse_recipe("broadcast/levels segment=5728 parts=broadcast/chain,native");
  const algo::Recipe guess =
      algo::parse_recipe("broadcast/levels segment=5728 parts=broadcast/chain,broadcast/binomial");
  const Forecast found = forecast(native, problem, view);
  const Forecast as_guessed = forecast(guess, problem, view);
  EXPECT_TRUE(found.guesses_native);
  EXPECT_FALSE(as_guessed.guesses_native);
  EXPECT_EQ(found.seconds, as_guessed.seconds);
  EXPECT_EQ(prove(native, problem, view), std::nullopt);
  const std::string text = explain(problem, view, nullptr, {candidate_of(native, problem, view)});
  EXPECT_NE(text.find("(native parts guessed: broadcast/chain, broadcast/binomial)"), std::string::npos)
      << text;
  EXPECT_THROW(sim::predict(view, algo::build_all(native, problem, view)), InvalidArgument);
}

// Beside the same in ECO's own parts a guess is something new to measure.
TEST(Shortlist, TakesNativePartsBesideOthers) {
  const net::GroupView view = view_of(kThreeSubnets);
  const CommonProblem problem{.collective = Collective::broadcast, .n_ranks = 8, .bytes = 100'000};
  std::vector<Candidate> ranked;
  for (const char* parts : {"broadcast/chain,broadcast/binomial", "broadcast/binomial,broadcast/binomial",
                            "broadcast/chain,native", "broadcast/binomial,native"}) {
    const std::string recipe = std::string("broadcast/levels segment=5728 parts=") + parts;
    ranked.push_back(candidate_of(algo::parse_recipe(recipe), problem, view));
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const Candidate& a, const Candidate& b) {
    return a.forecast.seconds < b.forecast.seconds;
  });
  const auto chosen = shortlist(ranked, 2, problem, view);
  ASSERT_EQ(chosen.size(), 2U);
  EXPECT_NE(chosen[0]->forecast.guesses_native, chosen[1]->forecast.guesses_native);
}

// Long schedules are predicted from shorter ones: the same time within a few per cent.
TEST(Forecast, ContinuesPredictionsInAStraightLine) {
  const net::GroupView view = view_of(kThreeSubnets);
  for (const char* recipe : {"broadcast/subnets segment=1392 window=0 between=chain inside=chain",
                             "broadcast/subnets segment=8624 window=4 between=chain inside=chain"}) {
    const CommonProblem problem = problem_of(Collective::broadcast, 4 << 20, view);
    const Forecast whole =
        forecast(algo::parse_recipe(recipe), problem, view, {.most_operations = 10'000'000});
    const Forecast shortened =
        forecast(algo::parse_recipe(recipe), problem, view, {.most_operations = 3'000});
    EXPECT_FALSE(whole.extrapolated);
    EXPECT_TRUE(shortened.extrapolated);
    EXPECT_NEAR(shortened.seconds / whole.seconds, 1.0, 0.02) << recipe;
    EXPECT_NEAR(shortened.busiest_s / whole.busiest_s, 1.0, 0.02) << recipe;
    EXPECT_EQ(shortened.busiest, whole.busiest);
  }
}

// What is short enough to be walked may wait for latency where all of it waits for a link.
TEST(Forecast, NeverTakesLessThanTheBusiestLink) {
  const net::GroupView view =
      view_of("hosts=48+16 rate_mbit=10000 uplink_mbit=1000 latency_us=20 between_us=5020 overhead_us=1");
  const std::size_t block = 65536;
  const CommonProblem problem = problem_of(Collective::allgather, 64 * block, view);
  const Forecast shortened = forecast(algo::parse_recipe("allgather/leaders segment=1392 inside=chain"),
                                      problem, view, {.most_operations = 20'000});
  ASSERT_TRUE(shortened.extrapolated);
  EXPECT_GE(shortened.seconds, 48 * static_cast<double>(block) / 125e6);
}

}  // namespace
}  // namespace eco::plan
