// Collectives that form around who is there, among static calls: armed, with ranks that come late.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <random>
#include <thread>
#include <vector>

#include "eco/runtime/testing.h"

namespace eco::runtime {
namespace {

using coll::Collective;
using testing::Directory;

// Trees for short and for long messages from and to either subnet, some of recipes that are no tree.
std::string plan_of_trees() {
  plan::PlanTable table;
  table.host_of_rank = {0, 1, 2, 3};
  for (const int subnet : {0, 1}) {
    plan::Row shorter{500, algo::parse_recipe("broadcast/binomial"), 0, 0, 0, "by hand"};
    plan::Row longer{100000,   algo::parse_recipe("broadcast/subnets segment=512 window=2"), 0, 0, 0,
                     "by hand"};
    table.entries.push_back({Collective::broadcast, subnet, {shorter, longer}});
    for (const auto& [collective, recipe] :
         {std::pair(Collective::reduce, "reduce/two_tree segment=512"),
          std::pair(Collective::gather, "gather/binomial"),
          std::pair(Collective::scatter, "scatter/subnets segment=512 window=2")}) {
      table.entries.push_back(
          {collective, subnet, {{100000, algo::parse_recipe(recipe), 0, 0, 0, "by hand"}}});
    }
  }
  table.entries.push_back({Collective::allreduce,
                           0,
                           {{100000, algo::parse_recipe("allreduce/ring segment=512"), 0, 0, 0, "by hand"}}});
  table.entries.push_back(
      {Collective::allgather,
       0,
       {{100000, algo::parse_recipe("allgather/chain segment=512 window=2"), 0, 0, 0, "by hand"}}});
  return table.to_json();
}

class LateRanks : public ::testing::TestWithParam<late::Plan> {};

TEST_P(LateRanks, ServeRightResultsAmongStaticCalls) {
  const Directory directory;
  Options options = testing::with_network(directory);
  options.plan_file = directory.write("plan.json", plan_of_trees());
  for (const std::uint64_t seed : {0, 5}) {
    testing::Group group;
    group.loopback.seed = seed;
    const auto reasons =
        testing::arm_group(group, options, [](transport::Transport& transport, ArmResult& armed) {
          ASSERT_TRUE(armed.communicator) << armed.reason;
          armed.communicator->form_around_the_late(GetParam());
          const int rank = transport.rank();
          std::mt19937 common(3);
          std::mt19937 own(static_cast<unsigned>(rank));
          for (int call = 0; call < 60; ++call) {
            const std::size_t bytes = common() % 2 == 0 ? 8 + common() % 400 : 8 + common() % 20000;
            const int root = static_cast<int>(common() % 4);
            if (own() % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(own() % 5000));
            constexpr std::array kAll = {Collective::broadcast, Collective::broadcast, Collective::reduce,
                                         Collective::allreduce, Collective::gather,    Collective::scatter,
                                         Collective::allgather};
            const Collective collective = kAll[common() % kAll.size()];
            coll::CommonProblem problem =
                testing::problem_of(collective, bytes, coll::is_rooted(collective) ? root : 0);
            if (common() % 4 == 0) problem.exact = false;  // stays static
            const bool in_place = collective == Collective::allreduce && common() % 2 == 0;
            testing::expect_served(*armed.communicator, rank, problem, in_place);
          }
        });
    testing::expect_all(reasons, "armed");
  }
}

INSTANTIATE_TEST_SUITE_P(Plans, LateRanks,
                         ::testing::Values(late::Plan::mended, late::Plan::depth_first,
                                           late::Plan::breadth_first_ahead),
                         [](const auto& plan) { return std::string(late::name(plan.param)); });

// A transport that has few tags.
class FewTags final : public testing::PassingTransport {
 public:
  FewTags(transport::Transport& below, int n_tags) : PassingTransport(below), n_tags_(n_tags) {}
  int max_tag() const override { return n_tags_ - 1; }

