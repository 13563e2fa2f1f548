#include "eco/plan/planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "eco/plan/proving.h"
#include "eco/plan/rows.h"
#include "eco/plan/testing.h"
#include "eco/plan/testing_bench.h"

namespace eco::plan {
namespace {

using coll::Collective;
using coll::CommonProblem;

TEST(Planner, JobsPlanLongCallsBetweenHostsAlone) {
  constexpr std::size_t kMiB = 1024 * 1024;
  const net::GroupView hosts = view_of("hosts=2");
  EXPECT_EQ(size_in_job(hosts, 3 * kMiB), 4 * kMiB);
  EXPECT_EQ(size_in_job(hosts, 17 * kMiB), 32 * kMiB);
  EXPECT_EQ(size_in_job(hosts, 32 * kMiB + 1), std::nullopt);
  const net::GroupView one = net::make_view(hosts.network, {1, 1, 1});
  EXPECT_EQ(size_in_job(one, 3 * kMiB), 4 * kMiB);
  EXPECT_EQ(size_in_job(one, 4 * kMiB + 1), std::nullopt);
}

// 14 ranks do not divide a power of two.
TEST(Planner, ServesUpToWhatWasAskedForWhateverBlocksAreCutTo) {
  const net::GroupView view = view_of("hosts=7+7 uplink_mbit=40");
  PlannerOptions options;
  options.sizes = {16384, 262144};
  Bench bench;
  PlanTable table = make_plan(view, {Collective::reduce_scatter}, options, bench.measure());
  for (const std::size_t bytes : {16384u, 16385u, 262080u, 262144u})
    EXPECT_NE(table.lookup(Collective::reduce_scatter, 0, bytes), nullptr) << bytes;
  EXPECT_EQ(table.lookup(Collective::reduce_scatter, 0, 262145), nullptr);
  // And is known again.
  options.known = &table;
  bench.calls = 0;
  const PlanTable again = make_plan(view, {Collective::reduce_scatter}, options, bench.measure());
  EXPECT_EQ(bench.calls, 0);
  EXPECT_EQ(again.to_json(), table.to_json());
}

TEST(Planner, TellsWhatTheLibraryTakesForFewerBytes) {
  const net::GroupView view = view_of("hosts=2+2 uplink_mbit=40");
  PlannerOptions options;
  options.sizes = {64, 1024, 16384};
  std::map<std::pair<int, std::size_t>, double> told;  // by root and bytes
  const std::map<std::size_t, double> library{{64, 0.2}, {1024, 0.1}, {16384, 0.3}};
  const Measure measure = [&](const CommonProblem& problem, const auto& candidates, const Beforehand& known) {
    told[{problem.root, problem.bytes}] = known.native_least_s;
    std::vector<std::optional<Measurement>> measured(candidates.size(), Measurement{1, 0});
    measured[0] = {library.at(problem.bytes), 0};
    return measured;
  };
  make_plan(view, {Collective::broadcast}, options, measure);
  EXPECT_EQ((told.at({0, 64})), 0);
  EXPECT_EQ((told.at({0, 1024})), 0.2);
  EXPECT_EQ((told.at({0, 16384})), 0.2);
  // The greatest gain first, so more bytes may come before fewer: of those nothing is known.
  EXPECT_EQ(told.size(), 6u);
  for (const auto& [cell, least_s] : told) EXPECT_LE(least_s, 0.2) << "of its own root alone";
}

TEST(Planner, KeepsThatTheLibraryWasNotRun) {
  const net::GroupView view = view_of("hosts=2+2 uplink_mbit=40");
  PlannerOptions options;
  options.sizes = {1024};
  const auto planned_where = [&](const Measurement& library) {
    const Measure measure = [&](const CommonProblem&, const auto& candidates, const Beforehand&) {
      std::vector<std::optional<Measurement>> measured(candidates.size(), Measurement{1, 0});
      measured[0] = library;
      return measured;
    };
    return make_plan(view, {Collective::allreduce}, options, measure).entries.at(0).rows.at(0);
  };
  const Row spared = planned_where({.median_s = 3, .is_least = true});
  EXPECT_TRUE(spared.native_is_least);
  EXPECT_TRUE(spared.reason.starts_with("measured at least 3.00x")) << spared.reason;
  EXPECT_FALSE(planned_where({.median_s = 3}).native_is_least);
}

TEST(Planner, ServesWhereEcoIsMeasurablyFaster) {
  const net::GroupView view = view_of("hosts=2+2 uplink_mbit=40");
  PlannerOptions options;
  options.sizes = {64, 1024, 16384};
  Bench bench;
  const PlanTable table = make_plan(view, {Collective::broadcast}, options, bench.measure());
  ASSERT_EQ(table.entries.size(), 2u) << "one entry for each root class";
  EXPECT_EQ(bench.calls, 6);
  for (const Entry& entry : table.entries) {
    EXPECT_EQ(entry.rows.back().up_to_bytes, 16384u);
    for (const std::size_t bytes : {1u, 64u, 65u, 1000u, 16384u}) {
      EXPECT_NE(table.lookup(Collective::broadcast, entry.root_subnet, bytes), nullptr) << bytes;
    }
    EXPECT_EQ(table.lookup(Collective::broadcast, entry.root_subnet, 16385), nullptr);
    EXPECT_EQ(entry.rows.front().native_s, 1);
    EXPECT_NEAR(entry.rows.front().measured_s, 0.11, 1e-12);
    EXPECT_GT(entry.rows.front().predicted_s, 0);
  }
  EXPECT_EQ(table.network, view.network->fingerprint());
  EXPECT_EQ(table.host_of_rank, view.host_of_rank);
  EXPECT_EQ(PlanTable::from_json(table.to_json()).to_json(), table.to_json());
}

TEST(Planner, StaysNativeWithinTheSpreadAndBelowTheGain) {
  const net::GroupView view = view_of("hosts=2+2 uplink_mbit=40");
  PlannerOptions options;
  options.sizes = {64, 1024};
  Bench bench;
  bench.native_s = 0.114;  // 3.6 % above ECO's 0.11
  EXPECT_TRUE(make_plan(view, {Collective::broadcast}, options, bench.measure()).is_all_native());
  bench.native_s = 0.13;
  EXPECT_FALSE(make_plan(view, {Collective::broadcast}, options, bench.measure()).is_all_native());
  bench.spread_s = 0.011;  // 0.11 + 0.011 against 0.13 - 0.011
  EXPECT_TRUE(make_plan(view, {Collective::broadcast}, options, bench.measure()).is_all_native());
}

TEST(Planner, StaysNativeWhereARecipeIsFasterInTheFirstLookAlone) {
  const net::GroupView view = view_of("hosts=2+2 uplink_mbit=40");
  PlannerOptions options;
  options.sizes = {64};
  const auto row_where = [&](bool lags, bool in_a_row = true) {
    const Measure measure = [&](const CommonProblem&, const std::vector<const algo::Recipe*>& recipes,
                                const Beforehand&) {
      std::vector<std::optional<Measurement>> measured(
          recipes.size(), Measurement{.median_s = 1, .in_a_row = in_a_row, .lags = lags});
      measured[0] = Measurement{.median_s = 2, .in_a_row = in_a_row};
      return measured;
    };
    return make_plan(view, {Collective::allreduce}, options, measure).entries[0].rows[0];
  };
  EXPECT_TRUE(row_where(false).recipe);
  EXPECT_TRUE(row_where(false).in_a_row);
  EXPECT_FALSE(row_where(true).recipe);
  EXPECT_EQ(row_where(true).reason, "measured 2.00x, but not from a common start: native");
  EXPECT_EQ(row_where(true, false).reason, "measured 2.00x, but not again: native");
}

// Of two that are equally fast the lighter one serves, but not at the price of serving at all.
TEST(Planner, PrefersTheLighterOnlyOfThoseThatWin) {
  const net::GroupView view = view_of(kThreeSubnets);
  PlannerOptions options;
  options.sizes = {8};
  double native_s = 0;
  std::string lighter;
  std::string faster;
  // The lightest and the heaviest of the shortlist, which is 4 % faster; the others were not measured.
  const Measure measure = [&](const CommonProblem& problem, const std::vector<const algo::Recipe*>& recipes,
                              const Beforehand&) {
    const auto less = [&](const algo::Recipe* a, const algo::Recipe* b) {
      const Forecast one = forecast(*a, problem, view);
      const Forecast other = forecast(*b, problem, view);
      return std::pair(one.n_crossings, one.n_messages) < std::pair(other.n_crossings, other.n_messages);
    };
    const auto [lightest, heaviest] = std::minmax_element(recipes.begin() + 1, recipes.end(), less);
    std::vector<std::optional<Measurement>> measured(recipes.size());
    measured[0] = {native_s, 0};
    measured[static_cast<std::size_t>(heaviest - recipes.begin())] = {0.100, 0};
    measured[static_cast<std::size_t>(lightest - recipes.begin())] = {0.104, 0};
    if (problem.root == 0) {
      lighter = (*lightest)->text();
      faster = (*heaviest)->text();
    }
    return measured;
  };
  const auto served = [&] {
    const PlanTable table = make_plan(view, {Collective::broadcast}, options, measure);
    const algo::Recipe* recipe = table.lookup(Collective::broadcast, 0, 8);
    return recipe != nullptr ? recipe->text() : "native";
  };
  native_s = 0.2;
  EXPECT_EQ(served(), lighter) << "both win";
  EXPECT_NE(lighter, faster);
  native_s = 0.107;  // 7 % above the faster, 3 % above the lighter
  EXPECT_EQ(served(), faster) << "the one that wins";
  native_s = 0.104;
  EXPECT_EQ(served(), "native");
}

TEST(Planner, WhatIsUnsampledStaysNative) {
  const net::GroupView view = view_of("hosts=2+2 uplink_mbit=40");
  PlannerOptions options;
  options.sizes = {64, 1024, 16384};
  Bench bench;
  bench.unsampled = {1024};
  const PlanTable table = make_plan(view, {Collective::allreduce}, options, bench.measure());
  const auto serves = [&](std::size_t bytes) {
    return table.lookup(Collective::allreduce, 0, bytes) != nullptr;
  };
  EXPECT_TRUE(serves(64));
  EXPECT_FALSE(serves(65));
  EXPECT_FALSE(serves(1024));
  EXPECT_FALSE(serves(1025)) << "won at one end only";
  EXPECT_FALSE(serves(16383));
  EXPECT_TRUE(serves(16384)) << "the measured size itself";
  EXPECT_NE(table.find_row(Collective::allreduce, 0, 1024)->reason.find("not sampled"), std::string::npos);

  options.most_native_s = 1e-9;
  Bench never_asked;
  EXPECT_TRUE(make_plan(view, {Collective::allreduce}, options, never_asked.measure()).is_all_native());
  EXPECT_EQ(never_asked.calls, 0);
}

TEST(Planner, PlansEveryCollectiveAtWholeSizes) {
  const net::GroupView view = view_of("hosts=3+2 uplink_mbit=40");
  PlannerOptions options;
  options.sizes = {8, 1000};
  Bench bench;
  const PlanTable table = make_plan(view, coll::all_collectives(), options, bench.measure());
  for (const Collective collective : coll::all_collectives()) {
    EXPECT_TRUE(table.knows(collective)) << coll::name(collective);
    const int n_classes = coll::is_rooted(collective) ? 2 : 1;
    for (int subnet = 0; subnet < n_classes; ++subnet) {
      ASSERT_NE(table.find_entry(collective, subnet), nullptr) << coll::name(collective);
      for (const Row& row : table.find_entry(collective, subnet)->rows) {
        if (row.native_s <= 0) continue;
        EXPECT_TRUE(row.recipe) << coll::name(collective) << " of " << row.up_to_bytes;
        const bool is_asked = row.up_to_bytes == 8 || row.up_to_bytes == 1000;
        EXPECT_EQ(is_asked, collective != Collective::barrier) << coll::name(collective);
      }
    }
    EXPECT_EQ(table.find_entry(collective, 1) != nullptr, coll::is_rooted(collective));
  }
  EXPECT_EQ(planned_problem(Collective::reduce_scatter, 0, 8, view).bytes, 5u)
      << "a byte for each rank: eight are less than five doubles";
  EXPECT_EQ(planned_problem(Collective::reduce_scatter, 0, 1000, view).bytes, 1000u);
  EXPECT_EQ(planned_problem(Collective::reduce_scatter, 0, 1001, view).bytes, 1000u);
}

TEST(Planner, OperationsThatDoNotCommuteAreServedInRankOrder) {
  const net::GroupView view = net::make_view(
      std::make_shared<net::Network>(net::synthetic_network("hosts=2+2 uplink_mbit=40")), {0, 2, 1, 3});
  PlannerOptions options;
  options.sizes = {64, 16384};
  Bench bench;
  const PlanTable table = make_plan(view, {Collective::allreduce}, options, bench.measure());
  std::size_t n_in_order = 0;
  for (const Row& row : table.entries[0].rows) {
    if (!row.in_order) continue;
    ++n_in_order;
    CommonProblem problem = problem_of(Collective::allreduce, row.up_to_bytes, view);
    problem.commutative = false;
    problem.bytes = coll::whole_bytes(problem, problem.bytes);
    EXPECT_EQ(prove(*row.in_order, problem, view), std::nullopt) << row.in_order->text();
    EXPECT_EQ(table.lookup(Collective::allreduce, 0, row.up_to_bytes, false), &*row.in_order);
  }
  EXPECT_GT(n_in_order, 0u);
  EXPECT_EQ(PlanTable::from_json(table.to_json()).to_json(), table.to_json());
}

// Every other size is only held against what serves next to it, as long as that holds.
TEST(Planner, HoldsSizesOutAndSearchesWhereTheirNeighboursDoNotHold) {
  const net::GroupView view = view_of(kOneSwitch);
  PlannerOptions options;
  options.sizes = {8, 64, 256, 512, 1024};
  options.shortlist = 4;
  options.holds_out = true;
  std::vector<std::pair<std::size_t, std::size_t>> asked;  // bytes, candidates
  std::size_t odd = 0;                                     // where native is the fastest
  const Measure measure = [&](const CommonProblem& problem, const auto& candidates, const auto&) {
    asked.emplace_back(problem.bytes, candidates.size() - 1);
    std::vector<std::optional<Measurement>> measured(candidates.size(), Measurement{0.1, 0});
    measured[0] = {problem.bytes == odd ? 0.01 : 1.0, 0};
    return measured;
  };
  const PlanTable table = make_plan(view, {Collective::broadcast}, options, measure);
  ASSERT_EQ(asked.size(), 5u);
  EXPECT_EQ(asked[2].first, 1024u) << "the last is never held out";
  EXPECT_EQ(asked[0].second, 4u);
  EXPECT_EQ(asked[3].first, 64u);
  EXPECT_LE(asked[3].second, 3u) << "predicted best, and its neighbours' two";
  for (const std::size_t bytes : options.sizes) {
    ASSERT_TRUE(table.find_row(Collective::broadcast, 0, bytes)->is_measured());
  }
  asked.clear();
  odd = 512;
  make_plan(view, {Collective::broadcast}, options, measure);
  ASSERT_EQ(asked.size(), 6u);
  EXPECT_EQ(asked[4].first, 512u);
  EXPECT_EQ(asked[5], std::pair(std::size_t{512}, std::size_t{4})) << "searched for in full";
  asked.clear();
  options.effort = Effort::measure;
  options.time_is_up = [&] { return asked.size() == 5; };
  const Measure until_then = [&](const auto& problem, const auto& candidates, const auto& known) {
    return options.time_is_up() ? std::vector<std::optional<Measurement>>{}
                                : measure(problem, candidates, known);
  };
  const PlanTable part = make_plan(view, {Collective::broadcast}, options, until_then);
  EXPECT_TRUE(part.find_row(Collective::broadcast, 0, 64)->is_measured(Effort::measure));
  const Row* tried = part.find_row(Collective::broadcast, 0, 512);
  EXPECT_EQ(tried->effort, Effort::job) << "no time for its search, which is for the next time";
  EXPECT_FALSE(tried->recipe);
  EXPECT_TRUE(tried->is_measured());
}

// Of rank 0's root class every size is measured.
TEST(Planner, LeavesSizesOfOtherRootClassesToNeighboursThatWon) {
  const net::GroupView view = view_of(kTwoSites);
  PlannerOptions options;
  options.sizes = {8, 64, 256};
  options.shortlist = 2;
  options.holds_out = true;
  std::set<std::pair<int, std::size_t>> asked;  // root, bytes
  std::size_t odd = 0;                          // where native is the fastest
  const Measure measure = [&](const CommonProblem& problem, const auto& candidates, const auto&) {
    asked.emplace(problem.root, problem.bytes);
    std::vector<std::optional<Measurement>> measured(candidates.size(), Measurement{0.1, 0});
    measured[0] = {problem.bytes == odd ? 0.01 : 1.0, 0};
    return measured;
  };
  const PlanTable table = make_plan(view, {Collective::broadcast, Collective::allgather}, options, measure);
  const int other = view.subnets[1].ranks.front();
  EXPECT_TRUE(asked.contains({0, 64}));
  EXPECT_TRUE(asked.contains({other, 8}));
  EXPECT_TRUE(asked.contains({other, 256}));
  EXPECT_FALSE(asked.contains({other, 64}));
  const Row* between = table.find_row(Collective::broadcast, 1, 64);
  ASSERT_NE(between, nullptr);
  EXPECT_TRUE(between->recipe);
  EXPECT_FALSE(between->open) << "nothing is left to do there";
  asked.clear();
  odd = 256;
  make_plan(view, {Collective::broadcast}, options, measure);
  EXPECT_TRUE(asked.contains({other, 64})) << "native has won next to it";
}

TEST(Planner, BarriersHaveOneRow) {
  const net::GroupView view = view_of(kThreeSubnets);
  Bench bench;
  const PlanTable table = make_plan(view, {Collective::barrier}, {}, bench.measure());
  EXPECT_EQ(bench.calls, 1);
  ASSERT_EQ(table.entries.size(), 1u);
  ASSERT_EQ(table.entries[0].rows.size(), 1u);
  EXPECT_EQ(table.entries[0].rows[0].up_to_bytes, 0u);
  EXPECT_NE(table.lookup(Collective::barrier, 0, 0), nullptr);
}

}  // namespace
}  // namespace eco::plan
