#include "eco/map/map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "eco/base/errors.h"
#include "eco/map/exchange.h"
#include "eco/map/refine.h"
#include "eco/map/strategies.h"
#include "eco/net/synthetic.h"

namespace eco::map {
namespace {

// networks/three-subnets.toml and dome-20.toml, less headers.
constexpr const char* kThreeSubnets =
    "hosts=3+3+2 rate_mbit=191 uplink_mbit=38.2 latency_us=60 between_us=200 overhead_us=15";
constexpr const char* kDome20 =
    "hosts=3+3+5+2+7 kind=bus+bus+bus+switched+switched rate_mbit=9.56+9.56+9.56+95.6+9.56 "
    "uplink_mbit=none+none+none+95.6+9.56 latency_us=60 between_us=460 overhead_us=15";

// `ranks` of each host, in an order drawn from the seed; 0: host after host.
net::GroupView view_of(const std::string& description, unsigned seed, int ranks_per_host = 1) {
  auto network = std::make_shared<net::Network>(net::synthetic_network(description));
  std::vector<int> hosts;
  for (int host = 0; host < network->n_hosts(); ++host) {
    hosts.insert(hosts.end(), static_cast<std::size_t>(ranks_per_host), host);
  }
  if (seed > 0) std::shuffle(hosts.begin(), hosts.end(), std::mt19937(seed));
  return net::make_view(network, hosts);
}

Graph ring(int n_nodes) { return grid({n_nodes}, {true}); }

// Two nodes of a line are each other's neighbours once, so it is not closed.
Graph hypercube(int n_dims) {
  const auto n = static_cast<std::size_t>(n_dims);
  return grid(std::vector<int>(n, 2), std::vector<bool>(n, false));
}

bool is_permutation(Mapping mapping) {
  std::sort(mapping.begin(), mapping.end());
  return mapping == identity(static_cast<int>(mapping.size()));
}

// Of so many messages of 64 KiB one after another over a link.
double link_s(const net::GroupView& view, int n_messages, double mbit_per_s) {
  return n_messages * view.network->wire_bytes(65536) / (mbit_per_s * 1e6 / 8);
}

// Messages of the graph that leave their subnet.
int crossings(const Graph& graph, const net::GroupView& view, const Mapping& mapping) {
  const auto subnet = [&](int node) {
    return view.subnet_of_rank[static_cast<std::size_t>(mapping[static_cast<std::size_t>(node)])];
  };
  return static_cast<int>(std::count_if(graph.messages.begin(), graph.messages.end(),
                                        [&](const Message& m) { return subnet(m.from) != subnet(m.to); }));
}

// On the ethernet of five the least is what four pairs of neighbours and two crossings send in both directions.
TEST(Map, ARingEntersEverySubnetOnce) {
  const net::GroupView view = view_of(kDome20, 1);
  const Graph graph = ring(20);
  const Choice choice = choose_mapping(graph, view);
  ASSERT_FALSE(choice.keeps_order());
  EXPECT_EQ(crossings(graph, view, choice.best().rank_of_node), 2 * 5);
  EXPECT_NEAR(choice.best().seconds.back() / link_s(view, 12, 9.56), 1, 0.01);
  EXPECT_LT(choice.best().seconds.back(), 0.8 * choice.unordered().seconds.back());
}

// Eight places of 2 x 4 in parts of 3, 3 and 2: no cut has fewer than four messages over one of its uplinks.
TEST(Map, AShuffledGridGetsAsFastAsItCanOnThreeSubnets) {
  const net::GroupView view = view_of(kThreeSubnets, 1);
  const Choice choice = choose_mapping(grid({2, 4}, {false, false}), view);
  ASSERT_FALSE(choice.keeps_order());
  EXPECT_NEAR(choice.best().seconds.back() / link_s(view, 4, 38.2), 1, 0.01);
}

TEST(Map, WhatIsInOrderStaysAsItIs) {
  EXPECT_TRUE(choose_mapping(ring(8), view_of(kThreeSubnets, 0)).keeps_order());
  EXPECT_TRUE(choose_mapping(ring(20), view_of(kDome20, 0)).keeps_order());
  // Where all hosts are alike there is nothing to gain.
  EXPECT_TRUE(choose_mapping(ring(8), view_of("hosts=8", 3)).keeps_order());
  EXPECT_TRUE(choose_mapping(graph(4, {}), view_of("hosts=2+2 uplink_mbit=10", 3)).keeps_order());
}

// Against every permutation: two subnets, five ranks, graphs drawn at random.
TEST(Map, IsAsGoodAsEveryPermutationOfAFewRanks) {
  const net::GroupView view = view_of("hosts=2+3 rate_mbit=100 uplink_mbit=10", 2);
  std::mt19937 random(7);
  for (int trial = 0; trial < 20; ++trial) {
    std::vector<Message> messages;
    for (int k = 0; k < 7; ++k) {
      messages.push_back(
          {static_cast<int>(random() % 5), static_cast<int>(random() % 5), 1.0 + random() % 3});
    }
    const Graph any = graph(5, messages);
    const Exchange exchange(any, view, {65536});
    Mapping mapping = identity(5);
    double least_s = exchange.seconds(mapping).front();
    while (std::next_permutation(mapping.begin(), mapping.end())) {
      least_s = std::min(least_s, exchange.seconds(mapping).front());
    }
    const Choice choice = choose_mapping(any, view, {.sizes = {65536}});
    // What is not worth reordering stays.
    EXPECT_LE(choice.best().seconds.front(), least_s / 0.95 * (1 + 1e-9)) << "trial " << trial;
  }
}

TEST(Map, IsNeverPredictedSlowerAtAnySize) {
  std::mt19937 random(3);
  for (unsigned seed = 1; seed <= 12; ++seed) {
    const net::GroupView view =
        view_of(seed % 2 == 0 ? kDome20 : kThreeSubnets, seed, 1 + static_cast<int>(seed % 3));
    std::vector<Message> messages;
    const int n_nodes = view.n_ranks() - static_cast<int>(seed % 4);
    for (int k = 0; k < 3 * n_nodes; ++k) {
      messages.push_back({static_cast<int>(random() % static_cast<unsigned>(n_nodes)),
                          static_cast<int>(random() % static_cast<unsigned>(n_nodes)), 1.0 + random() % 9});
    }
    const Choice choice = choose_mapping(graph(n_nodes, messages), view, {.most_work = 2'000'000});
    EXPECT_TRUE(is_permutation(choice.best().rank_of_node));
    for (std::size_t s = 0; s < choice.sizes.size(); ++s) {
      EXPECT_LE(choice.best().seconds[s], choice.unordered().seconds[s]);
    }
  }
}

TEST(Map, EqualQuestionsGetEqualAnswers) {
  const net::GroupView view = view_of(kDome20, 5);
  const Choice once = choose_mapping(grid({4, 5}, {true, true}), view);
  const Choice again = choose_mapping(grid({4, 5}, {true, true}), view);
  EXPECT_EQ(once.best().rank_of_node, again.best().rank_of_node);
}

// Hosts of a grid that is smaller than the job: those on the slow side are left out.
TEST(Map, RanksBeyondTheGridAreThoseThatWouldSlowItDown) {
  const net::GroupView view = view_of("hosts=4+2 rate_mbit=100 uplink_mbit=10", 1);
  const Graph graph = grid({2, 2}, {false, false});
  const Choice choice = choose_mapping(graph, view);
  EXPECT_EQ(crossings(graph, view, choice.best().rank_of_node), 0);
}

TEST(Map, RanksOfOneHostKeepTheirOrder) {
  const net::GroupView view = view_of("hosts=2+2 uplink_mbit=10", 4, 3);
  const Choice choice = choose_mapping(grid({3, 4}, {false, false}), view);
  std::vector<int> last(4, -1);
  for (const int rank : choice.best().rank_of_node) {
    int& before = last[static_cast<std::size_t>(view.host_of_rank[static_cast<std::size_t>(rank)])];
    EXPECT_GT(rank, before);
    before = rank;
  }
}

TEST(Strategies, ProposePermutations) {
  const net::GroupView view = view_of(kThreeSubnets, 2, 2);
  for (const Graph& each : {grid({3, 5}, {true, false}), ring(16), hypercube(4),
                            grid({2, 2, 2}, {true, true, true}), graph(13, {{0, 12}, {12, 5, 3}, {5, 0}})}) {
    for (const Strategy& strategy : kStrategies) {
      for (const Mapping& mapping : strategy.propose(each, view)) {
        EXPECT_EQ(mapping.size(), 16U) << strategy.name;
        EXPECT_TRUE(is_permutation(mapping)) << strategy.name;
      }
    }
  }
}

// Two subnets of 8: the cut through the middle of a 4 x 4 grid, four messages each way.
TEST(Strategies, BlocksCutWhereFewestMessagesCross) {
  const net::GroupView view = view_of("hosts=8+8 uplink_mbit=10", 6);
  const Graph graph = grid({4, 4}, {false, false});
  for (const Mapping& mapping : blocks(graph, view)) EXPECT_EQ(crossings(graph, view, mapping), 8);
}

// Two triangles that talk once: each is grown on a subnet of its own.
TEST(Strategies, GrowthKeepsTogetherWhatTalks) {
  const net::GroupView view = view_of("hosts=3+3 uplink_mbit=10", 1);
  const Graph two = graph(6, {{0, 2}, {2, 4}, {4, 0}, {1, 3}, {3, 5}, {5, 1}, {0, 1, 0.1}});
  for (const Mapping& mapping : growth(two, view)) EXPECT_EQ(crossings(two, view, mapping), 1);
}

TEST(Refine, NeverMakesItWorseAndEnds) {
  const net::GroupView view = view_of(kDome20, 9);
  const Graph torus = grid({4, 5}, {true, true});
  const Exchange exchange(torus, view, {1024, 65536});
  Cost before = exchange.cost(identity(20));
  for (const std::size_t work : {std::size_t{0}, std::size_t{20'000}, std::size_t{5'000'000}}) {
    const Mapping refined = refine(exchange, identity(20), work);
    EXPECT_TRUE(is_permutation(refined));
    EXPECT_FALSE(before < exchange.cost(refined)) << work;
    before = exchange.cost(refined);
  }
}

// What is kept while ranks change places is what a fresh look says.
TEST(Exchange, SwapsAddUp) {
  const net::GroupView view = view_of(kDome20, 9);
  const Graph torus = grid({3, 6}, {true, true});
  const Exchange exchange(torus, view, {1024, 65536});
  Loads loads(exchange, identity(20));
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    loads.swap(static_cast<int>(random() % 20), static_cast<int>(random() % 20));
    const std::vector<double> fresh = exchange.seconds(loads.mapping());
    for (std::size_t s = 0; s < fresh.size(); ++s) EXPECT_NEAR(loads.seconds()[s] / fresh[s], 1, 1e-9);
  }
}

// One message of 1 MB over an uplink of 5 MB/s, beside one that stays inside: the uplink's time and latencies.
TEST(Exchange, TakesAsLongAsTheBusiestResource) {
  auto network = std::make_shared<net::Network>(net::synthetic_network(
      "hosts=2+2 rate_mbit=80 uplink_mbit=40 latency_us=10 between_us=100 overhead_us=5"));
  const net::GroupView view = net::make_view(network, {0, 1, 2, 3});
  const Graph two = graph(4, {{0, 2}, {0, 1}});
  const double bytes = network->wire_bytes(1'000'000);
  const double port_s = 2 * bytes / 10e6;  // node 0 sends both
  const double uplink_s = bytes / 5e6;
  const double expected_s = std::max(port_s, uplink_s) + 100e-6 + 2 * 5e-6;
  EXPECT_NEAR(Exchange(two, view, {1'000'000}).seconds(identity(4)).front(), expected_s, 1e-3 * expected_s);
}

TEST(Graph, GridsAreNumberedAsMpiDoes) {
  const Graph torus = grid({2, 3}, {false, true});
  EXPECT_EQ(torus.n_nodes, 6);
  EXPECT_EQ(torus.coordinates(4), (std::vector{1, 1}));
  EXPECT_EQ(std::count(torus.messages.begin(), torus.messages.end(), Message{0, 3}), 1);
  EXPECT_EQ(std::count(torus.messages.begin(), torus.messages.end(), Message{0, 2}), 1);
  EXPECT_EQ(torus.messages.size(), 6U * 3);
  EXPECT_EQ(hypercube(3).messages.size(), 8U * 3);
  // Closed over two nodes: the neighbour on both sides is the same one.
  EXPECT_EQ(ring(2).messages, (std::vector<Message>{{0, 1, 2}, {1, 0, 2}}));
  EXPECT_TRUE(ring(1).messages.empty());
}

TEST(Graph, RefusesWhatIsNone) {
  EXPECT_THROW(grid({}, {}), InvalidArgument);
  EXPECT_THROW(grid({3, 0}, {true, true}), InvalidArgument);
  EXPECT_THROW(grid({1 << 12, 1 << 12}, {true, true}), InvalidArgument);
  EXPECT_THROW(grid({3}, {true, true}), InvalidArgument);
  EXPECT_THROW(graph(0, {}), InvalidArgument);
  EXPECT_THROW(graph(3, {{0, 3}}), InvalidArgument);
  EXPECT_THROW(graph(3, {{-1, 0}}), InvalidArgument);
  EXPECT_THROW(graph(3, {{0, 1, -1}}), InvalidArgument);
  EXPECT_THROW(graph(3, {{0, 1, std::numeric_limits<double>::quiet_NaN()}}), InvalidArgument);
  EXPECT_THROW(choose_mapping(ring(9), view_of("hosts=8", 0)), InvalidArgument);
  EXPECT_THROW(choose_mapping(ring(8), view_of("hosts=8", 0), {.sizes = {}}), InvalidArgument);
}

}  // namespace
}  // namespace eco::map
