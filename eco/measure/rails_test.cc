#include "eco/measure/rails.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "eco/base/errors.h"
#include "eco/measure/probe.h"
#include "eco/measure/rail_plogp.h"
#include "eco/net/io.h"
#include "eco/net/part.h"
#include "eco/net/synthetic.h"
#include "eco/transport/loopback/loopback.h"
#include "eco/transport/passing.h"
#include "eco/transport/tcp/testing.h"

namespace eco::measure {
namespace {

RailTimes times(std::vector<double> rates, std::vector<double> slowdown = {}) {
  const std::size_t n = rates.size();
  slowdown.resize(n * n, 1.0);
  return {std::move(rates), std::vector<double>(n, 1e-4), std::move(slowdown), 0, 1};
}

TEST(MeasuredRails, AreDescribedByWhatSetsThemApartFromRail0) {
  net::Network network = net::synthetic_network("hosts=3+2 rate_mbit=40 uplink_mbit=16");
  RailTimes slower = times({2.5e6, 1e6});
  slower.latency_s[1] = 3e-4;
  add_rails(network, {"a", "b"}, {.inside = {slower}, .between = {times({2e6, 2e6})}});
  ASSERT_EQ(network.n_rails(), 2);
  EXPECT_EQ(network.more_rails[0].name, "b");
  EXPECT_NEAR(network.more_rails[0].subnets[0].bytes_per_s, 0.4 * network.subnets[0].bytes_per_s, 1);
  EXPECT_NEAR(network.more_rails[0].subnets[0].latency_s, network.subnets[0].latency_s + 2e-4, 1e-9);
  EXPECT_NEAR(network.more_rails[0].between[0].bytes_per_s, network.between[0].bytes_per_s, 1);
  const net::Network again = net::parse_network(net::to_json(network), "here");
  EXPECT_EQ(again.rails, network.rails);
  EXPECT_EQ(again.more_rails[0].name, "b");
}

TEST(MeasuredRails, OfTwoThatShareALinkOneIsLeftOut) {
  net::Network network = net::synthetic_network("hosts=4");
  // b slows a down, c slows nobody down.
  RailTimes measured = times({1e6, 1e6, 1e6});
  measured.slowdown[1 * 3 + 0] = 1.97;
  measured.slowdown[2 * 3 + 1] = 1.02;
  add_rails(network, {"a", "b", "c"}, {.inside = {measured}, .between = {}});
  ASSERT_EQ(network.n_rails(), 2);
  EXPECT_EQ(network.more_rails[0].name, "c");
  EXPECT_EQ(network.rails.size(), 3u) << "it is remembered that b was looked at";
}

TEST(MeasuredRails, AreOfTheHostsThatHaveThem) {
  net::Network network = net::synthetic_network("hosts=3+3 rate_mbit=40 uplink_mbit=16");
  // Host 0 and 1 have b, 4 and 5 have c, 2 and 3 neither; nobody has d with another.
  const auto pair = [](std::size_t rail, double rate) {
    RailTimes found = times({2e6, 0, 0, 0});
    std::fill(found.slowdown.begin(), found.slowdown.end(), 0.0);
    found.latency_s = {1e-4, 0, 0, 0};
    if (rail > 0) {
      found.bytes_per_s[rail] = rate;
      found.latency_s[rail] = 2e-4;
      found.slowdown[rail * 4] = 1.01;
    }
    return found;
  };
  MeasuredRails measured{.inside = {pair(1, 2e6), pair(0, 0), pair(2, 1e6)}, .between = {pair(0, 0)}};
  measured.hosts = {std::nullopt, std::vector<int>{0, 1}, std::vector<int>{4, 5}, std::vector<int>{2}};
  add_rails(network, {"a", "b", "c", "d"}, measured);
  EXPECT_EQ(network.rails, (std::vector<std::string>{"a", "b", "c"}));
  ASSERT_EQ(network.n_rails(), 3);
  for (int host = 0; host < 6; ++host) {
    EXPECT_EQ(network.has_rail(host, 1), host < 2);
    EXPECT_EQ(network.has_rail(host, 2), host > 3);
  }
  EXPECT_NEAR(network.rail_bytes_per_s(1), network.rail_bytes_per_s(0), 1);
  EXPECT_NEAR(network.rail_bytes_per_s(2), network.rail_bytes_per_s(0) / 2, 1);
  EXPECT_NEAR(network.more_rails[1].subnets[0].latency_s, network.subnets[1].latency_s + 1e-4, 1e-9);
  EXPECT_TRUE(network.more_rails[0].between.empty());
  EXPECT_EQ(net::to_json(net::parse_network(net::to_json(network), "here")), net::to_json(network));
}

TEST(MeasuredRails, WithoutAPairOfHostsNothingIsKnown) {
  net::Network network = net::synthetic_network("hosts=1");
  add_rails(network, {"a", "b"}, {});
  EXPECT_TRUE(network.rails.empty());
}

std::vector<std::string> two_addresses(int /*rank*/) { return transport::tcp::loopback_addresses(2); }

// Over TCP on the loopback, which the rails share.
void on_rails(int n_hosts, const transport::tcp::AddressesOf& addresses_of,
              const std::function<void(transport::RailShare&, transport::Native&)>& body) {
  transport::Hub hub(n_hosts);
  std::vector<transport::Native*> natives(static_cast<std::size_t>(n_hosts));
  std::barrier all(2 * n_hosts);
  std::thread natives_thread([&] {
    transport::run_ranks(hub,
                         [&](transport::LoopbackTransport& transport, transport::LoopbackNative& native) {
                           natives[static_cast<std::size_t>(transport.rank())] = &native;
                           all.arrive_and_wait();
                           all.arrive_and_wait();
                         });
  });
  transport::tcp::run_tcp_shares(n_hosts, addresses_of, [&](transport::RailShare& share) {
    all.arrive_and_wait();
    body(share, *natives[static_cast<std::size_t>(share.rank())]);
    all.arrive_and_wait();
  });
  natives_thread.join();
}

struct Taken {
  std::vector<MeasuredRails> of_rank;
  std::vector<std::string> failed;
};

Taken measure(int n_hosts, int fails = -1, const transport::tcp::AddressesOf& addresses_of = two_addresses,
              bool in_job = true) {
  const net::Network network = net::synthetic_network("hosts=" + std::to_string(n_hosts));
  Taken taken;
  taken.of_rank.resize(static_cast<std::size_t>(n_hosts));
  taken.failed.resize(static_cast<std::size_t>(n_hosts));
  on_rails(n_hosts, addresses_of, [&](transport::RailShare& share, transport::Native& native) {
    const auto rank = static_cast<std::size_t>(share.rank());
    if (share.rank() == fails) share.choose_rails({});
    try {
      taken.of_rank[rank] =
          measure_rails(share, native, network, {.host_of_rank = network.hosts, .in_job = in_job});
    } catch (const TransportError& error) {
      taken.failed[rank] = error.what();
    }
  });
  return taken;
}

TEST(MeasuredRails, AreTheSameOnEveryRank) {
  const Taken taken = measure(3);
  for (const MeasuredRails& measured : taken.of_rank) {
    ASSERT_EQ(measured.inside.size(), 1u);
    EXPECT_EQ(measured.inside[0].bytes_per_s, taken.of_rank[0].inside[0].bytes_per_s);
    for (const double rate : measured.inside[0].bytes_per_s) EXPECT_GT(rate, 1e5);
    for (const double latency : measured.inside[0].latency_s) EXPECT_GT(latency, 0);
    EXPECT_GT(measured.inside[0].slowdown[2], 0);
  }
}

TEST(MeasuredRails, OfflineEveryHostOfASubnetIsInAPair) {
  const Taken taken = measure(5, -1, two_addresses, false);
  std::vector<std::pair<int, int>> pairs;
  for (const RailTimes& times : taken.of_rank[0].inside) pairs.emplace_back(times.a, times.b);
  EXPECT_EQ(pairs, (std::vector<std::pair<int, int>>{{0, 1}, {2, 3}, {0, 4}}));
  net::Network network = net::synthetic_network("hosts=5");
  add_rails(network, {"a", "b"}, taken.of_rank[0]);
  ASSERT_EQ(network.rail_pairs.size(), 3u);
  EXPECT_EQ(network.rail_pairs[1].a, 2);
  EXPECT_EQ(network.rail_pairs[1].bytes_per_s, taken.of_rank[0].inside[1].bytes_per_s);
  EXPECT_EQ(net::to_json(net::parse_network(net::to_json(network), "again")), net::to_json(network));
  EXPECT_TRUE(network.without_samples().rail_pairs.empty());
  network.rail_pairs[0].latency_s.pop_back();
  EXPECT_THROW(network.finish(), InvalidArgument);
}

TEST(MeasuredRails, AreOfPairsThatHaveThem) {
  // Of a job of twice the ranks, the last first, every second one is here: 7, 5, 3, 1.
  const Taken taken = measure(4, -1, [](int rank) {
    std::vector<std::string> addresses = transport::tcp::loopback_addresses(2);
    if (rank == 7 || rank == 3) addresses[1].clear();
    return addresses;
  });
  for (const MeasuredRails& measured : taken.of_rank) {
    ASSERT_EQ(measured.inside.size(), 2u);
    EXPECT_EQ((std::pair{measured.inside[1].a, measured.inside[1].b}), (std::pair{1, 3}));
    EXPECT_EQ(measured.inside[0].bytes_per_s[1], 0) << "the first two of all";
    EXPECT_GT(measured.inside[1].bytes_per_s[1], 1e5) << "the first two that have it";
    ASSERT_EQ(measured.hosts.size(), 2u);
    EXPECT_FALSE(measured.hosts[0]);
    EXPECT_EQ(measured.hosts[1], (std::vector<int>{1, 3}));
    EXPECT_EQ(measured.inside[1].bytes_per_s, taken.of_rank[0].inside[1].bytes_per_s);
  }
}

TEST(MeasuredRails, ARankWhoseRailsFailEndsItForAll) {
  const Taken taken = measure(2, 1);
  for (const std::string& failed : taken.failed) EXPECT_NE(failed, "");
}

// Notes which rail the probes' messages are given.
class Noting final : public transport::PassingTransport {
 public:
  explicit Noting(transport::Transport& below) : PassingTransport(below) {}
  int n_rails() const override { return below_.n_rails(); }
  std::vector<std::string> rail_names() const override { return below_.rail_names(); }
  bool has_rail(int rank, int rail) const override { return below_.has_rail(rank, rail); }
  void set_rails(int first_tag, std::span<const std::uint8_t> rails) override {
    EXPECT_EQ(first_tag, 0);
    EXPECT_EQ(rails.size(), kProbeTags);
    noted.push_back(rails[kFirstMeasuredTag]);
    EXPECT_EQ(rails.back(), noted.back() == transport::kNoRail ? transport::kNoRail : 0) << "orders, answers";
    below_.set_rails(first_tag, rails);
  }
  transport::Status post_send(int peer, int tag, std::span<const std::byte> bytes, transport::SendMode mode,
                              transport::Ticket ticket) override {
    const bool is_measured =
        tag >= kFirstMeasuredTag && tag < kFirstMeasuredTag + static_cast<int>(kMeasuredTags);
    if (is_measured && !noted.empty() && noted.back() != transport::kNoRail) ++sent[noted.back()];
    return PassingTransport::post_send(peer, tag, bytes, mode, ticket);
  }