 private:
  int n_tags_;
};

// 4 ranks in as many turns of 4 channels want 16 tags, and may not have more than half.
TEST(LateRanks, BroadcastsStayStaticWhereTagsAreFew) {
  const Directory directory;
  Options options = testing::with_network(directory);
  options.plan_file = directory.write("plan.json", plan_of_trees());
  for (const auto& [n_tags, forms] : {std::pair(31, false), std::pair(32, true)}) {
    testing::Group group;
    group.wrap = [n = n_tags](int, transport::Transport& below) {
      return std::make_unique<FewTags>(below, n);
    };
    testing::arm_group(group, options, [forms = forms](transport::Transport& transport, ArmResult& armed) {
      ASSERT_TRUE(armed.communicator) << armed.reason;
      armed.communicator->form_around_the_late(late::Plan::mended);
      EXPECT_EQ(armed.communicator->forms_around_the_late(), forms);
      for (int call = 0; call < 5; ++call)
        testing::expect_served(*armed.communicator, transport.rank(),
                               testing::problem_of(Collective::broadcast, 3000, call % 4));
    });
  }
}

// Where it is told whether forming pays: what each rank did in each call.
struct Log {
  std::vector<bool> formed;
  std::vector<bool> trusted;
  std::vector<bool> left;  // to the library
  std::vector<int> leaves;
};

// Of four in one subnet, over binomial trees; of an allgather round a ring.
std::string plan_of_one_tree(Collective collective, double native_s) {
  plan::PlanTable table;
  table.host_of_rank = {0, 1, 2, 3};
  const bool is_ring = collective == Collective::allgather;
  const std::string recipe =
      std::string(coll::name(collective)) + (is_ring ? "/chain" : "/binomial") + " segment=512";
  table.entries.push_back({collective, 0, {{100000, algo::parse_recipe(recipe), 0, 0, native_s, "by hand"}}});
  return table.to_json();
}

struct Calls {
  std::size_t least_bytes = 1500;
  double native_s = 0;
  int together_until =
      1 << 30;  // the calls before which all wait for each other; behind them there are two roots
};

// Calls to which ranks are late where `is_late` says so.
std::vector<Log> run_where_it_pays(Collective collective, std::uint64_t seed,
                                   const std::function<bool(int call, int rank)>& is_late,
                                   const std::function<bool(const Log& log)>& goes_on,
                                   const Calls& calls = {}) {
  const Directory directory;
  Options options = testing::with_network(directory);
  testing::Group group;
  group.network = "hosts=4 rate_mbit=200";
  net::save_network(net::synthetic_network(group.network), options.network_file);
  options.plan_file = directory.write("plan.json", plan_of_one_tree(collective, calls.native_s));
  group.native_delay_s = 0;
  group.loopback.seed = seed;
  std::vector<Log> logs(4);
  testing::run_program(group, options, [&](Communicator& communicator, int rank, testing::Program& program) {
    communicator.form_around_the_late(late::Plan::mended, Forming::where_it_pays);
    Log& log = logs[static_cast<std::size_t>(rank)];
    std::mt19937 common(3);
    for (int call = 0; goes_on(log); ++call) {
      const auto problem = testing::problem_of(collective, calls.least_bytes + common() % calls.least_bytes,
                                               call >= calls.together_until ? call % 2 : 0);
      std::int64_t token = 0;
      if (call < calls.together_until) program.native.allreduce_min({&token, 1});
      // More so before it forms: on a busy machine forming must not seem to be what takes long.
      if (is_late(call, rank))
        std::this_thread::sleep_for(
            std::chrono::milliseconds(call < static_cast<int>(Lateness::kFirstPeriod) ? 60 : 20));
      if (communicator.asks_who_is_late(collective)) communicator.ask_who_is_late(program.native, collective);
      communicator.begin_call(problem);
      const bool is_left = communicator.serves_this_call(problem) == nullptr;
      if (is_left)
        communicator.note_passed(1000);
      else
        testing::expect_served(communicator, rank, problem);
      log.formed.push_back(!is_left && communicator.last_formed());
      log.trusted.push_back(!is_left && communicator.last_trusted());
      log.left.push_back(is_left);
      const auto leaves = communicator.planned_as_leaves(collective);
      if (leaves.size() > log.leaves.size()) log.leaves.assign(leaves.begin(), leaves.end());
    }
  });
  return logs;
}

std::ptrdiff_t n_formed(const Log& log) { return std::count(log.formed.begin(), log.formed.end(), true); }

void expect_alike(const std::vector<Log>& logs) {
  for (const Log& log : logs) {
    EXPECT_EQ(log.formed, logs[0].formed) << "ranks disagree";
    EXPECT_EQ(log.trusted, logs[0].trusted);
    EXPECT_EQ(log.left, logs[0].left);
    EXPECT_EQ(log.leaves, logs[0].leaves);
  }
}

TEST(LateRanks, FormWhileSomebodyIsLateAndNoLongerThanThat) {
  constexpr int kLateCalls = 60;
  for (const std::uint64_t seed : {0, 5}) {
    const auto logs = run_where_it_pays(
        Collective::broadcast, seed, [](int call, int rank) { return call < kLateCalls && rank == 2; },
        // Until they are static again; a machine that is slow enough for that to take forever ends the test.
        [](const Log& log) {
          return log.formed.size() < kLateCalls || (log.formed.back() && log.formed.size() < 5000);
        });
    expect_alike(logs);
    const Log& log = logs[0];
    EXPECT_EQ(std::find(log.formed.begin(), log.formed.end(), true) - log.formed.begin(), 8);
    EXPECT_GE(n_formed(log), kLateCalls - 8);
    EXPECT_FALSE(log.formed.back());
    EXPECT_EQ(log.leaves, std::vector{2});
    // From the 17th call to the 60th in three of four.
    EXPECT_GE(std::count(log.trusted.begin(), log.trusted.begin() + kLateCalls, true), 30);
    EXPECT_EQ(std::count(log.left.begin(), log.left.end(), true), 0);
  }
}

// Its calls take a rank no time here.
TEST(LateRanks, CallsAreLeftToTheLibraryWhereRanksAreInItForLess) {
  for (const Collective collective : {Collective::broadcast, Collective::scatter}) {
    const auto logs = run_where_it_pays(
        collective, 0, [](int call, int rank) { return call < 80 && rank == 2; },
        [](const Log& log) { return log.formed.size() < 100; }, {.native_s = 1e-6});
    expect_alike(logs);
    EXPECT_GE(std::count(logs[0].left.begin(), logs[0].left.end(), true), 32) << coll::name(collective);
  }
}

TEST(LateRanks, WhatEndsForAllAtOnceIsNotLeftToTheLibrary) {
  const auto logs = run_where_it_pays(
      Collective::allreduce, 0, [](int, int rank) { return rank == 2; },
      [](const Log& log) { return log.formed.size() < 60; }, {.native_s = 1e-6});
  EXPECT_EQ(std::count(logs[0].left.begin(), logs[0].left.end(), true), 0);
}

// Others get ahead of it, from two roots, through all turns of tags.
TEST(LateRanks, ATrustedLeafMayFallBehind) {
  std::size_t n_trusted = 0;
  for (const std::uint64_t seed : {0, 5, 9}) {
    const auto logs = run_where_it_pays(
        Collective::broadcast, seed, [](int, int rank) { return rank == 2; },
        [](const Log& log) { return log.formed.size() < 120; }, {.together_until = 40});
    expect_alike(logs);
    n_trusted += static_cast<std::size_t>(std::count(logs[0].trusted.begin(), logs[0].trusted.end(), true));
  }
  EXPECT_GT(n_trusted, 20u);
}

TEST(LateRanks, ALateRootIsNobodysToFormAround) {
  const auto logs = run_where_it_pays(
      Collective::broadcast, 0, [](int, int rank) { return rank == 0; },
      [](const Log& log) { return log.formed.size() < 60; });
  expect_alike(logs);
  EXPECT_LT(n_formed(logs[0]), 60);
  EXPECT_TRUE(logs[0].leaves.empty());
}

TEST(LateRanks, WavesFormWhereSomebodyIsLateToo) {
  for (const Collective collective : {Collective::reduce, Collective::allreduce, Collective::gather,
                                      Collective::scatter, Collective::allgather}) {
    const auto logs = run_where_it_pays(
        collective, 3, [](int, int rank) { return rank == 2; },
        [](const Log& log) { return log.formed.size() < 60; });
    expect_alike(logs);
    EXPECT_EQ(n_formed(logs[0]), 60 - 8) << coll::name(collective);
    EXPECT_EQ(logs[0].leaves, std::vector{2}) << coll::name(collective);
  }
}

// Nobody can leave before the last one has come, and there is nothing to prepare.
TEST(LateRanks, WhatEndsForAllAtOnceStaysStaticInOnePacket) {
  for (const Collective collective : {Collective::allreduce, Collective::allgather}) {
    const auto logs = run_where_it_pays(
        collective, 3, [](int, int rank) { return rank == 2; },
        [](const Log& log) { return log.formed.size() < 30; }, {.least_bytes = 8});
    EXPECT_EQ(n_formed(logs[0]), 0) << coll::name(collective);
  }
}

bool goes_the_same_way(const std::string& network, const char* recipe, Collective collective) {
  const net::GroupView view =
      net::make_view(std::make_shared<const net::Network>(net::synthetic_network(network)), {0, 1, 2, 3});
  return late::goes_the_same_way(algo::parse_recipe(recipe), testing::problem_of(collective, 1000), view);
}

// The waves' tree would be another than the ring.
TEST(LateRanks, WhatTheirRecipeDoesNotSendOverOneTreeStays) {
  const auto is = [](const char* recipe, Collective collective) {
    return goes_the_same_way(testing::kNetwork, recipe, collective);
  };
  EXPECT_TRUE(is("broadcast/subnets segment=512", Collective::broadcast));
  EXPECT_TRUE(is("allreduce/binomial", Collective::allreduce));
  EXPECT_FALSE(is("allreduce/ring segment=512", Collective::allreduce));
  EXPECT_FALSE(is("allreduce/subnets segment=512", Collective::allreduce)) << "a tree for each subnet";
  EXPECT_FALSE(is("reduce/two_tree segment=512", Collective::reduce));
  EXPECT_FALSE(is("broadcast/subnets segment=512 head=1", Collective::broadcast))
      << "a way of their own for some";
}

TEST(LateRanks, AnAllgatherFormsWhereItGoesRoundOneSwitch) {
  const auto is = [](const std::string& network, const char* recipe) {
    return goes_the_same_way(network, recipe, Collective::allgather);
  };
  EXPECT_TRUE(is("hosts=4", "allgather/chain segment=512"));
  EXPECT_TRUE(is("hosts=4", "allgather/subnets segment=512 inside=chain"));
  EXPECT_FALSE(is("hosts=4", "allgather/subnets segment=512 inside=binomial"));
  EXPECT_FALSE(is("hosts=4", "allgather/flat"));
  EXPECT_FALSE(is("hosts=4 kind=bus", "allgather/chain segment=512"));
  EXPECT_FALSE(is("hosts=2+2", "allgather/chain segment=512"));
}

}  // namespace
}  // namespace eco::runtime
