// Plans that go on from others: what is known already, what is left open, what is lost by an interrupt.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "eco/base/errors.h"
#include "eco/plan/planner.h"
#include "eco/plan/testing.h"
#include "eco/plan/testing_bench.h"

namespace eco::plan {
namespace {

using coll::Collective;
using coll::CommonProblem;

TEST(Planner, EndsWhenTheTimeIsUpAndGoesOnLater) {
  const net::GroupView view = view_of("hosts=2+2 uplink_mbit=40");
  PlannerOptions options;
  options.sizes = {64, 1024};
  Bench bench;
  options.time_is_up = [&] { return bench.calls >= 2; };
  const PlanTable part = make_plan(view, {Collective::broadcast}, options, bench.measure());
  EXPECT_EQ(bench.calls, 2);
  EXPECT_NE(part.lookup(Collective::broadcast, 0, 1024), nullptr) << "rank 0's class comes first";
  EXPECT_EQ(part.lookup(Collective::broadcast, 1, 1024), nullptr);
  EXPECT_NE(part.find_row(Collective::broadcast, 1, 64)->reason.find("no time left"), std::string::npos);
  EXPECT_TRUE(part.find_row(Collective::broadcast, 1, 64)->open);
  EXPECT_FALSE(part.find_row(Collective::broadcast, 0, 1024)->open);

  options.time_is_up = nullptr;
  options.known = &part;
  Bench rest;
  const PlanTable whole = make_plan(view, {Collective::broadcast}, options, rest.measure());
  EXPECT_EQ(rest.calls, 2) << "only what was missing";
  EXPECT_NE(whole.lookup(Collective::broadcast, 1, 1024), nullptr);
  EXPECT_EQ(whole.find_row(Collective::broadcast, 0, 64)->native_s, 1);
  EXPECT_FALSE(whole.find_row(Collective::broadcast, 1, 64)->open);
}

TEST(Planner, LeavesOpenWhatIsForALaterPlan) {
  const net::GroupView view = view_of("hosts=2+2 uplink_mbit=40");
  const std::vector<Collective> collectives{Collective::broadcast, Collective::allreduce,
                                            Collective::barrier};
  PlannerOptions options;
  options.sizes = {100};
  options.left_open = {64, 96, 1024};
  Bench bench;
  const PlanTable part = make_plan(view, collectives, options, bench.measure());
  EXPECT_EQ(bench.calls, 4) << "broadcasts of two root classes, a reduction, a barrier";
  for (const std::size_t bytes : {64u, 96u, 1024u}) {
    const Row* row = part.find_row(Collective::broadcast, 0, bytes);
    ASSERT_NE(row, nullptr);
    EXPECT_EQ(row->up_to_bytes, bytes);
    EXPECT_TRUE(row->open) << bytes;
    EXPECT_EQ(row->recipe.has_value(), bytes < 100) << "smaller ones as the smallest measured: " << bytes;
  }
  EXPECT_FALSE(part.find_row(Collective::broadcast, 0, 100)->open);
  EXPECT_FALSE(part.find_row(Collective::allreduce, 0, 96)->open)
      << "what 100 bytes hold of doubles was asked for";
  EXPECT_FALSE(part.find_row(Collective::barrier, 0, 0)->open);

  options.sizes = {64, 96, 1024};
  options.left_open = {100};
  options.known = &part;
  Bench rest;
  const PlanTable whole = make_plan(view, collectives, options, rest.measure());
  EXPECT_EQ(rest.calls, 2 * 3 + 2) << "only what was open";
  EXPECT_NE(whole.lookup(Collective::broadcast, 0, 100), nullptr) << "known, though not asked for now";
}

// A job that has found the library best for small calls, and then calls larger ones, is served from the next open size on.
TEST(Planner, WhatTheLibraryWonBelowAnOpenSizeSaysNothingOfCallsAboveIt) {
  const net::GroupView view = view_of("hosts=2+2 uplink_mbit=40");
  PlannerOptions options;
  options.sizes = {64};
  options.left_open = {64, 1024, 4096};
  options.serves_open = false;
  Bench slow;
  slow.native_s = 0.01;
  const PlanTable small = make_plan(view, {Collective::broadcast}, options, slow.measure());
  EXPECT_EQ(small.lookup(Collective::broadcast, 0, 64), nullptr);
  options.known = &small;
  options.sizes = {4096};
  Bench fast;
  const PlanTable table = make_plan(view, {Collective::broadcast}, options, fast.measure());
  EXPECT_NE(table.lookup(Collective::broadcast, 0, 4096), nullptr);
  EXPECT_NE(table.lookup(Collective::broadcast, 0, 1025), nullptr) << "planned at 4096 bytes";
  EXPECT_TRUE(table.find_row(Collective::broadcast, 0, 1024)->open);
  EXPECT_EQ(table.lookup(Collective::broadcast, 0, 65), nullptr) << "the library serves what is open";
}

// Of what was tuned at a few sizes jobs fill the rest: what a job has no time for is served as its neighbours are.
TEST(Planner, WhatIsOpenBetweenTwoSizesThatEcoWonIsServedByAGuess) {
  const net::GroupView view = view_of("hosts=2+2 uplink_mbit=40");
  PlannerOptions options;
  options.sizes = {8, 4096};
  options.left_open = {64, 1024, 8192};
  Bench tuning;
  const PlanTable tuned = make_plan(view, {Collective::broadcast}, options, tuning.measure());
  options.known = &tuned;
  options.sizes = {1024};
  options.left_open = {64, 8192};
  options.serves_open = false;
  Bench bench;
  bench.unsampled = {1024};
  const PlanTable table = make_plan(view, {Collective::broadcast}, options, bench.measure());
  const auto is_served = [&](std::size_t bytes) {
    return table.lookup(Collective::broadcast, 0, bytes) != nullptr;
  };
  for (const std::size_t bytes : {8u, 64u, 1025u, 4096u}) EXPECT_TRUE(is_served(bytes)) << bytes;
  EXPECT_TRUE(table.find_row(Collective::broadcast, 0, 64)->open);
  EXPECT_TRUE(table.find_row(Collective::broadcast, 0, 1024)->open);
  EXPECT_FALSE(is_served(8192)) << "above all that was measured";
}

// There was no time for the size below, which was asked for.
TEST(Planner, WhatIsOpenSaysNothingOfSizesAboveIt) {
  const net::GroupView view = view_of("hosts=2+2 uplink_mbit=40");
  PlannerOptions options;
  options.sizes = {8, 1024, 4096};
  options.serves_open = false;
  Bench bench;
  bench.unsampled = {1024};
  const PlanTable table = make_plan(view, {Collective::broadcast}, options, bench.measure());
  EXPECT_TRUE(table.find_row(Collective::broadcast, 0, 1024)->open);
  EXPECT_NE(table.lookup(Collective::broadcast, 0, 8), nullptr);
  EXPECT_NE(table.lookup(Collective::broadcast, 0, 9), nullptr) << "between 8 and 4096 bytes, a guess";
  EXPECT_TRUE(table.find_row(Collective::broadcast, 0, 9)->open) << "to be measured";
  EXPECT_NE(table.lookup(Collective::broadcast, 0, 1025), nullptr) << "planned at 4096 bytes";
}

// Whatever ends it: the last table that was kept has all that was measured, and a later plan goes on from there.
TEST(Planner, KeepsWhatWasMeasuredAfterEveryProblem) {
  const net::GroupView view = view_of("hosts=2+2 uplink_mbit=40");
  PlannerOptions options;
  options.sizes = {64, 1024, 16384};
  options.effort = Effort::measure;
  std::optional<PlanTable> kept;
  options.keep = [&](const PlanTable& table) { kept = PlanTable::from_json(table.to_json()); };
  Bench bench;
  const Measure until_killed = [&, measure = bench.measure()](const auto& problem, const auto& candidates,
                                                              const auto& known) {
    if (bench.calls == 2) throw Error("killed");
    return measure(problem, candidates, known);
  };
  EXPECT_THROW(make_plan(view, {Collective::allreduce}, options, until_killed), Error);
  ASSERT_TRUE(kept);
  EXPECT_TRUE(kept->find_row(Collective::allreduce, 0, 1024)->is_measured(Effort::measure));
  EXPECT_NE(kept->lookup(Collective::allreduce, 0, 1024), nullptr);
  EXPECT_TRUE(kept->find_row(Collective::allreduce, 0, 16384)->open);
  EXPECT_EQ(kept->lookup(Collective::allreduce, 0, 16384), nullptr);

  const PlanTable known = *kept;
  options.known = &known;
  Bench rest;
  const PlanTable whole = make_plan(view, {Collective::allreduce}, options, rest.measure());
  EXPECT_EQ(rest.calls, 1);
  EXPECT_EQ(kept->to_json(), whole.to_json()) << "the last one is the whole plan";
}

TEST(Planner, MeasuresAgainWhatWasMeasuredWithLessEffort) {
  const net::GroupView view = view_of("hosts=2+2 uplink_mbit=40");
  PlannerOptions options;
  options.sizes = {64, 1024};
  Bench job;
  const PlanTable of_job = make_plan(view, {Collective::allreduce}, options, job.measure());
  options.known = &of_job;
  options.effort = Effort::measure;
  Bench none;
  options.time_is_up = [&] { return none.calls >= 1; };
  none.native_s = 2;
  const PlanTable part = make_plan(view, {Collective::allreduce}, options, none.measure());
  EXPECT_EQ(part.find_row(Collective::allreduce, 0, 64)->native_s, 2);
  const Row* kept = part.find_row(Collective::allreduce, 0, 1024);
  EXPECT_EQ(kept->native_s, 1) << "what there is no time for stays as it was";
  EXPECT_EQ(kept->effort, Effort::job);
  EXPECT_FALSE(kept->open);

  options.time_is_up = nullptr;
  options.known = &part;
  Bench rest;
  const PlanTable whole = make_plan(view, {Collective::allreduce}, options, rest.measure());
  EXPECT_EQ(rest.calls, 1);
  options.known = &whole;
  options.anew = true;
  Bench anew;
  make_plan(view, {Collective::allreduce}, options, anew.measure());
  EXPECT_EQ(anew.calls, 2);
}

// A search may not look at what less effort has found.
TEST(Planner, HoldsWhatServedSoFarAgainstWhatItFinds) {
  const net::GroupView view = view_of(kOneSwitch);
  PlannerOptions options;
  options.sizes = {1024};
  options.shortlist = 1;
  const algo::Recipe so_far = algo::parse_recipe("broadcast/chain segment=512");
  PlanTable known;
  known.entries.push_back({Collective::broadcast, 0, {{1024, so_far, 0.3, 0.2, 1, "measured 5.00x"}}});
  known.entries[0].rows[0].effort = Effort::job;
  options.known = &known;
  options.effort = Effort::measure;
  const Measure measure = [&](const CommonProblem&, const auto& candidates, const Beforehand& beforehand) {
    std::vector<std::optional<Measurement>> measured{Measurement{1, 0}};
    for (std::size_t i = 1; i < candidates.size(); ++i) {
      measured.push_back(Measurement{*candidates[i] == so_far ? 0.1 : 0.2, 0});
      EXPECT_EQ(beforehand.predicted_s[i] == 0, *candidates[i] == so_far) << "whatever the others show";
    }
    return measured;
  };
  const PlanTable table = make_plan(view, {Collective::broadcast}, options, measure);
  const Row* row = table.find_row(Collective::broadcast, 0, 1024);
  ASSERT_TRUE(row->recipe);
  EXPECT_EQ(*row->recipe, so_far);
  EXPECT_EQ(row->effort, Effort::measure);
}

// Another group's recipe is a candidate, no more: it is proved and measured, and says where it came from.
TEST(Planner, StartsFromABorrowedTable) {
  const net::GroupView view = view_of(kOneSwitch);
  PlannerOptions options;
  options.sizes = {1024};
  options.shortlist = 1;
  PlanTable other;
  other.entries.push_back({Collective::broadcast, 0, {{4096, std::nullopt, 0, 0, 0, "elsewhere"}}});
  options.borrowed = &other;
  bool second_wins = true;  // the borrowed one
  std::size_t n_candidates = 0;
  const Measure measure = [&](const CommonProblem&, const auto& candidates, const auto&) {
    n_candidates = candidates.size() - 1;
    std::vector<std::optional<Measurement>> measured{Measurement{1, 0}};
    for (std::size_t i = 1; i < candidates.size(); ++i)
      measured.push_back(Measurement{(i == 1) != second_wins ? 0.1 : 0.2, 0});
    return measured;
  };
  const auto row = [&](const char* borrowed) {
    other.entries[0].rows[0].recipe = algo::parse_recipe(borrowed);
    const PlanTable table = make_plan(view, {Collective::broadcast}, options, measure);
    return *table.find_row(Collective::broadcast, 0, 1024);
  };
  EXPECT_EQ(row("broadcast/chain").recipe->text(), algo::parse_recipe("broadcast/chain").text());
  EXPECT_NE(row("broadcast/chain").reason.find("borrowed"), std::string::npos);
  EXPECT_EQ(n_candidates, 2u);
  second_wins = false;
  EXPECT_EQ(row("broadcast/chain").reason.find("borrowed"), std::string::npos) << "the predicted best";
  row("broadcast/subnets segment=512 between=chain inside=chain order=2,1,0");
  EXPECT_EQ(n_candidates, 1u) << "there are no three subnets here";
}

}  // namespace
}  // namespace eco::plan
