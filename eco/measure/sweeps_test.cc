#include "eco/measure/sweeps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <tuple>

#include "eco/base/errors.h"
#include "eco/measure/derive.h"

namespace eco::measure {
namespace {

// Trips whose time is set by the test; the clock moves by what the longest of a round take.
struct Bench {
  double now = 0;
  std::function<double(int a, int b, std::size_t bytes, int visit)> law;
  std::function<double(const std::vector<structure::Pair>& round)> slower =
      nullptr;         // of a round, by what factor
  double order_s = 0;  // that a round costs besides
  std::map<std::tuple<int, int, std::size_t>, int> visits = {};
  std::map<std::size_t, std::size_t> rounds = {};  // of more than one pair, by bytes
  std::vector<int> level_of_host = {};             // where pairs stand for those like them
  double most_s = 0;
  bool keeps = false;
  std::vector<KnownTimes> known = {};  // where it keeps, of the sweeps before

  Pinger ping() {
    return [this](const std::vector<structure::Pair>& round, std::size_t bytes, int trips) {
      std::vector<std::vector<double>> all;
      double longest = 0;
      for (const structure::Pair& pair : round) {
        double seconds = law(pair.from, pair.to, bytes, visits[{pair.from, pair.to, bytes}]++);
        if (slower) seconds *= slower(round);
        longest = std::max(longest, seconds);
        all.emplace_back(static_cast<std::size_t>(trips), seconds);
      }
      if (round.size() > 1) ++rounds[bytes];
      now += order_s + 2 * trips * longest;
      return all;
    };
  }

  SweepOptions options(double budget_s) {
    SweepOptions options;
    options.budget_s = budget_s;
    options.most_s = most_s;
    options.level_of_host = level_of_host;
    options.clock = [this] { return now; };
    options.known = known;
    if (keeps) options.keep = [this](const std::vector<KnownTimes>& kept) { known = kept; };
    return options;
  }

  PairSamples sweep(int n_hosts, double budget_s) { return sweep_pairs(n_hosts, ping(), options(budget_s)); }

