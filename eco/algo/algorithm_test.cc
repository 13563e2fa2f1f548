// Every algorithm, every candidate: proved as data, then run on threads.
#include "eco/algo/algorithm.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <set>

#include "eco/algo/testing.h"
#include "eco/base/errors.h"
#include "eco/sched/verify.h"

namespace eco::algo {
namespace {

using coll::Collective;
using coll::CommonProblem;
using testing::run_on_loopback;
using testing::views_for;

// Sizes around a segment, from the first and the last root: whole words, so that they can run.
std::vector<CommonProblem> problems(Collective collective, int n_ranks) {
  std::vector<CommonProblem> all;
  std::vector<std::size_t> sizes = {8, 1392, 3 * 1392 + 8, 24 * 1024 + 40};
  if (collective == Collective::barrier) sizes = {0};
  for (const int root : {0, n_ranks - 1}) {
    if (root > 0 && !coll::is_rooted(collective)) continue;
    for (const std::size_t bytes : sizes) {
      CommonProblem problem{.collective = collective, .n_ranks = n_ranks, .root = root};
      if (collective != Collective::barrier) problem.element_bytes = 8;
      problem.bytes = coll::whole_bytes(problem, bytes);
      for (const auto& graph : proof_graphs(collective, n_ranks)) {
        problem.neighbors = graph;
        all.push_back(problem);
      }
      if (!coll::is_reduction(collective) || problem.bytes == 0 || bytes > 1392) continue;
      problem.commutative = false;
      all.push_back(problem);
    }
  }
  return all;
}

TEST(Algorithms, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const Algorithm& algorithm : registry()) {
    EXPECT_TRUE(names.insert(algorithm.name).second) << algorithm.name;
    EXPECT_EQ(find(algorithm.name), &algorithm);
    EXPECT_EQ(algorithm.name.substr(0, algorithm.name.find('/')), coll::name(algorithm.collective));
  }
  EXPECT_EQ(find("broadcast/nonsense"), nullptr);
}

// Few of each here; `eco verify` proves all of P = 1 to 9 (tests/cli/test_verify.py).
TEST(Algorithms, EveryOneIsProved) {
  std::size_t n_distinct = 0;
  std::set<std::string> keep_order;
  for (const Algorithm& algorithm : registry()) {
    std::size_t n_of_this = 0;
    for (const ProofTask& task : proof_tasks({1, 2, 3, 5}, {}, algorithm.name)) {
      if (task.root != 0 && task.root != task.n_ranks - 1) continue;
      const Proof proof = prove(task, {.seed = 1, .picks = 1});
      for (const std::string& fault : proof.faults) ADD_FAILURE() << fault;
      if (task.n_ranks == 1) {
        EXPECT_EQ(proof.n_cases, 0U) << algorithm.name << " serves one rank";
      }
      if (proof.n_ordered > 0) keep_order.insert(algorithm.name);
      if (algorithm.collective == Collective::allreduce) {
        EXPECT_EQ(proof.n_in_place * 2, proof.n_cases) << algorithm.name;
      }
      n_of_this += proof.n_distinct;
    }
    EXPECT_GT(n_of_this, 0U) << algorithm.name;
    n_distinct += n_of_this;
  }
  RecordProperty("schedules_proved", static_cast<int>(n_distinct));
  EXPECT_GT(n_distinct, 5000U);
  for (const char* name : {"reduce/subnets", "reduce/binomial", "allreduce/subnets", "allreduce/doubling",
                           "allreduce/leaders", "reduce_scatter/leaders", "scan/chain", "exscan/leaders",
                           "reduce/knomial", "allreduce/reduce+broadcast", "allreduce/allgather+combine",
                           "reduce/gather+combine", "reduce_scatter/reduce+scatter", "reduce/levels",
                           "allreduce/levels", "reduce_scatter/levels", "scan/levels", "exscan/levels"}) {
    EXPECT_TRUE(keep_order.contains(name)) << name;
  }
}

// What a job of eight ranks on three subnets may choose from: every candidate at every root.
TEST(Algorithms, EveryCandidateOfAJobIsProved) {
  const auto view = testing::scattered_view("3+3+2", 8, 1);
  std::size_t n_proved = 0;
  for (const Algorithm& algorithm : registry()) {
    for (int root = 0; root < 8; ++root) {
      if (root > 0 && !coll::is_rooted(algorithm.collective)) continue;
      CommonProblem problem{
          .collective = algorithm.collective, .n_ranks = 8, .root = root, .element_bytes = 8};
      if (algorithm.collective == Collective::barrier) problem.element_bytes = 1;
      problem.neighbors = proof_graphs(algorithm.collective, 8).back();
      // 48 divides most segments: see proving.cc.
      problem.bytes = coll::whole_bytes(problem, algorithm.collective == Collective::barrier ? 0 : 24624);
      if (algorithm.why_not(problem, view)) continue;
      for (const Params& params : algorithm.candidates(problem, view)) {
        const Recipe recipe{algorithm.name, params};
        ASSERT_FALSE(why_not(recipe, problem, view));
        const auto fault = sched::verify(problem, build_all(recipe, problem, view), {.random_orders = 1});
        ASSERT_FALSE(fault) << recipe.text() << " root " << root << ": " << fault->what;
        ++n_proved;
      }
    }
  }
  EXPECT_GT(n_proved, 500U);
}

TEST(Proving, SharesOutTasksAndPicksBySeed) {
  EXPECT_THROW(proof_tasks({2}, {}, "broadcast/nonsense"), InvalidArgument);
  EXPECT_THROW(proof_tasks({0}, {}, ""), InvalidArgument);
  EXPECT_THROW(prove({"broadcast/chain", 2, 2}), InvalidArgument);
  EXPECT_EQ(proof_tasks({3, 4}, {Collective::broadcast}, "broadcast/chain").size(), 7U);
  EXPECT_EQ(proof_tasks({3, 4}, {Collective::reduce}, "broadcast/chain").size(), 0U);
  // All parameters instead of two of each: more cases, and the same cases with the same seed.
  const ProofTask task{"broadcast/subnets", 6, 4};
  const Proof few = prove(task, {.seed = 3});
  EXPECT_EQ(prove(task, {.seed = 3}).n_distinct, few.n_distinct);
  const Proof all = prove(task, {.seed = 3, .picks = 0});
  EXPECT_GT(all.n_cases, 2 * few.n_cases);
  EXPECT_LT(all.n_distinct, all.n_cases);
  EXPECT_GT(few.n_distinct, 50U);
  EXPECT_EQ(few.faults.size(), 0U);
  EXPECT_EQ(few.n_composed, 0U);
  EXPECT_GT(prove({"allreduce/levels", 6, 0}, {.seed = 3}).n_composed, 10U);
}

TEST(Proving, ViewsAreOfEveryKind) {
  for (int n_ranks = 1; n_ranks <= 17; ++n_ranks) {
    std::set<int> subnets;
    bool has_bus = false;
    bool shares_hosts = false;
    for (const auto& view : proof_views(n_ranks)) {
      EXPECT_EQ(view.n_ranks(), n_ranks);
      subnets.insert(view.n_subnets());
      const std::set<int> hosts(view.host_of_rank.begin(), view.host_of_rank.end());
      shares_hosts = shares_hosts || static_cast<int>(hosts.size()) < n_ranks;
      for (const auto& subnet : view.subnets) has_bus = has_bus || subnet.kind == net::SubnetKind::bus;
    }
    EXPECT_TRUE(subnets.contains(1));
    if (n_ranks < 4) continue;
    EXPECT_TRUE(has_bus && shares_hosts) << n_ranks;
    EXPECT_TRUE(subnets.contains(2) && subnets.contains(3) && subnets.contains(n_ranks)) << n_ranks;
  }
}

// A few candidates of each (first, last, middle), in turn on quiet, on synchronous and on nasty loopbacks. Of many ranks,
// whose threads take turns, one of these for each problem.
TEST(Algorithms, RunOnThreads) {
  std::size_t turn = 0;
  std::mt19937 dice(1);
  for (const Algorithm& algorithm : registry()) {
    for (const int n_ranks : {2, 3, 5, 8}) {
      for (const auto& view : views_for(algorithm, n_ranks)) {
        for (const auto& problem : problems(algorithm.collective, n_ranks)) {
          if (n_ranks == 8 && dice() % 2 == 0) continue;  // as many threads take most of the time
          if (algorithm.why_not(problem, view)) continue;
          const auto candidates = algorithm.candidates(problem, view);
          const std::array<std::size_t, 3> few = {0, candidates.size() / 2, candidates.size() - 1};
          std::set<std::size_t> picks(few.begin(), few.end());
          if (n_ranks > 3) picks = {few[dice() % few.size()]};
          for (const std::size_t pick : picks) {
            const Recipe recipe{algorithm.name, candidates[pick]};
            const auto seed = static_cast<std::uint64_t>(n_ranks) * 31 + problem.bytes + pick;
            const bool in_place = problem.bytes % 16 == 0 && algorithm.collective == Collective::allreduce;
            const std::array<transport::LoopbackOptions, 3> kinds = {
                {{}, {.synchronous = true}, {.seed = seed + 1}}};
            const std::size_t kind = turn++ % kinds.size();
            EXPECT_EQ(run_on_loopback(problem, view, recipe, kinds[kind], kind == 2 && in_place), "");
          }
        }
      }
    }
  }
}

// Many more segments than the Executor looks ahead over: whoever sends much before it receives stands still here.
TEST(Algorithms, LongMessages) {
  for (const Algorithm& algorithm : registry()) {
    if (algorithm.collective == Collective::barrier) continue;
    const std::string hosts = algorithm.on_rails ? "3+3+2 rail_mbit=400" : "3+3+2";
    const auto scattered = testing::scattered_view(hosts, 8, 3);
    const auto runs = testing::scattered_view(hosts, 8);
    CommonProblem problem{.collective = algorithm.collective, .n_ranks = 8, .root = 1, .element_bytes = 8};
    problem.bytes = coll::whole_bytes(problem, 3 * 700 * 64);
    problem.neighbors = proof_graphs(algorithm.collective, 8).back();
    if (!coll::is_rooted(algorithm.collective)) problem.root = 0;
    while (algorithm.why_not(problem, runs) && problem.bytes > 1024)
      problem.bytes = coll::whole_bytes(problem, problem.bytes / 2);
    const net::GroupView& view = algorithm.why_not(problem, scattered) ? runs : scattered;
    ASSERT_FALSE(algorithm.why_not(problem, view)) << algorithm.name;
    for (const int window : {0, 1, 3}) {
      Params params = algorithm.candidates(problem, view).front();
      params.segment_bytes = 64;
      params.window = window;
      const Recipe recipe{algorithm.name, params};
      if (window <= 1) {
        const auto fault = sched::verify(problem, build_all(recipe, problem, view), {.random_orders = 1});
        ASSERT_FALSE(fault) << recipe.text() << ": " << fault->what;
      }
      if (window == 0) continue;
      EXPECT_EQ(run_on_loopback(problem, view, recipe, {.seed = 11}, false, 1), "");
    }
  }
}

// More subnets than operations looked ahead over: whoever waits for all of them before it sends stands still.
TEST(Algorithms, LanesNeedNoWindowForAllSubnets) {
  const CommonProblem problem{.collective = Collective::alltoall, .n_ranks = 24, .bytes = 24};
  const auto view = dealt_view("hosts=2+2+2+2+2+2+2+2+2+2+2+2", 24);
  const auto schedules = build_all({"alltoall/lanes", {}}, problem, view);
  const auto fault = sched::verify(problem, schedules, {.window_capacity = 8});
  EXPECT_FALSE(fault) << fault->what;
}

TEST(Algorithms, RefuseWhatTheyCannotServe) {
  const auto view = testing::scattered_view("2+2", 4);
  const CommonProblem ordered{.collective = Collective::allreduce,
                              .n_ranks = 4,
                              .bytes = 64,
                              .element_bytes = 8,
                              .commutative = false};
  for (const Algorithm& algorithm : registry()) {
    EXPECT_TRUE(algorithm.why_not({.collective = algorithm.collective, .n_ranks = 1, .bytes = 8}, view));
  }
  EXPECT_TRUE(find("allreduce/ring")->why_not(ordered, view));
  EXPECT_TRUE(find("allreduce/subnets")->why_not(ordered, testing::scattered_view("2+2", 4, 2)));
  const CommonProblem problem{.collective = Collective::broadcast, .n_ranks = 4, .bytes = 64};
  EXPECT_TRUE(why_not(parse_recipe("broadcast/subnets segment=0 order=0,2"), problem, view));
  EXPECT_TRUE(why_not(parse_recipe("broadcast/subnets segment=0 order=0,0"), problem, view));
  EXPECT_TRUE(why_not(parse_recipe("allreduce/ring segment=0"), problem, view));
  EXPECT_TRUE(why_not(parse_recipe("broadcast/unheard segment=0"), problem, view));
  EXPECT_FALSE(why_not(parse_recipe("broadcast/subnets segment=0 order=1,0"), problem, view));
  for (const char* list : {"tree=-1", "tree=0,0", "tree=-1,-1", "tree=-1,2", "tree=1,0", "first=0",
                           "first=0,2", "owners=2", "ring=0,1,2", "ring=0,1,2,2"}) {
    EXPECT_TRUE(why_not(parse_recipe(std::string("broadcast/subnets ") + list), problem, view)) << list;
  }
  for (const char* list : {"tree=-1,0", "tree=1,-1", "first=1,0", "owners=1,1,0", "ring=3,1,2,0"}) {
    EXPECT_FALSE(why_not(parse_recipe(std::string("broadcast/subnets ") + list), problem, view)) << list;
  }
}

// What a search may put into a recipe keeps every algorithm correct, whether it looks at it or not.
TEST(Algorithms, AreProvedWithListsOfAllKinds) {
  const auto view = testing::scattered_view("3+2+1+2", 8, 5);
  const char* lists[] = {"tree=2,2,-1,0 order=3,1,0,2",
                         "tree=1,3,3,-1 inside=binomial",
                         "first=2,1,0,1 between=flat",
                         "owners=3 tree=3,3,3,-1",
                         "owners=1,3,1",
                         "owners=0,2,1,3 head=1 tail=2 order=2,0,3,1",
                         "head=2 tail=1",
                         "ring=5,0,3,6,1,4,7,2"};
  std::size_t n_proved = 0;
  for (const Algorithm& algorithm : registry()) {
    for (const auto& problem : problems(algorithm.collective, 8)) {
      if (algorithm.why_not(problem, view)) continue;
      for (const char* list : lists) {
        const Recipe recipe = parse_recipe(algorithm.name + " segment=1392 " + list);
        ASSERT_EQ(parse_recipe(recipe.text()), recipe);
        ASSERT_FALSE(why_not(recipe, problem, view));
        const auto fault = sched::verify(problem, build_all(recipe, problem, view));
        ASSERT_FALSE(fault) << recipe.text() << " root " << problem.root << ": " << fault->what;
        ++n_proved;
      }
      CommonProblem ordered = problem;
      ordered.commutative = false;
      const bool combines =
          coll::is_reduction(algorithm.collective) && algorithm.collective != Collective::barrier;
      if (!combines || algorithm.why_not(ordered, view)) continue;
      for (const char* list : lists) {
        const Recipe recipe = parse_recipe(algorithm.name + " segment=1392 " + list);
        const auto fault = sched::verify(ordered, build_all(recipe, ordered, view));
        ASSERT_FALSE(fault) << recipe.text() << ", in order: " << fault->what;
      }
    }
  }
  EXPECT_GT(n_proved, 1000U);
}

// Whom a rank sends to, or receives from, in the order of its operations.
std::vector<int> peers(const char* recipe, const CommonProblem& problem, const net::GroupView& view, int rank,
                       sched::OpKind kind) {
  const Recipe parsed = parse_recipe(recipe);
  const sched::Schedule schedule = find(parsed.algorithm)->build(problem, view, parsed.params, rank);
  std::vector<int> found;
  sched::Cursor cursor(schedule);
  while (const sched::Op* op = cursor.next()) {
    if (op->kind == kind) found.push_back(op->peer);
  }
  return found;
}

TEST(Broadcast, SubnetsPassOnSegmentsInTurnAndTheLastGoesStraight) {
  const auto view = testing::scattered_view("3+3+2", 8);
  const CommonProblem problem{.collective = Collective::broadcast, .n_ranks = 8, .bytes = 5 * 1392};
  const auto parents = [&](int rank) {
    return peers("broadcast/subnets segment=1392 tail=1 inside=flat owners=1,2", problem, view, rank,
                 sched::OpKind::recv);
  };
  EXPECT_EQ(parents(3), (std::vector{0, 6, 0, 6, 0}));
  EXPECT_EQ(parents(6), (std::vector{3, 0, 3, 0, 0}));
  EXPECT_EQ(parents(5), (std::vector{3, 3, 3, 3, 3}));
  EXPECT_EQ(parents(1), (std::vector{0, 0, 0, 0, 0}));
}

TEST(Broadcast, WhatGoesStraightBeginsWithTheSubnetWhoseTurnItIs) {
  const auto view = testing::scattered_view("2+2+2+2", 8);
  const CommonProblem problem{.collective = Collective::broadcast, .n_ranks = 8, .bytes = 5 * 1392};
  std::vector<int> far;
  const char* recipe = "broadcast/subnets segment=1392 tail=1 inside=flat order=0,3,1,2 owners=3,1,2";
  for (const int peer : peers(recipe, problem, view, 0, sched::OpKind::send)) {
    if (view.subnet_of_rank[static_cast<std::size_t>(peer)] != 0) far.push_back(peer);
  }
  EXPECT_EQ(far, (std::vector{6, 2, 4, 6, 2, 4, 6}));
}

TEST(Allreduce, SubnetsSendToDifferentOwnersAtAnyTime) {
  const auto view = testing::scattered_view("1+1+1", 3);
  const CommonProblem problem{
      .collective = Collective::allreduce, .n_ranks = 3, .bytes = 5 * 1392, .element_bytes = 8};
  const auto told = [&](int rank) {
    return peers("allreduce/subnets segment=1392 between=flat", problem, view, rank, sched::OpKind::send);
  };
  // A contribution to each of the others' segments, then the own segment to both; the last turn is of two segments.
  EXPECT_EQ(told(0), (std::vector{1, 2, 1, 2, 1, 1, 2}));
  EXPECT_EQ(told(1), (std::vector{2, 0, 2, 0, 0, 2, 0}));
  EXPECT_EQ(told(2), (std::vector{0, 1, 0, 1, 1, 0}));
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
  const Recipe found{
      "allreduce/subnets",
      {.segment_bytes = 1392, .tree = {2, 2, -1}, .first = {0, 1, 0}, .owners = {2}, .ring = {1, 0}}};
  EXPECT_EQ(
      found.text(),
      "allreduce/subnets segment=1392 head=0 window=0 between=chain inside=chain tree=2,2,-1 first=0,1,0 "
      "owners=2 ring=1,0");
  EXPECT_EQ(parse_recipe(found.text()), found);
  const Recipe detour{"broadcast/subnets", {.segment_bytes = 976, .tail = 1, .owners = {2, 1}}};
  EXPECT_EQ(detour.text(),
            "broadcast/subnets segment=976 head=0 tail=1 window=0 between=chain inside=chain owners=2,1");
  EXPECT_EQ(parse_recipe(detour.text()), detour);
  EXPECT_EQ(parse_recipe("a/b head=2").params.tail, 0) << "what texts have that are older than it";
  for (const char* bad :
       {"", "a/b segment", "a/b segment=x", "a/b segment=-4", "a/b inside=round", "a/b tree=-2",
        "a/b ring=-1", "a/b colour=3", "a/b degree=1", "a/b degree=2000000", "a/b head=-1", "a/b tail=-1",
        "a/b tail=", "a/b order=1,,2", "a/b window=99999999999999"}) {
    EXPECT_THROW(parse_recipe(bad), InvalidArgument) << bad;
  }
}

}  // namespace
}  // namespace eco::algo
