// Drives plans that no sensible measurement would choose through the executor: every recipe that the planner can put
// into a table, chosen by dice, on adversarial loopback, with results checked.
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <random>
#include <set>

#include "eco/net/synthetic.h"
#include "eco/plan/planner.h"
#include "eco/runtime/combine.h"
#include "eco/runtime/testing.h"

namespace eco::runtime {
namespace {

using coll::Collective;
using coll::CommonProblem;
using transport::Status;

constexpr std::size_t kSizes[] = {8, 2000, 40000};

// Costs by dice: which candidates win is chance. Sees many recipes in few tables since every cell is thrown anew.
plan::PlanTable table_by_dice(const net::GroupView& view, std::mt19937_64& dice,
                              std::set<std::string>& recipes) {
  plan::PlannerOptions options;
  options.sizes.assign(std::begin(kSizes), std::end(kSizes));
  options.shortlist = 1000;  // everything within the predictor's reach
  const plan::Measure measure = [&](const CommonProblem&, const std::vector<const algo::Recipe*>& candidates,
                                    double) {
    std::vector<std::optional<plan::Measurement>> measured(candidates.size());
    measured[0] = {10.0, 0.0};
    for (std::size_t i = 1; i < candidates.size(); ++i) {
      measured[i] = {1.0 + static_cast<double>(dice() % 1000) / 1000, 0.0};
    }
    return measured;
  };
  const plan::PlanTable table = plan::make_plan(
      view, {Collective::broadcast, Collective::allreduce, Collective::barrier}, options, measure);
  for (const plan::Entry& entry : table.entries) {
    for (const plan::Row& row : entry.rows) {
      if (row.recipe) recipes.insert(row.recipe->text());
    }
  }
  return table;
}

void check_broadcast(Communicator& communicator, int rank, std::size_t bytes, int root) {
  const CommonProblem problem{.collective = Collective::broadcast,
                              .n_ranks = communicator.view().n_ranks(),
                              .root = root,
                              .bytes = bytes};
  const algo::Recipe* recipe = communicator.serves(problem);
  ASSERT_NE(recipe, nullptr);
  std::vector<std::byte> message(bytes, std::byte{0xee});
  const auto value = [&](std::size_t i) {
    return static_cast<std::byte>(i * 13 + static_cast<std::size_t>(root));
  };
  if (rank == root) {
    for (std::size_t i = 0; i < bytes; ++i) message[i] = value(i);
  }
  ASSERT_EQ(communicator.run(problem, *recipe, {.input = {}, .output = message}), Status::ok);
  for (std::size_t i = 0; i < bytes; ++i) ASSERT_EQ(message[i], value(i)) << recipe->text() << " at " << i;
}

void check_allreduce(Communicator& communicator, int rank, std::size_t n_values, bool in_place) {
  const int n_ranks = communicator.view().n_ranks();
  const CommonProblem problem{.collective = Collective::allreduce,
                              .n_ranks = n_ranks,
                              .root = 0,
                              .bytes = 8 * n_values,
                              .element_bytes = 8};
  const algo::Recipe* recipe = communicator.serves(problem);
  ASSERT_NE(recipe, nullptr);
  std::vector<double> mine(n_values);
  for (std::size_t i = 0; i < n_values; ++i)
    mine[i] = static_cast<double>(i % 97 + static_cast<std::size_t>(rank));
  std::vector<double> all = in_place ? mine : std::vector<double>(n_values, -1);
  const exec::Buffers buffers{.input = std::as_bytes(std::span(mine)),
                              .output = std::as_writable_bytes(std::span(all)),
                              .input_is_output = in_place,
                              .combine = {sum_doubles, nullptr}};
  ASSERT_EQ(communicator.run(problem, *recipe, buffers), Status::ok);
  const double ranks = n_ranks * (n_ranks - 1) / 2.0;
  for (std::size_t i = 0; i < n_values; ++i) {
    ASSERT_EQ(all[i], n_ranks * static_cast<double>(i % 97) + ranks) << recipe->text() << " at " << i;
  }
}

void check_everything(Communicator& communicator, int rank) {
  const int n_ranks = communicator.view().n_ranks();
  for (const std::size_t bytes : {1u, 8u, 777u, 2000u, 20001u, 40000u}) {
    for (int root = 0; root < n_ranks; ++root) check_broadcast(communicator, rank, bytes, root);
  }
  for (const std::size_t n_values : {1u, 100u, 250u, 2501u, 5000u}) {
    check_allreduce(communicator, rank, n_values, false);
    check_allreduce(communicator, rank, n_values, true);
  }
  const CommonProblem barrier{.collective = Collective::barrier, .n_ranks = n_ranks};
  const algo::Recipe* recipe = communicator.serves(barrier);
  ASSERT_NE(recipe, nullptr);
  ASSERT_EQ(communicator.run(barrier, *recipe, {}), Status::ok);
}

TEST(RandomPlan, EveryRecipeDeliversOnAdversarialLoopback) {
  const testing::Directory directory;
  std::mt19937_64 dice(20260101);
  std::set<std::string> recipes;
  for (const char* network : {"hosts=3+2 uplink_mbit=40", "hosts=2+1+2 kind=bus rate_mbit=10", "hosts=4"}) {
    for (const std::uint64_t seed : {0u, 5u}) {
      const net::Network described = net::synthetic_network(network);
      std::vector<int> hosts(static_cast<std::size_t>(described.n_hosts()));
      std::iota(hosts.begin(), hosts.end(), 0);
      const net::GroupView view = net::make_view(std::make_shared<net::Network>(described), hosts);

      testing::Group group;
      group.network = network;
      group.loopback.seed = seed;
      Options options;
      options.network_file = directory.file("network.json");
      net::save_network(described, options.network_file);
      options.plan_file = directory.write("plan.json", table_by_dice(view, dice, recipes).to_json());
      const auto reasons =
          testing::arm_group(group, options, [](transport::Transport& transport, ArmResult& armed) {
            ASSERT_TRUE(armed.communicator) << armed.reason;
            check_everything(*armed.communicator, transport.rank());
          });
      for (const std::string& reason : reasons) EXPECT_EQ(reason, "armed");
    }
  }
  EXPECT_GT(recipes.size(), 25u) << "the dice reach many recipes";
}

}  // namespace
}  // namespace eco::runtime
