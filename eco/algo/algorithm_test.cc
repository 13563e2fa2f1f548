// Every algorithm, every candidate: proved as data, then run on threads.
#include "eco/algo/algorithm.h"

#include <gtest/gtest.h>

#include <set>

#include "eco/algo/testing.h"
#include "eco/base/errors.h"
#include "eco/sched/verify.h"

namespace eco::algo {
namespace {

using coll::Collective;
using coll::CommonProblem;
using testing::run_on_loopback;
using testing::views;

std::vector<CommonProblem> problems(const Algorithm& algorithm, int n_ranks) {
  std::vector<CommonProblem> all;
  const int n_roots = algorithm.collective() == Collective::broadcast ? n_ranks : 1;
  std::vector<std::size_t> sizes = {8, 1392, 3 * 1392 + 8, 24 * 1024 + 40};
  if (algorithm.collective() == Collective::barrier) sizes = {0};
  for (int root = 0; root < n_roots; ++root) {
    for (const std::size_t bytes : sizes) {
      CommonProblem problem{
          .collective = algorithm.collective(), .n_ranks = n_ranks, .root = root, .bytes = bytes};
      if (algorithm.collective() == Collective::allreduce) problem.element_bytes = 8;
      all.push_back(problem);
    }
  }
  return all;
}

TEST(Algorithms, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const Algorithm* algorithm : registry()) {
    EXPECT_TRUE(names.insert(std::string(algorithm->name())).second) << algorithm->name();
    EXPECT_EQ(find(algorithm->name()), algorithm);
    EXPECT_EQ(algorithm->name().substr(0, algorithm->name().find('/')), coll::name(algorithm->collective()));
  }
  EXPECT_EQ(find("broadcast/nonsense"), nullptr);
}

TEST(Algorithms, EveryCandidateIsProved) {
  std::size_t n_proved = 0;
  for (const Algorithm* algorithm : registry()) {
    for (int n_ranks = 2; n_ranks <= 9; ++n_ranks) {
      for (const auto& view : views(n_ranks)) {
        for (const auto& problem : problems(*algorithm, n_ranks)) {
          if (problem.root > 2 && problem.root != n_ranks - 1) continue;
          ASSERT_FALSE(algorithm->why_not(problem, view)) << *algorithm->why_not(problem, view);
          for (const Params& params : algorithm->candidates(problem, view)) {
            const Recipe recipe{std::string(algorithm->name()), params};
            ASSERT_FALSE(why_not(recipe, problem, view));
            const auto fault = sched::verify(problem, build_all(recipe, problem, view));
            ASSERT_FALSE(fault) << recipe.text() << " root " << problem.root << " bytes " << problem.bytes
                                << " on " << view.describe() << ": " << fault->what;
            ++n_proved;
          }
        }
      }
    }
  }
  RecordProperty("recipes_proved", static_cast<int>(n_proved));
  EXPECT_GT(n_proved, 5000U);
}

TEST(Algorithms, InPlaceIsProvedToo) {
  for (const Algorithm* algorithm : registry()) {
    if (algorithm->collective() == Collective::broadcast) continue;
    for (const int n_ranks : {2, 5, 8}) {
      for (const auto& view : views(n_ranks)) {
        for (const auto& problem : problems(*algorithm, n_ranks)) {
          for (const Params& params : algorithm->candidates(problem, view)) {
            const Recipe recipe{std::string(algorithm->name()), params};
            const auto fault =
                sched::verify(problem, build_all(recipe, problem, view), {.input_is_output = true});
            ASSERT_FALSE(fault) << recipe.text() << ": " << fault->what;
          }
        }
      }
    }
  }
}

// A few candidates of each (first, last, middle), on quiet and on nasty loopbacks.
TEST(Algorithms, RunOnThreads) {
  for (const Algorithm* algorithm : registry()) {
    for (const int n_ranks : {2, 3, 5, 8}) {
      for (const auto& view : views(n_ranks)) {
        for (const auto& problem : problems(*algorithm, n_ranks)) {
          if (problem.root != 0 && problem.root != n_ranks - 1) continue;
          const auto candidates = algorithm->candidates(problem, view);
          const std::set<std::size_t> picks = {0, candidates.size() / 2, candidates.size() - 1};
          for (const std::size_t pick : picks) {
            const Recipe recipe{std::string(algorithm->name()), candidates[pick]};
            const auto seed = static_cast<std::uint64_t>(n_ranks) * 31 + problem.bytes + pick;
            EXPECT_EQ(run_on_loopback(problem, view, recipe), "");
            EXPECT_EQ(run_on_loopback(problem, view, recipe, {.synchronous = true}), "");
            EXPECT_EQ(
                run_on_loopback(problem, view, recipe, {.seed = seed + 1},
                                problem.bytes % 16 == 0 && algorithm->collective() == Collective::allreduce),
                "");
          }
        }
      }
    }
  }
}

TEST(Algorithms, LongMessagesUnderASendWindow) {
  const auto view = testing::scattered_view("3+3+2", 8, 3);
  for (const char* text : {"broadcast/subnets segment=1392 window=4 between=chain inside=chain order=2,0,1",
                           "broadcast/subnets segment=1392 head=5 window=4 between=chain inside=flat",
                           "allreduce/subnets segment=1392 window=4 between=flat inside=chain",
                           "allreduce/ring segment=1392 window=1 between=chain inside=chain"}) {
    const Recipe recipe = parse_recipe(text);
    const CommonProblem problem{.collective = find(recipe.algorithm)->collective(),
                                .n_ranks = 8,
                                .root = 0,
                                .bytes = 2 << 20,
                                .element_bytes = 8};
    const auto fault = sched::verify(problem, build_all(recipe, problem, view), {.random_orders = 1});
    EXPECT_FALSE(fault) << fault->what;
    EXPECT_EQ(run_on_loopback(problem, view, recipe, {}, false, 1), "");
    EXPECT_EQ(run_on_loopback(problem, view, recipe, {.seed = 11}, false, 1), "");
  }
}

TEST(Algorithms, RefuseWhatTheyCannotServe) {
  const auto view = testing::scattered_view("2+2", 4);
  const CommonProblem ordered{.collective = Collective::allreduce,
                              .n_ranks = 4,
                              .bytes = 64,
                              .element_bytes = 8,
                              .commutative = false};
  for (const Algorithm* algorithm : registry()) {
    if (algorithm->collective() == Collective::allreduce) {
      EXPECT_TRUE(algorithm->why_not(ordered, view)) << algorithm->name();
    }
    EXPECT_TRUE(algorithm->why_not({.collective = algorithm->collective(), .n_ranks = 1, .bytes = 8}, view));
  }
  const CommonProblem problem{.collective = Collective::broadcast, .n_ranks = 4, .bytes = 64};
  EXPECT_TRUE(why_not(parse_recipe("broadcast/subnets segment=0 order=0,2"), problem, view));
  EXPECT_TRUE(why_not(parse_recipe("broadcast/subnets segment=0 order=0,0"), problem, view));
  EXPECT_TRUE(why_not(parse_recipe("allreduce/ring segment=0"), problem, view));
  EXPECT_TRUE(why_not(parse_recipe("broadcast/unheard segment=0"), problem, view));
  EXPECT_FALSE(why_not(parse_recipe("broadcast/subnets segment=0 order=1,0"), problem, view));
}

TEST(Recipe, TextRoundTrip) {
  const Recipe recipe{"broadcast/subnets",
                      {.segment_bytes = 1392,
                       .head = 2,
                       .window = 4,
                       .inside = Shape::flat,
                       .between = Shape::binomial,
                       .order = {0, 2, 1}}};
  EXPECT_EQ(recipe.text(),
            "broadcast/subnets segment=1392 head=2 window=4 between=binomial inside=flat order=0,2,1");
  EXPECT_EQ(parse_recipe(recipe.text()), recipe);
  for (const char* bad : {"", "a/b segment", "a/b segment=x", "a/b segment=-4", "a/b inside=round",
                          "a/b colour=3", "a/b head=-1", "a/b order=1,,2", "a/b window=99999999999999"}) {
    EXPECT_THROW(parse_recipe(bad), InvalidArgument) << bad;
  }
}

}  // namespace
}  // namespace eco::algo