  std::vector<std::uint8_t> noted;
  std::map<std::uint8_t, int> sent;
};

// Three hosts, of which the middle one lacks the second rail.
std::vector<std::string> not_all(int rank) {
  // Of a job of twice the ranks, the last first, every second one is here: 5, 3, 1.
  std::vector<std::string> addresses = transport::tcp::loopback_addresses(2);
  if (rank == 3) addresses[1].clear();
  return addresses;
}

net::Network of_three(const transport::Transport& transport) {
  net::Network network = net::synthetic_network("hosts=3 rail_mbit=100");
  network.rails = transport.rail_names();
  network.more_rails[0] = net::rail_of(network.more_rails[0], {0, 2});
  network.more_rails[0].name = network.rails[1];
  network.finish();
  return network;
}

TEST(MeasuredRails, EachHasCurvesOfItsOwn) {
  std::vector<std::vector<net::RailPLogP>> found(3);
  on_rails(3, not_all, [&](transport::RailShare& share, transport::Native& native) {
    Noting noting(share);
    net::Network network = of_three(share);
    CharacterizeOptions options;
    options.host_of_rank = network.hosts;
    options.budget_s = 3;
    std::vector<net::RailPLogP> measured = measure_plogp_on_rails(noting, native, network, "TCP", options);
    EXPECT_EQ(noting.noted, (std::vector<std::uint8_t>{0, transport::kNoRail, 1, transport::kNoRail}));
    if (share.rank() < 2) {
      EXPECT_GT(noting.sent[0], 0) << "the pair that is measured there";
    }
    EXPECT_EQ(noting.sent[1] > 0, share.rank() != 1) << "who lacks it has nothing to send over it";
    if (share.rank() == 0) {
      network.rail_plogp = measured;
      network.finish();
      EXPECT_EQ(net::to_json(net::parse_network(net::to_json(network), "again")), net::to_json(network));
      add_rails(network, {"x", "y"}, {.inside = {times({1e6, 1e6})}, .between = {}});
      EXPECT_TRUE(network.rail_plogp.empty()) << "of rails that are not there any more";
    }
    found[static_cast<std::size_t>(share.rank())] = std::move(measured);
  });
  ASSERT_EQ(found[0].size(), 2u);
  for (std::size_t rail = 0; rail < 2; ++rail) {
    EXPECT_EQ(found[0][rail].transport, "TCP");
    ASSERT_FALSE(found[0][rail].classes.empty());
    const net::ClassPLogP& curves = found[0][rail].classes.front();
    EXPECT_EQ(curves.pairs, net::PairClass::subnet);
    EXPECT_EQ(curves.to, rail == 0 ? 1 : 2) << "the first two hosts that have it";
    EXPECT_GT(curves.parameters.gap(65536), 0);
    EXPECT_GE(curves.parameters.gap.points().size(), 3u);
  }
  EXPECT_TRUE(found[1].empty());
}

TEST(MeasuredRails, CurvesOfRailsThatFailEndForAll) {
  std::vector<std::string> failed(3);
  on_rails(3, two_addresses, [&](transport::RailShare& share, transport::Native& native) {
    if (share.rank() == 1) share.choose_rails({});
    const net::Network network = of_three(share);
    CharacterizeOptions options;
    options.host_of_rank = network.hosts;
    try {
      measure_plogp_on_rails(share, native, network, "TCP", options);
    } catch (const TransportError& error) {
      failed[static_cast<std::size_t>(share.rank())] = error.what();
    }
  });
  for (const std::string& one : failed) EXPECT_NE(one, "");
}

TEST(MeasuredRails, ThoseThatMeetOnTheWayToOthersAreTwo) {
  net::Network network = net::synthetic_network("hosts=2+2+2 rate_mbit=40 uplink_mbit=16");
  MeasuredRails measured;
  measured.inside = {times({1e6, 1e6})};
  for (int i = 0; i < 3; ++i) {
    measured.between.push_back(times({1e6, 1e6}));
    measured.between.back().slowdown[1 * 2 + 0] = 2;
  }
  add_rails(network, {"a", "b"}, measured);
  EXPECT_EQ(network.n_rails(), 2);
}

TEST(MeasuredRails, OneDisturbedPairOfManyDescribesNone) {
  net::Network network = net::synthetic_network("hosts=8");
  MeasuredRails measured;
  for (int i = 0; i < 4; ++i) measured.inside.push_back(times({1e6, 1e6}));
  measured.inside[2] = times({1e6, 2e5});
  measured.inside[2].latency_s[1] = 1e-2;
  add_rails(network, {"a", "b"}, measured);
  ASSERT_EQ(network.n_rails(), 2);
  EXPECT_NEAR(network.more_rails[0].subnets[0].bytes_per_s, network.subnets[0].bytes_per_s, 1);
  EXPECT_NEAR(network.more_rails[0].subnets[0].latency_s, network.subnets[0].latency_s, 1e-9);
  // Both go over one link, which one pair did not show.
  for (RailTimes& pair : measured.inside) pair.slowdown[1 * 2 + 0] = 2;
  measured.inside[0].slowdown[1 * 2 + 0] = 1.2;
  add_rails(network, {"a", "b"}, measured);
  EXPECT_EQ(network.n_rails(), 1);
}

}  // namespace
}  // namespace eco::measure