  // How many jobs it takes until there is a network.
  int jobs(int n_hosts, double budget_s, PairSamples& result) {
    for (int n = 1; n < 20; ++n) {
      try {
        result = sweep(n_hosts, budget_s);
        return n;
      } catch (const Unsupported&) {
      }
    }
    return 20;
  }
};

// Three switches behind slow uplinks, on a machine where four of five trips are held up: 1 KiB decides who is beside whom, and 8 B
// must not take all the time.
TEST(Sweeps, InABudgetWhatDecidesThePartitionSettlesFirst) {
  const auto part = [](int host) { return host / 3; };
  int n_wrong = 0;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 dice(seed);
    std::exponential_distribution<double> some(1);
    double now = 0;
    const auto ping = [&](const std::vector<structure::Pair>& round, std::size_t bytes, int trips) {
      std::vector<std::vector<double>> all;
      double longest = 0;
      for (const structure::Pair& pair : round) {
        const auto n = static_cast<double>(bytes);
        const double way = 2e-4 + n / 25e6 + (part(pair.from) == part(pair.to) ? 0 : 1e-4 + 2 * n / 5e6);
        all.emplace_back();
        for (int trip = 0; trip < trips; ++trip) {
          all.back().push_back(way * (1 + 0.02 * some(dice)) + (dice() % 5 == 0 ? 0 : 400e-6 * some(dice)));
          longest = std::max(longest, all.back().back());
        }
      }
      now += 4e-4 + 2 * trips * longest;
      return all;
    };
    SweepOptions options;
    options.budget_s = 7;
    options.most_s = 14;
    options.clock = [&] { return now; };
    const PairSamples found = sweep_pairs(8, ping, options);
    if (find_subnets(8, found.sizes, found.pairs) != net::Partition{{0, 1, 2}, {3, 4, 5}, {6, 7}}) ++n_wrong;
  }
  EXPECT_LE(n_wrong, 3);
}

TEST(Sweeps, ASpoiltSampleIsMeasuredAgain) {
  for (const double factor : {0.1, 10.0}) {
    Bench bench;
    bench.law = [&](int a, int b, std::size_t bytes, int visit) {
      const double right = 1e-4 + static_cast<double>(bytes) * 1e-7;
      return a == 1 && b == 2 && visit == 1 ? factor * right : right;
    };
    for (const double budget : {0.0, 100.0}) {
      bench.visits.clear();
      const PairSamples result = bench.sweep(3, budget);
      for (const net::PairTimes& pair : result.pairs) {
        for (std::size_t i = 0; i < result.sizes.size(); ++i) {
          EXPECT_DOUBLE_EQ(pair.seconds[i], 1e-4 + static_cast<double>(result.sizes[i]) * 1e-7);
        }
      }
      if (budget > 0) {
        EXPECT_GE(result.pairs[2].samples[0].size(), 3u);  // two sweeps, and one again
      }
    }
  }
}

TEST(Sweeps, SmallMessagesAreSweptUntilTheySettle) {
  Bench bench;
  bench.law = [](int, int, std::size_t, int visit) { return 1e-4 * (visit < 8 ? 2.0 - 0.125 * visit : 1.0); };
  const PairSamples result = bench.sweep(2, 0);
  EXPECT_DOUBLE_EQ(result.pairs[0].seconds[0], 1e-4);
  EXPECT_GE(result.pairs[0].samples[0].size(), 9u);
  EXPECT_EQ(result.pairs[0].samples[3].size(), 4u);  // large ones are not
}

TEST(Sweeps, LargeMessagesOfPairsAlikeConfirmEachOther) {
  constexpr std::size_t kLarge = 65536;
  for (const double factor : {1.0, 0.1, 10.0}) {
    Bench bench;
    bench.level_of_host = {0, 0, 0, 0, 1, 1, 1};
    bench.law = [&](int a, int b, std::size_t bytes, int visit) {
      const double right = 1e-4 + static_cast<double>(bytes) * 1e-7;
      return a == 0 && b == 1 && bytes == kLarge && visit == 0 ? factor * right : right;
    };
    const PairSamples result = bench.sweep(7, 0);
    ASSERT_EQ(result.sizes.back(), kLarge);
    for (const net::PairTimes& pair : result.pairs) {
      const bool is_spoilt = factor != 1 && pair.a == 0 && pair.b == 1;
      EXPECT_NEAR(pair.seconds.back(), 1e-4 + static_cast<double>(kLarge) * 1e-7, 1e-9)
          << pair.a << "-" << pair.b;
      if (!pair.samples.back().empty()) {
        EXPECT_EQ(pair.samples.back().size() > 1, is_spoilt) << pair.a << "-" << pair.b;
      }
    }
  }
}

// Two sites of four hosts, 10 ms apart, 4 MB/s between them.
double two_far_sites(int a, int b, std::size_t bytes, int) {
  const bool is_far = (a < 4) != (b < 4);
  return is_far ? 0.01 + static_cast<double>(bytes) / 4e6 : 1e-4 + static_cast<double>(bytes) / 25e6;
}

TEST(Sweeps, SmallMessagesOfPairsThatAreFarApartGoInRounds) {
  Bench bench{.law = two_far_sites};
  const PairSamples result = bench.sweep(8, 0);
  EXPECT_GT(bench.rounds[8], 0u);
  EXPECT_GT(bench.rounds[1024], 0u);
  EXPECT_EQ(bench.rounds[16384] + bench.rounds[65536], 0u);  // they would share the line
  for (const net::PairTimes& pair : result.pairs) {
    for (std::size_t size = 0; size < result.sizes.size(); ++size) {
      EXPECT_NEAR(pair.seconds[size], two_far_sites(pair.a, pair.b, result.sizes[size], 0), 1e-9);
    }
  }
}

TEST(Sweeps, RoundsThatDisturbAreGivenUp) {
  Bench bench{.law = two_far_sites};
  bench.slower = [](const std::vector<structure::Pair>& round) { return round.size() > 1 ? 1.3 : 1.0; };
  const PairSamples result = bench.sweep(8, 0);
  EXPECT_EQ(bench.rounds[8], 1u);
  EXPECT_EQ(bench.rounds[1024], 1u);
  for (const net::PairTimes& pair : result.pairs)
    EXPECT_NEAR(pair.seconds[1], two_far_sites(pair.a, pair.b, 1024, 0), 1e-9);
}

TEST(Sweeps, ABudgetOfSecondsIsEnoughForTwoSitesFarApart) {
  // What ordering a visit over 10 ms takes, with the trip that brings both together.
  Bench bench{.law = two_far_sites, .order_s = 0.03, .most_s = 4};
  const PairSamples result = bench.sweep(8, 1.6);
  ASSERT_GE(result.sizes.size(), 3u);
  EXPECT_GE(result.sizes[2], kReliableBytes);
  EXPECT_LT(bench.now, 4.5);
  int visited = 0;
  for (const net::PairTimes& pair : result.pairs) {
    EXPECT_GE(pair.samples[0].size(), 2u);
    EXPECT_NEAR(pair.seconds[2], two_far_sites(pair.a, pair.b, result.sizes[2], 0), 1e-9);
    if ((pair.a < 4) != (pair.b < 4) && !pair.samples[2].empty()) ++visited;
  }
  EXPECT_EQ(visited, 4);  // for the sixteen between the sites
}

TEST(Sweeps, WhatWillNotFitIsNotBegun) {
  Bench bench{.law = nullptr, .order_s = 0.03, .most_s = 3};
  bench.law = [](int a, int b, std::size_t, int) { return (a < 6) != (b < 6) ? 0.05 : 1e-4; };
  // Rank 0's eleven pairs take 1.6 s, five rounds of the others 0.23 s each, twice.
  EXPECT_THROW(bench.sweep(12, 2), Unsupported);
  EXPECT_LT(bench.now, 1.8);
  EXPECT_EQ(bench.rounds[8], 0u);
}

// Twenty hosts in five subnets, at 10 Mbit/s: more pairs than a job has time for.
double many_slow_hosts(int a, int b, std::size_t bytes, int) {
  return (a / 4 == b / 4 ? 2e-4 : 5e-4) + static_cast<double>(bytes) / 1.1e6;
}

TEST(Sweeps, WhatDoesNotFitIntoOneJobIsDoneInSeveral) {
  Bench bench{.law = many_slow_hosts, .order_s = 1e-3, .most_s = 4, .keeps = true};
  PairSamples result;
  const int jobs = bench.jobs(20, 1.6, result);
  EXPECT_GT(jobs, 1);
  EXPECT_LT(jobs, 5);
  EXPECT_LT(bench.now, 4.2 * jobs);
  ASSERT_EQ(result.sizes, (std::vector<std::size_t>{8, 1024, kReliableBytes}));
  for (const net::PairTimes& pair : result.pairs) {
    for (std::size_t size = 0; size < 3; ++size)
      EXPECT_DOUBLE_EQ(pair.seconds[size], many_slow_hosts(pair.a, pair.b, result.sizes[size], 0));
    const bool is_inside = pair.a / 4 == pair.b / 4;
    EXPECT_TRUE(!is_inside || pair.samples[2].size() >= 2) << "others stand for it";
  }
  EXPECT_EQ(bench.visits.count({0, 1, 8}), 1u);
  EXPECT_LE((bench.visits[{0, 1, 8}]), 3) << "measured again in each job";
}

TEST(Sweeps, OneFarHostDoesNotKeepTheNearOnesFromGettingOn) {
  Bench bench{.law = nullptr, .order_s = 1e-3, .most_s = 4, .keeps = true};
  bench.law = [](int a, int b, std::size_t bytes, int visit) {
    return many_slow_hosts(a, b, bytes, visit) + (b == 20 ? 0.01 : 0);
  };
  PairSamples result;
  EXPECT_LT(bench.jobs(21, 1.6, result), 9);
  EXPECT_GE(result.sizes.back(), kReliableBytes);
}

TEST(Sweeps, WhereLargeMessagesWouldTakeTooManyJobsSmallOnesServe) {
  Bench bench{.law = nullptr, .order_s = 1e-4, .most_s = 4, .keeps = true};
  bench.law = [](int, int, std::size_t bytes, int) { return 1e-4 + static_cast<double>(bytes) / 1.1e6; };
  PairSamples result;
  EXPECT_LT(bench.jobs(50, 1.6, result), 6);
  EXPECT_LT(result.sizes.back(), kReliableBytes);
}

TEST(Sweeps, APairThatTakesMostOfAJobIsNotForgotten) {
  Bench bench{.law = nullptr, .order_s = 1e-3, .most_s = 1.0, .keeps = true};
  bench.law = [](int, int, std::size_t bytes, int) { return 1e-4 + static_cast<double>(bytes) / 1e5; };
  PairSamples result;
  EXPECT_LT(bench.jobs(4, 0.6, result), 9);
  EXPECT_GE(result.sizes.back(), kReliableBytes);
}

TEST(Sweeps, WhatWouldTakeTooManyJobsIsNotBegun) {
  Bench bench{.law = many_slow_hosts, .order_s = 1e-3, .most_s = 4, .keeps = true};
  EXPECT_THROW(bench.sweep(200, 1.6), Unsupported);
  EXPECT_LT(bench.now, 1);
  EXPECT_TRUE(bench.known.empty());
}

TEST(Sweeps, NoPairsAtAll) {
  Bench bench;
  EXPECT_TRUE(bench.sweep(1, 0).pairs.empty());
  EXPECT_TRUE(bench.sweep(1, 5).pairs.empty());
}

}  // namespace
}  // namespace eco::measure
