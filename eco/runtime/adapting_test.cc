// A communicator whose network others begin to use, and leave again, in virtual time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "eco/measure/testing.h"
#include "eco/runtime/testing.h"

namespace eco::runtime {
namespace {

using coll::Collective;
using measure::testing::VirtualNetwork;
using testing::Directory;

constexpr const char* kAmbientNetwork = "hosts=3+3+2 rate_mbit=200 uplink_mbit=40 between_us=500";
constexpr std::size_t kAmbientBytes = 256 << 10;

int link_named(const net::Network& network, const std::string& name) {
  for (std::size_t r = 0; r < network.resources.size(); ++r) {
    if (network.resources[r].name == name) return static_cast<int>(r);
  }
  ADD_FAILURE() << "no link " << name;
  return 0;
}

// What each rank did, and how long it took.
struct AmbientCall {
  std::string recipe;
  double seconds = 0;
  friend bool operator==(const AmbientCall& a, const AmbientCall& b) { return a.recipe == b.recipe; }
};
struct AmbientLog {
  std::vector<AmbientCall> calls;
  AmbientWatch::Told told;
  std::vector<std::string> account;
  double asked_s = 0;
};

// A program's loop on eight hosts in three subnets, by a plan of these recipes for messages of kAmbientBytes.
class AmbientProgram {
 public:
  explicit AmbientProgram(const std::vector<std::pair<Collective, std::string>>& recipes)
      : network_(net::synthetic_network(kAmbientNetwork)),
        logs_(static_cast<std::size_t>(network_.n_hosts())) {
    options_.network_file = directory_.file("network.json");
    net::save_network(network_, options_.network_file);
    plan::PlanTable table;
    table.host_of_rank.resize(logs_.size());
    std::iota(table.host_of_rank.begin(), table.host_of_rank.end(), 0);
    for (const auto& [collective, recipe] : recipes) {
      for (int subnet = 0; subnet < (coll::is_rooted(collective) ? 3 : 1); ++subnet) {
        table.entries.push_back(
            {collective, subnet, {{4 * kAmbientBytes, algo::parse_recipe(recipe), 0, 0, 0, "by hand"}}});
      }
    }
    hosts_ = table.host_of_rank;
    options_.plan_file = directory_.write("plan.json", table.to_json());
  }

  // Before call i the network carries `ambient(i)`; the call is `problem(i)`.
  const std::vector<AmbientLog>& run(int n_calls, const std::function<net::Ambient(int)>& ambient,
                                     const std::function<coll::CommonProblem(int)>& problem,
                                     Following when = Following::where_it_pays) {
    VirtualNetwork world(network_, hosts_);
    world.run([&](transport::Transport& transport, transport::Native& native, const measure::Clock& clock) {
      const int rank = transport.rank();
      const Identity identity{network_.hosts[static_cast<std::size_t>(rank)], "1.0"};
      const ArmResult armed = Communicator::arm(transport, native, options_, identity);
      ASSERT_TRUE(armed.communicator) << armed.reason;
      Communicator& communicator = *armed.communicator;
      communicator.follow_ambient(when,
                                  [clock] { return static_cast<std::int64_t>(std::llround(clock() * 1e9)); });
      AmbientLog& log = logs_[static_cast<std::size_t>(rank)];
      for (int i = 0; i < n_calls; ++i) {
        native.barrier();
        if (rank == 0) world.carry(ambient(i));
        native.barrier();
        const coll::CommonProblem call = problem(i);
        const double began_s = clock();
        if (communicator.asks_about_ambient()) communicator.ask_about_ambient(native);
        communicator.begin_call(call);
        const double asked_s = clock();
        run_one(communicator, rank, call, log);
        if (::testing::Test::HasFatalFailure()) return;
        native.barrier();
        log.calls.back().seconds = clock() - asked_s;
        log.asked_s += asked_s - began_s;
      }
      log.told = communicator.ambient_watch()->told();
      log.account = communicator.take_ambient_account();
    });
    for (const AmbientLog& log : logs_) EXPECT_EQ(log.calls, logs_[0].calls) << "ranks disagree";
    return logs_;
  }

  const net::Network& network() const { return network_; }
  net::Ambient on(const std::string& link, int left_permille) const {
    return {{{link_named(network_, link), left_permille}}, {}};
  }

