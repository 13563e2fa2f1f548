// Algorithms on several rails beyond what all are held to (algorithm_test.cc): what each rail carries, what that is
// worth, and that it arrives over a transport that has rails.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "eco/algo/striped.h"
#include "eco/algo/testing.h"
#include "eco/net/synthetic.h"
#include "eco/sched/text.h"
#include "eco/sim/predict.h"
#include "eco/transport/tcp/testing.h"

namespace eco::algo {
namespace {

using coll::Collective;
using coll::CommonProblem;
using net::GroupView;

constexpr std::size_t kMiB = std::size_t{1} << 20;
const std::string kOneRail = "hosts=8 rate_mbit=20 latency_us=50";
const std::string kTwoRails = kOneRail + " rail_mbit=20";

double seconds(const std::string& recipe, const CommonProblem& problem, const GroupView& view) {
  const Recipe parsed = parse_recipe(recipe);
  EXPECT_EQ(why_not(parsed, problem, view), std::nullopt) << recipe;
  return sim::predict(view, build_all(parsed, problem, view)).seconds;
}

CommonProblem moving(Collective collective, std::size_t bytes, int n_ranks = 8) {
  CommonProblem problem{.collective = collective, .n_ranks = n_ranks, .element_bytes = 8};
  if (!coll::is_reduction(collective)) problem.element_bytes = 1;
  problem.bytes = coll::whole_bytes(problem, bytes);
  return problem;
}

using AllShares = std::vector<std::vector<int>>;

TEST(Striped, SharesFollowTheRates) {
  const auto shares = [](const std::string& rails) {
    return shares_of_rails(dealt_view("hosts=4 rate_mbit=20 " + rails, 4));
  };
  EXPECT_EQ(shares("rail_mbit=20"), (AllShares{{1, 1}}));
  EXPECT_EQ(shares("rail_mbit=8"), (AllShares{{5, 2}}));
  EXPECT_EQ(shares("rail_mbit=40+20"), (AllShares{{1, 2, 1}}));
  EXPECT_EQ(shares(""), AllShares{});
  // Lone hosts may have no rate of their own, and one host none between hosts either.
  for (const auto& [hosts, expected] : std::map<std::string, AllShares>{{"1+1", {{5, 2}}}, {"1", {{1, 1}}}}) {
    net::Network network = *dealt_view("hosts=" + hosts + " rate_mbit=20 rail_mbit=8", 2).network;
    for (net::Subnet& subnet : network.subnets) subnet.bytes_per_s = 0;
    for (net::Subnet& subnet : network.more_rails[0].subnets) subnet.bytes_per_s = 0;
    network.finish();
    EXPECT_EQ(shares_of_rails(net::make_view(std::make_shared<const net::Network>(network),
                                             hosts == "1" ? std::vector<int>{0, 0} : std::vector<int>{0, 1})),
              expected)
        << hosts;
  }
}

GroupView group_of(const std::string& description, std::vector<int> hosts) {
  return net::make_view(std::make_shared<const net::Network>(net::synthetic_network(description)),
                        std::move(hosts));
}

TEST(Striped, GroupsUseTheRailsThatTheirHostsHave) {
  const std::string mixed = "hosts=8 rate_mbit=20 rail_mbit=20+8+8 rail_hosts=5+3+1";
  const auto shares = [&](std::vector<int> hosts) {
    return shares_of_rails(group_of(mixed, std::move(hosts)));
  };
  EXPECT_EQ(shares({0, 1, 2}), (AllShares{{5, 5, 2}})) << "one host's own rail leads nowhere";
  EXPECT_EQ(shares({4, 3}), (AllShares{{1, 1}}));
  EXPECT_EQ(shares({1, 2, 3, 4}), (AllShares{{1, 1}, {5, 5, 2}}));
  EXPECT_EQ(shares({0, 1, 2, 3, 4, 5, 6, 7}), (AllShares{{5, 5, 2}}));
  EXPECT_EQ(shares({4, 5, 6}), AllShares{});
  const GroupView none = group_of(mixed, {4, 5, 6});
  CommonProblem problem = moving(Collective::broadcast, kMiB, 3);
  EXPECT_EQ(find("broadcast/striped")->why_not(problem, none),
            "no two of these hosts have more than one rail in common");
  EXPECT_TRUE(find("broadcast/striped")->candidates(problem, none).empty());
  const GroupView two = group_of("hosts=3 rail_mbit=400 rail_hosts=2", {0, 1, 2});
  EXPECT_EQ(find("broadcast/rail_trees")->why_not(problem, two),
            "its two trees are for two rails, and some hosts have one");
}

// What is striped takes rail 0 where one side lacks the other: right, and as slow as hosts with one rail are.
TEST(Striped, OverRailsThatSomeLackGivesWhatTheRoutesSay) {
  const std::string mixed = "hosts=8 rate_mbit=20 rail_mbit=20 rail_hosts=5 latency_us=50";
  const auto gain = [&](Collective collective, const std::string& part, const std::string& network,
                        const std::vector<int>& hosts) {
    const GroupView view = group_of(network, hosts);
    const CommonProblem problem = moving(collective, 16 * kMiB, static_cast<int>(hosts.size()));
    const std::string name(coll::name(collective));
    return seconds(name + part, problem, view) /
           seconds(name + "/striped shares=1,1 parts=" + name + part, problem, view);
  };
  const std::vector<int> all = {0, 1, 2, 3, 4, 5, 6, 7};
  const std::string chain = "/chain segment=15872";
  EXPECT_NEAR(gain(Collective::allgather, chain, mixed, {0, 1, 2, 3, 4}), 2, 0.1) << "all have both";
  EXPECT_NEAR(gain(Collective::allgather, chain, mixed, all), 1, 0.1) << "three take all over one NIC";
  // Where that is a faster one, the others are what is slow, and their second carries what they exchange.
  const std::string fast = "hosts=5+3 rate_mbit=20+80 rail_mbit=20 rail_hosts=5 latency_us=50";
  EXPECT_GT(gain(Collective::alltoall, "/flat", fast, all), 1.15);
}

TEST(Striped, EveryRailCarriesItsShare) {
  const GroupView view = dealt_view("hosts=8 rate_mbit=20 rail_mbit=8", 8);
  const CommonProblem problem = moving(Collective::broadcast, 7 * kMiB);
  const Recipe recipe = parse_recipe("broadcast/striped segment=15872 shares=5,2 parts=broadcast/chain");
  std::map<int, std::size_t> received;  // by rail, of rank 3
  for (const sched::Schedule& schedule : build_all(recipe, problem, view)) {
    ASSERT_EQ(schedule.rails.size(), static_cast<std::size_t>(schedule.n_channels));
    sched::Cursor cursor(schedule);
    while (const sched::Op* op = cursor.next()) {
      if (schedule.rank() == 3 && op->kind == sched::OpKind::recv)
        received[schedule.rails[static_cast<std::size_t>(op->channel)]] += op->target.bytes;
    }
  }
  EXPECT_EQ(received[0], 5 * kMiB);
  EXPECT_EQ(received[1], 2 * kMiB);
}

TEST(Striped, RefusesWhatCannotBe) {
  const GroupView view = dealt_view(kTwoRails, 8);
  const CommonProblem problem = moving(Collective::broadcast, kMiB);
  const auto reason = [&](const std::string& words, const GroupView& on) {
    return why_not(parse_recipe("broadcast/striped " + words), problem, on).value_or("");
  };
  EXPECT_EQ(reason("shares=1,1 parts=broadcast/chain", view), "");
  EXPECT_EQ(reason("shares=1,1 parts=broadcast/chain", dealt_view(kOneRail, 8)), "hosts have one rail");
  for (const char* words : {"parts=broadcast/chain", "shares=1,1,1 parts=broadcast/chain",
                            "shares=0,0 parts=broadcast/chain", "shares=1,1", "shares=1,1 parts=reduce/chain",
                            "shares=1,1 parts=broadcast/striped", "shares=1,1000000 parts=broadcast/chain"}) {
    EXPECT_NE(reason(words, view), "") << words;
  }
  // One rail alone is a share too.
  EXPECT_EQ(reason("shares=0,1 parts=broadcast/chain", view), "");
}

// All that a second rail of the same rate can give is twice the speed; of long messages most of that is had.
TEST(Striped, TwoRailsTakeHalfTheTime) {
  const GroupView view = dealt_view(kTwoRails, 8);
  const std::map<std::string, Collective> parts = {
      {"broadcast/chain", Collective::broadcast}, {"broadcast/two_tree", Collective::broadcast},
      {"reduce/chain", Collective::reduce},       {"allreduce/ring", Collective::allreduce},
      {"allgather/chain", Collective::allgather}, {"reduce_scatter/chain", Collective::reduce_scatter},
      {"alltoall/pairwise", Collective::alltoall}};
  for (const auto& [part, collective] : parts) {
    const CommonProblem problem = moving(collective, 16 * kMiB);
    const std::string striped = std::string(coll::name(collective)) + "/striped";
    const double one = seconds(part + " segment=15872", problem, view);
    const double two = seconds(striped + " segment=15872 shares=1,1 parts=" + part, problem, view);
    EXPECT_LT(two, one / 1.9) << part;
    EXPECT_GT(two, one / 2.05) << part;
  }
}

TEST(Striped, UnequalRailsAddUp) {
  const GroupView view = dealt_view("hosts=8 rate_mbit=20 rail_mbit=8 latency_us=50", 8);
  const CommonProblem problem = moving(Collective::broadcast, 16 * kMiB);
  const double one = seconds("broadcast/chain segment=8624", problem, view);
  const double both =
      seconds("broadcast/striped segment=8624 shares=5,2 parts=broadcast/chain", problem, view);
  const double halves =
      seconds("broadcast/striped segment=8624 shares=1,1 parts=broadcast/chain", problem, view);
  EXPECT_NEAR(both, one * 20 / 28, one * 0.02);
  EXPECT_GT(halves, one) << "half of the message over the slow rail takes longer than all over the fast one";
}

// The paper's table: M / b with b of both rails together, a chain's transfer with a tree's latency.
TEST(RailTrees, UseBothRailsBothWays) {
  for (const int n_ranks : {2, 3, 4, 5, 7, 8, 15, 16, 32}) {
    const GroupView view =
        dealt_view("hosts=" + std::to_string(n_ranks) + " rate_mbit=20 rail_mbit=20 latency_us=50", n_ranks);
    const CommonProblem problem = moving(Collective::broadcast, 8 * kMiB, n_ranks);
    const double bound = static_cast<double>(problem.bytes) / (2 * 20e6 / 8);
    EXPECT_LT(seconds("broadcast/rail_trees segment=8624", problem, view), 1.1 * bound) << n_ranks;
  }
}

// Where lines between the clusters are as fast as one NIC, one crossing on each rail is all that is needed (R2).
TEST(RailTrees, PipelineFromClusterToCluster) {
  const GroupView view =
      dealt_view("hosts=8+8 rate_mbit=10 rail_mbit=10 uplink_mbit=10 latency_us=50 between_us=10000", 16);
  const CommonProblem problem = moving(Collective::broadcast, 8 * kMiB, 16);
  const double bound = static_cast<double>(problem.bytes) / (2 * 10e6 / 8);
  EXPECT_LT(seconds("broadcast/rail_trees segment=8624", problem, view), 1.1 * bound);
}

TEST(RailTrees, StartSoonerThanAChain) {
  const GroupView view = dealt_view("hosts=32 rate_mbit=20 rail_mbit=20 latency_us=50", 32);
  const CommonProblem problem = moving(Collective::broadcast, kMiB / 4, 32);
  EXPECT_LT(seconds("broadcast/rail_trees segment=4272", problem, view),
            0.8 * seconds("broadcast/striped segment=4272 shares=1,1 parts=broadcast/chain", problem, view));
}

TEST(Rails, AreInTheTextOfSchedules) {
  const GroupView view = dealt_view(kTwoRails, 8);
  const CommonProblem problem = moving(Collective::broadcast, 4096);
  const auto schedules = build_all({"broadcast/rail_trees", {}}, problem, view);
  EXPECT_NE(sched::to_text(schedules[0]).find("rails 0,1"), std::string::npos);
  EXPECT_NE(sched::to_dot(schedules, "t").find("rail 1"), std::string::npos);
}

// Over real sockets: results, and a connection on each rail.
TEST(Rails, CarryWhatSchedulesSayOverTcp) {
  const GroupView view = dealt_view("hosts=5 rate_mbit=20 rail_mbit=8", 5);
  for (const char* text : {"broadcast/rail_trees segment=4272",
                           "broadcast/striped segment=4272 shares=5,2 parts=broadcast/two_tree",
                           "allreduce/striped segment=4272 window=2 shares=5,2 parts=allreduce/ring",
                           "allgather/striped segment=4272 shares=5,2 parts=allgather/chain",
                           "alltoall/striped shares=5,2 parts=alltoall/pairwise"}) {
    const Recipe recipe = parse_recipe(text);
    const CommonProblem problem = moving(find(recipe.algorithm)->collective, 5 * 8 * 20'001, 5);
    ASSERT_EQ(why_not(recipe, problem, view), std::nullopt) << text;
    const auto schedules = build_all(recipe, problem, view);
    const testing::Operation operation = testing::operation_for(problem);
    transport::tcp::run_tcp_ranks(5, 2, {}, [&](transport::tcp::TcpTransport& transport) {
      const int rank = transport.rank();
      exec::Executor executor(transport);
      for (int call = 0; call < 3; ++call) {
        const std::vector<std::byte> in = testing::input_of(problem, rank, operation);
        std::vector<std::byte> out(coll::output_bytes(problem, rank), testing::kUntouched);
        if (problem.collective == Collective::broadcast) std::copy(in.begin(), in.end(), out.begin());
        ASSERT_EQ(executor.run(schedules[static_cast<std::size_t>(rank)],
                               {.input = in, .output = out, .combine = operation.combine}, call * 16),
                  transport::Status::ok);
        EXPECT_EQ(out, testing::expected(problem, rank, operation)) << text << ", rank " << rank;
      }
      EXPECT_GE(transport.n_connections(), 2u);
    });
  }
}

}  // namespace
}  // namespace eco::algo
