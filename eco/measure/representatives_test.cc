#include "eco/measure/representatives.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace eco::measure {
namespace {

std::vector<net::PairTimes> all_pairs(int n_hosts) {
  std::vector<net::PairTimes> pairs;
  for (int a = 0; a < n_hosts; ++a) {
    for (int b = a + 1; b < n_hosts; ++b) pairs.push_back({a, b, {0.0}, {{}}});
  }
  return pairs;
}

TEST(Representatives, EveryHostTwiceOnItsLevelAndTwoPairsOfTwoLevels) {
  // Four hosts on one level, three on another, one on its own.
  const std::vector<int> level_of_host = {1, 1, 2, 1, 2, 2, 1, 0};
  const std::vector<bool> chosen = representatives(level_of_host);
  const auto pairs = all_pairs(8);
  ASSERT_EQ(chosen.size(), pairs.size());
  std::vector<int> inside(8, 0);
  std::size_t across = 0;
  std::size_t with_lone = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (!chosen[i]) continue;
    const int a = level_of_host[static_cast<std::size_t>(pairs[i].a)];
    const int b = level_of_host[static_cast<std::size_t>(pairs[i].b)];
    if (a == b) {
      ++inside[static_cast<std::size_t>(pairs[i].a)];
      ++inside[static_cast<std::size_t>(pairs[i].b)];
    } else {
      ++(a == 0 || b == 0 ? with_lone : across);
    }
  }
  EXPECT_EQ(inside, (std::vector<int>{2, 2, 2, 2, 2, 2, 2, 0}));
  EXPECT_EQ(across, 2U);
  EXPECT_EQ(with_lone, 4U);
}

TEST(Representatives, OfSitesAllPairsInsideAndEveryHostOnceWithEachOtherSite) {
  const std::vector<int> site_of_host = {0, 1, 0, 1, 1, 2};
  const std::vector<bool> chosen = representatives_of_sites(site_of_host);
  const auto pairs = all_pairs(6);
  ASSERT_EQ(chosen.size(), pairs.size());
  std::vector<std::set<int>> sites_met(6);
  std::size_t across = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const int a = site_of_host[static_cast<std::size_t>(pairs[i].a)];
    const int b = site_of_host[static_cast<std::size_t>(pairs[i].b)];
    if (a == b) {
      EXPECT_TRUE(chosen[i]) << pairs[i].a << '-' << pairs[i].b;
    }
    if (a == b || !chosen[i]) continue;
    ++across;
    sites_met[static_cast<std::size_t>(pairs[i].a)].insert(b);
    sites_met[static_cast<std::size_t>(pairs[i].b)].insert(a);
  }
  for (const std::set<int>& met : sites_met) EXPECT_EQ(met.size(), 2U);
  EXPECT_EQ(across, 3U + 2U + 3U) << "as many as the larger site has hosts";
}

TEST(Representatives, StandInForPairsLikeThem) {
  const std::vector<int> level_of_host = {1, 1, 2, 2};
  auto pairs = all_pairs(4);
  const auto measure = [&](std::size_t i, double seconds) {
    pairs[i].seconds = {seconds};
    pairs[i].samples = {{seconds, seconds}};
  };
  measure(0, 1);  // 0-1
  measure(1, 4);  // 0-2
  measure(4, 6);  // 1-3
  measure(5, 2);  // 2-3
  stand_in(pairs, level_of_host);
  EXPECT_EQ(pairs[2].seconds, std::vector<double>{5});
  EXPECT_EQ(pairs[3].seconds, std::vector<double>{5});
  EXPECT_EQ(pairs[0].seconds, std::vector<double>{1});
  EXPECT_TRUE(pairs[2].samples[0].empty());
}

}  // namespace
}  // namespace eco::measure
