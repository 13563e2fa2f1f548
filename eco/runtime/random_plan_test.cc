// Drives plans that no sensible measurement would choose through the executor: every recipe that the planner can put
// into a table, chosen by dice, on adversarial loopback, with results checked.
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <random>
#include <set>

#include "eco/net/synthetic.h"
#include "eco/plan/planner.h"
#include "eco/runtime/testing.h"

namespace eco::runtime {
namespace {

using coll::Collective;
using coll::CommonProblem;

constexpr std::size_t kUpTo[] = {8, 2000, 40000};

// Costs by dice: which candidates win is chance. Sees many recipes in few tables since every cell is thrown anew.
plan::PlanTable table_by_dice(const net::GroupView& view, std::mt19937_64& dice,
                              std::set<std::string>& recipes) {
  plan::PlannerOptions options;
  options.sizes.assign(std::begin(kUpTo), std::end(kUpTo));
  options.shortlist = 1000;  // everything within the predictor's reach
  const plan::Measure measure = [&](const CommonProblem&, const std::vector<const algo::Recipe*>& candidates,
                                    const plan::Beforehand&) {
    std::vector<std::optional<plan::Measurement>> measured(candidates.size());
    measured[0] = {10.0, 0.0};
    for (std::size_t i = 1; i < candidates.size(); ++i) {
      measured[i] = {1.0 + static_cast<double>(dice() % 1000) / 1000, 0.0};
    }
    return measured;
  };
  const plan::PlanTable table = plan::make_plan(view, coll::all_collectives(), options, measure);
  for (const plan::Entry& entry : table.entries) {
    for (const plan::Row& row : entry.rows) {
      if (row.recipe) recipes.insert(row.recipe->text());
    }
  }
  return table;
}

void check_everything(Communicator& communicator, int rank) {
  const int n_ranks = communicator.view().n_ranks();
  for (const Collective collective : coll::all_collectives()) {
    const int n_roots = coll::is_rooted(collective) ? n_ranks : 1;
    for (const std::size_t bytes : {1u, 8u, 777u, 2000u, 20001u, 40000u}) {
      for (int root = 0; root < n_roots; ++root) {
        const CommonProblem problem = testing::problem_of(collective, bytes, root, n_ranks);
        if (problem.bytes > kUpTo[2]) continue;
        testing::expect_served(communicator, rank, problem);
        if (collective == Collective::allreduce) testing::expect_served(communicator, rank, problem, true);
      }
    }
  }
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
