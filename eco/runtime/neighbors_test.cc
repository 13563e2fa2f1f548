// Collectives that follow a graph: learned for it, remembered for it, and for no other.
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "eco/runtime/testing.h"

namespace eco::runtime {
namespace {

using coll::Collective;
using coll::Neighborhood;
using testing::Directory;
using testing::Group;

using Graph = std::shared_ptr<const Neighborhood>;

Graph complete() {
  const std::vector<std::vector<int>> lists = {{1, 2, 3}, {0, 2, 3}, {0, 1, 3}, {0, 1, 2}};
  return coll::paired(lists, lists, coll::Pairing::in_order);
}

// Nobody beyond the ends.
Graph line() {
  const std::vector<std::vector<int>> lists = {{-1, 1}, {0, 2}, {1, 3}, {2, -1}};
  return coll::paired(lists, lists, coll::Pairing::opposite);
}

coll::CommonProblem along(const Graph& graph, Collective collective, std::size_t bytes) {
  return {.collective = collective, .n_ranks = 4, .bytes = bytes, .neighbors = graph};
}

std::size_t n_plans(const Directory& directory) {
  std::size_t n = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory.file("cache") + "/plans"))
    n += entry.is_regular_file() ? 1 : 0;
  return n;
}

// Arms with the barrier alone, learns both along the graph, and runs them where the plan is by hand: what trials choose is
// a matter of time. The seconds that it took to learn.
double run_along(const Graph& graph, const Options& options) {
  Group group = testing::small_group();
  group.request.collectives = {Collective::barrier};
  double seconds = 0;
  testing::run_program(group, options, [&](Communicator& communicator, int rank, testing::Program& program) {
    EXPECT_FALSE(communicator.knows(Collective::neighbor_allgather));
    communicator.follow(graph);
    for (const Collective each : {Collective::neighbor_allgather, Collective::neighbor_alltoall}) {
      const coll::CommonProblem call = along(graph, each, 64);
      const Learned learned = communicator.learn(program.native, program.options, program.identity, call);
      EXPECT_TRUE(communicator.knows(each)) << "of all sizes: ranks may differ in theirs";
      for (int i = 0; i < 200; ++i) EXPECT_FALSE(communicator.may_be_learned_again(call));
      if (rank == 0) seconds += learned.seconds_measuring;
      if (options.plan_file.empty()) continue;
      EXPECT_EQ(learned.reason, "");
      for (int call = 0; call < 10; ++call)
        testing::expect_served(communicator, rank, along(graph, each, 64));
    }
    const auto known = communicator.known_group();
    EXPECT_FALSE(known->view.neighbors);
    EXPECT_FALSE(known->planned.knows(along(graph, Collective::neighbor_allgather, 64), 0));
    EXPECT_FALSE(known->table.knows(Collective::neighbor_alltoall));
    EXPECT_TRUE(known->planned.knows_all(Collective::barrier));
  });
  return seconds;
}

TEST(AlongAGraph, PlansAreRememberedForTheirGraph) {
  const Directory directory;
  const Options options = testing::with_network(directory);
  EXPECT_GT(run_along(complete(), options), 0);
  EXPECT_EQ(n_plans(directory), 2U) << "that of all ranks, and the graph's";
  EXPECT_EQ(run_along(complete(), options), 0) << "it is remembered";
  EXPECT_GT(run_along(line(), options), 0) << "another graph";
  EXPECT_EQ(n_plans(directory), 3U);
}

// The part of a plan by hand that follows a graph waits for the graph, and must fit it.
TEST(AlongAGraph, PlansByHandAreProvedForTheGraph) {
  const Directory directory;
  Options options = testing::with_network(directory);
  const auto row = [](const char* recipe) {
    return plan::Row{1000, algo::parse_recipe(recipe), 0, 0, 0, "by hand"};
  };
  plan::PlanTable table;
  table.host_of_rank = {0, 1, 2, 3};
  table.entries.push_back({Collective::broadcast, 0, {row("broadcast/binomial")}});
  table.entries.push_back(
      {Collective::neighbor_allgather, 0, {row("neighbor_allgather/subnets between=flat")}});
  table.entries.push_back({Collective::neighbor_alltoall, 0, {row("neighbor_alltoall/leaders")}});
  options.plan_file = directory.write("plan.json", table.to_json());
  EXPECT_EQ(run_along(complete(), options), 0);
}

}  // namespace
}  // namespace eco::runtime
