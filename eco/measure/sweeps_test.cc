#include "eco/measure/sweeps.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <tuple>

namespace eco::measure {
namespace {

TEST(ConfirmedMinimum, TakesTheLowestThatAnotherConfirms) {
  EXPECT_EQ(confirmed_minimum({1.3, 1.0, 1.1}), 1.0);
  EXPECT_EQ(confirmed_minimum({0.1, 1.0, 1.1}), 1.0);
  EXPECT_EQ(confirmed_minimum({10.0, 1.0, 1.1}), 1.0);
  EXPECT_EQ(confirmed_minimum({1.0, 1.25}), 1.0);      // exactly 0.8
  EXPECT_EQ(confirmed_minimum({1.0, 2.0, 4.0}), 1.0);  // nothing confirms anything: the lowest
}

TEST(ConfirmedMinimum, SuspectsUnderFourFifthsOfTheNext) {
  EXPECT_TRUE(minimum_is_suspect({1.0}));
  EXPECT_TRUE(minimum_is_suspect({0.79, 1.0, 1.0}));
  EXPECT_FALSE(minimum_is_suspect({0.8, 1.0, 5.0}));
}

// A ping whose time is set by the test; the clock moves by what pings take.
struct Bench {
  double now = 0;
  std::function<double(int a, int b, std::size_t bytes, int visit)> law;
  std::map<std::tuple<int, int, std::size_t>, int> visits;
  std::vector<int> level_of_host = {};  // where pairs stand for those like them

  PairSamples sweep(int n_hosts, double budget_s) {
    SweepOptions options;
    options.budget_s = budget_s;
    options.level_of_host = level_of_host;
    options.clock = [this] { return now; };
    return sweep_pairs(
        n_hosts,
        [this](int a, int b, std::size_t bytes, int trips) {
          const double seconds = law(a, b, bytes, visits[{a, b, bytes}]++);
          now += 2 * trips * seconds;
          return seconds;
        },
        options);
  }
};

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

TEST(Sweeps, NoPairsAtAll) {
  Bench bench;
  EXPECT_TRUE(bench.sweep(1, 0).pairs.empty());
  EXPECT_TRUE(bench.sweep(1, 5).pairs.empty());
}

}  // namespace
}  // namespace eco::measure
