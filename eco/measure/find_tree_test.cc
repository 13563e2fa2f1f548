// Whether a split of Figure 2 is believed where a tree of the same pairs has none.
#include "eco/measure/find_tree.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "eco/measure/derive.h"

namespace eco::measure {
namespace {

constexpr int kOddHost = 2;  // a host of the first subnet

// 3 + 3 + 2 hosts on switches behind slow uplinks. The odd host's pairs inside its subnet take so many times as long as others
// there, by messages of each size.
net::Network with_an_odd_host(double small_odd, double large_odd) {
  const std::vector<int> subnet_of = {0, 0, 0, 1, 1, 1, 2, 2};
  net::Network network;
  network.hosts.resize(subnet_of.size());
  network.sizes = {8, 1024, 65536};
  for (int a = 0; a < 8; ++a) {
    for (int b = a + 1; b < 8; ++b) {
      const bool inside = subnet_of[static_cast<std::size_t>(a)] == subnet_of[static_cast<std::size_t>(b)];
      const bool is_odd = inside && (a == kOddHost || b == kOddHost);
      const std::vector<double> seconds = {inside ? 33e-6 : 43e-6,
                                           (inside ? 73e-6 : 275e-6) * (is_odd ? small_odd : 1),
                                           (inside ? 1.5e-3 : 5.8e-3) * (is_odd ? large_odd : 1)};
      net::PairTimes pair{a, b, seconds, {}};
      for (const double best : seconds) {
        std::vector<double> samples;
        for (int i = 0; i < 8; ++i) samples.push_back(best * (1 + 0.03 * ((3 * a + 5 * b + i) % 7)));
        samples.back() = best;
        pair.samples.push_back(std::move(samples));
      }
      network.pairs.push_back(std::move(pair));
    }
  }
  return network;
}

const net::Partition kAsDescribed = {{0, 1, 2}, {3, 4, 5}, {6, 7}};

net::Partition settled(const net::Network& network, bool& is_split) {
  const net::Partition by_figure2 = find_subnets(network.n_hosts(), network.sizes, network.pairs);
  is_split = by_figure2 != kAsDescribed;
  const net::Tree tree = tree_of_samples(network);
  const net::Partition subnets = settled_subnets(network, by_figure2, tree);
  const std::string of = subnets == tree.subnets() ? "those of the tree" : "those of Figure 2";
  EXPECT_NE(verdict(tree, by_figure2, subnets).find(of), std::string::npos)
      << verdict(tree, by_figure2, subnets);
  return subnets;
}

TEST(SettledSubnets, ASplitThatSmallMessagesAloneShowIsNoneWhereTheTreeHasNone) {
  bool is_split = false;
  EXPECT_EQ(settled(with_an_odd_host(1, 1), is_split), kAsDescribed);
  EXPECT_FALSE(is_split);
  EXPECT_EQ(settled(with_an_odd_host(1.25, 1), is_split), kAsDescribed)
      << "as a busy machine once measured it";
  EXPECT_TRUE(is_split);
}

TEST(SettledSubnets, ASplitThatRatesShowStays) {
  bool is_split = false;
  EXPECT_NE(settled(with_an_odd_host(1.25, 1.6), is_split), kAsDescribed);
  EXPECT_NE(settled(with_an_odd_host(1, 1.6), is_split), kAsDescribed);
}

TEST(SettledSubnets, ASplitThatTheTreeHasTooStays) {
  bool is_split = false;
  EXPECT_NE(settled(with_an_odd_host(3, 1), is_split), kAsDescribed);
  EXPECT_TRUE(is_split);
}

}  // namespace
}  // namespace eco::measure