 private:
  static void run_one(Communicator& communicator, int rank, const coll::CommonProblem& problem,
                      AmbientLog& log) {
    const algo::Recipe* recipe = communicator.serves_this_call(problem);
    log.calls.push_back({recipe != nullptr ? recipe->text() : "the library"});
    const std::vector<std::byte> input = input_of(problem, rank);
    const std::vector<std::byte> expected = expected_of(problem, rank);
    const bool is_source = problem.collective == Collective::broadcast && rank == problem.root;
    std::vector<std::byte> output = is_source ? input : std::vector<std::byte>(expected.size(), kUntouched);
    const exec::Buffers buffers{.input = input,
                                .output = output,
                                .combine = {sums_doubles(problem) ? sum_doubles : combine_tokens, nullptr}};
    if (recipe == nullptr) return communicator.note_passed(1'000'000);  // this network has none
    ASSERT_EQ(communicator.run(problem, *recipe, buffers), transport::Status::ok);
    EXPECT_TRUE(output == expected) << recipe->text() << " on rank " << rank;
  }

  Directory directory_;
  net::Network network_;
  Options options_;
  std::vector<int> hosts_;
  std::vector<AmbientLog> logs_;
};

coll::CommonProblem large(Collective collective, int root = 0) {
  return testing::problem_of(collective, kAmbientBytes, root, 8);
}

constexpr const char* kChainOfSubnets = "broadcast/subnets segment=8192 window=2 between=chain inside=chain";

TEST(AmbientTraffic, MovesABroadcastOffALoadedUplinkAndBack) {
  AmbientProgram program({{Collective::broadcast, kChainOfSubnets}});
  // The subnet in the middle of the chain can hardly send: the order is another, and the former one again afterwards.
  const net::Ambient loaded = program.on("uplink 1 out", 250);
  const auto& logs = program.run(
      360, [&](int i) { return i >= 60 && i < 160 ? loaded : net::Ambient{}; },
      [](int) { return large(Collective::broadcast); });
  const std::vector<AmbientCall>& calls = logs[0].calls;
  const std::string table = calls[0].recipe;
  EXPECT_NE(calls[159].recipe, table);
  EXPECT_LT(calls[159].seconds, 0.6 * calls[62].seconds) << calls[159].recipe;
  EXPECT_EQ(calls[359].recipe, table) << ::testing::PrintToString(logs[0].account);
  EXPECT_TRUE(logs[0].account.back().ends_with("found quiet"));
  EXPECT_NEAR(calls[359].seconds, calls[30].seconds, 0.1 * calls[30].seconds);
  EXPECT_EQ(logs[0].told.moves, 1U);
  EXPECT_EQ(logs[0].told.moves_back, 1U);
  EXPECT_TRUE(std::all_of(calls.begin(), calls.begin() + 60,
                          [&](const AmbientCall& c) { return c.recipe == table; }));
  double called_s = 0;
  for (const AmbientCall& call : calls) called_s += call.seconds;
  EXPECT_LT(logs[0].asked_s, 0.02 * called_s + 1 + 0.3);
}

TEST(AmbientTraffic, QuietNetworksStayAsTheyAre) {
  AmbientProgram program({{Collective::broadcast, kChainOfSubnets}});
  const auto& logs =
      program.run(100, [](int) { return net::Ambient{}; }, [](int) { return large(Collective::broadcast); });
  EXPECT_EQ(logs[0].told.looks, 0U);
  EXPECT_EQ(logs[0].calls.front(), logs[0].calls.back());
}

TEST(AmbientTraffic, SeveralOperationsMoveTogether) {
  AmbientProgram program(
      {{Collective::broadcast, kChainOfSubnets}, {Collective::allreduce, "allreduce/ring segment=8192"}});
  const net::Ambient loaded = program.on("uplink 2 in", 200);
  const auto& logs = program.run(
      300, [&](int i) { return i >= 60 && i < 220 ? loaded : net::Ambient{}; },
      [](int i) {
        return i % 3 == 0 ? large(Collective::allreduce) : large(Collective::broadcast, i % 2 == 0 ? 0 : 2);
      });
  EXPECT_GE(logs[0].told.looks, 1U);
  EXPECT_EQ(logs[0].calls.back().recipe, logs[0].calls[2].recipe);
}

// As tests and fuzzing have it: everything changes all the time, and stays right.
TEST(AmbientTraffic, RecipesMayAlwaysChange) {
  AmbientProgram program({{Collective::broadcast, kChainOfSubnets}, {Collective::alltoall, "alltoall/flat"}});
  const auto& logs = program.run(
      500, [](int) { return net::Ambient{}; },
      [](int i) {
        return i % 2 == 0 ? testing::problem_of(Collective::alltoall, 4096, 0, 8)
                          : testing::problem_of(Collective::broadcast, 20000, i % 16 < 8 ? 1 : 5, 8);
      },
      Following::always);
  EXPECT_GT(logs[0].told.moves, 2U);
  EXPECT_GT(logs[0].told.moves_back, 2U);
  std::set<std::string> recipes;
  for (const AmbientCall& call : logs[0].calls) recipes.insert(call.recipe);
  EXPECT_GT(recipes.size(), 4U);
}

}  // namespace
}  // namespace eco::runtime
