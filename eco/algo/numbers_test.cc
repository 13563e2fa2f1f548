// What fixes a schedule is a recipe's text, the problem and who is on which subnet. No number of the network has a part in
// it: those of two ranks may differ in their last bits (another processor, compiler or libm), and then their schedules
// would not fit each other.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>

#include "eco/algo/testing.h"
#include "eco/sched/testing_text.h"
#include "eco/sched/text.h"
#include "eco/sched/verify.h"

namespace eco::algo {
namespace {

using coll::Collective;
using coll::CommonProblem;

// The same hosts and subnets, and every rate and latency another one: by up to half, either way.
net::GroupView with_other_numbers(const net::GroupView& view, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> factor(0.5, 1.5);
  const auto change = [&](auto&... numbers) { ((numbers *= factor(random)), ...); };
  const auto change_parts = [&](auto& part) {
    for (net::Subnet& subnet : part.subnets) change(subnet.latency_s, subnet.bytes_per_s);
    for (net::Between& between : part.between) change(between.latency_s, between.bytes_per_s);
    for (net::Uplink& uplink : part.uplinks) change(uplink.bytes_per_s);
  };
  net::Network other = *view.network;
  change_parts(other);
  for (net::Rail& rail : other.more_rails) change_parts(rail);
  for (net::PairTimes& pair : other.pairs) {
    for (double& seconds : pair.seconds) change(seconds);
  }
  change(other.send_overhead_s, other.receive_overhead_s, other.memory_latency_s, other.memory_bytes_per_s,
         other.combine_bytes_per_s);
  other.finish();
  net::GroupView changed = view;
  changed.network = std::make_shared<const net::Network>(std::move(other));
  return changed;
}

std::vector<CommonProblem> problems_of(const Algorithm& algorithm, int n_ranks) {
  std::vector<CommonProblem> all;
  for (const std::size_t bytes : {48, 24624}) {
    for (const int root : {0, n_ranks - 1}) {
      if (root > 0 && !coll::is_rooted(algorithm.collective)) continue;
      CommonProblem problem{.collective = algorithm.collective, .n_ranks = n_ranks, .root = root};
      const bool is_barrier = algorithm.collective == Collective::barrier;
      if (is_barrier && bytes > 48) continue;
      if (!is_barrier) problem.element_bytes = 8;
      problem.neighbors = proof_graphs(algorithm.collective, n_ranks).back();
      problem.bytes = coll::whole_bytes(problem, is_barrier ? 0 : bytes);
      all.push_back(problem);
    }
  }
  return all;
}

TEST(Schedules, FollowFromARecipesTextAndNoNumberOfTheNetwork) {
  std::size_t n_recipes = 0;
  std::size_t n_on_rails = 0;
  for (const Algorithm& algorithm : registry()) {
    for (const net::GroupView& view : views_for(algorithm, 6)) {
      const net::GroupView other = with_other_numbers(view, static_cast<unsigned>(n_recipes));
      for (const CommonProblem& problem : problems_of(algorithm, 6)) {
        if (algorithm.why_not(problem, view)) continue;
        for (const Params& params : algorithm.candidates(problem, view)) {
          const Recipe recipe{algorithm.name, params};
          const Recipe again = parse_recipe(recipe.text());
          ASSERT_EQ(again, recipe) << recipe.text();
          ASSERT_EQ(why_not(again, problem, other), std::nullopt) << recipe.text();
          for (int rank = 0; rank < problem.n_ranks; ++rank) {
            ASSERT_EQ(sched::to_text(algorithm.build(problem, other, again.params, rank)),
                      sched::to_text(algorithm.build(problem, view, params, rank)))
                << recipe.text() << ", " << problem.bytes << " bytes, root " << problem.root << ", on "
                << view.network->note << ": " << view.describe();
          }
          ++n_recipes;
          n_on_rails += algorithm.on_rails ? 1 : 0;
        }
      }
    }
  }
  RecordProperty("recipes", static_cast<int>(n_recipes));
  EXPECT_GT(n_recipes, 3000U);
  EXPECT_GT(n_on_rails, 30U);
}

// What `eco explain --text` prints of all ranks, and whoever hunts an error has: it is the schedules, and they run.
TEST(Schedules, AreReadBackFromTheirText) {
  std::size_t n_read = 0;
  std::size_t n_with_groups = 0;
  for (const Algorithm& algorithm : registry()) {
    for (const net::GroupView& view : views_for(algorithm, 6)) {
      const CommonProblem problem = problems_of(algorithm, 6).front();
      if (algorithm.why_not(problem, view)) continue;
      for (const Params& params : algorithm.candidates(problem, view)) {
        const Recipe recipe{algorithm.name, params};
        std::vector<std::string> texts;
        for (const sched::Schedule& schedule : build_all(recipe, problem, view))
          texts.push_back(sched::to_text(schedule));
        const std::vector<sched::Schedule> again = sched::testing::schedules_from_text(texts);
        for (std::size_t rank = 0; rank < texts.size(); ++rank)
          ASSERT_EQ(sched::to_text(again[rank]), texts[rank]) << recipe.text();
        const auto fault = sched::verify(problem, again);
        ASSERT_FALSE(fault) << recipe.text() << ": " << fault->what;
        ++n_read;
        n_with_groups += again.front().groups.empty() ? 0 : 1;
      }
    }
  }
  EXPECT_GT(n_read, 500U);
  EXPECT_GT(n_with_groups, 10U);
}

// One that is added belongs into the text, or ranks that are sent a recipe build another schedule.
TEST(Recipe, EveryParameterIsInItsText) {
  const Params plain;
  const auto& [segment_bytes, head, tail, window, inside, between, degree, order, leaders, islands, parts,
               sites, shares, tree, first, owners, ring] = plain;
  const std::vector<Params> each = {{.segment_bytes = segment_bytes + 1392},
                                    {.head = head + 2},
                                    {.tail = tail + 1},
                                    {.window = window + 4},
                                    {.inside = Shape::knomial},
                                    {.between = Shape::flat},
                                    {.between = Shape::kary},
                                    {.degree = degree + 1},
                                    {.order = {2, 0, 1}},
                                    {.leaders = leaders + 1},
                                    {.islands = Islands::hosts},
                                    {.parts = {"reduce/chain", std::string(kNativePart)}},
                                    {.sites = {0, 1, 0}},
                                    {.shares = {3, 0, 1}},
                                    {.tree = {-1, 0, 0}},
                                    {.first = {0, 2, 1}},
                                    {.owners = {1}},
                                    {.ring = {2, 1, 0}}};
  ASSERT_TRUE(inside == Shape::chain && between == Shape::chain && islands == Islands::subnets);
  ASSERT_TRUE(order.empty() && parts.empty() && shares.empty() && tree.empty() && first.empty());
  ASSERT_TRUE(owners.empty() && ring.empty() && sites.empty());
  for (const Params& params : each) {
    const Recipe recipe{"allreduce/levels", params};
    EXPECT_NE(params, plain) << "as the default";
    EXPECT_EQ(parse_recipe(recipe.text()), recipe) << recipe.text();
    EXPECT_EQ(parse_recipe(recipe.text()).text(), recipe.text());
  }
}

}  // namespace
}  // namespace eco::algo
