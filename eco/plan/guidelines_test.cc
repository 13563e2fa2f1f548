#include "eco/plan/guidelines.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "eco/plan/planner.h"
#include "eco/plan/proving.h"
#include "eco/plan/testing.h"

namespace eco::plan {
namespace {

using coll::Collective;

struct Group {
  net::GroupView view = view_of(kThreeSubnets);
  std::vector<Served> served;

  void add(Collective collective, std::size_t bytes, double seconds, const std::string& recipe = "",
           int root = 0) {
    served.push_back({problem_of(collective, bytes, view, root), seconds, std::nullopt});
    if (!recipe.empty()) served.back().recipe = algo::parse_recipe(recipe);
  }
  std::vector<std::string> broken() const {
    std::vector<std::string> texts;
    for (const Violation& violation : violations(served)) texts.push_back(violation.text());
    return texts;
  }
};

TEST(Guidelines, SayWhatTakesLongerThanOthersThatDoItsWork) {
  Group group;
  group.add(Collective::allreduce, 1024, 0.010);
  group.add(Collective::reduce, 1024, 0.004);
  EXPECT_TRUE(group.broken().empty()) << "nothing is known of broadcasts";
  group.add(Collective::broadcast, 1024, 0.006);
  EXPECT_TRUE(group.broken().empty());
  group.served.back().seconds = 0.005;
  EXPECT_EQ(group.broken(), std::vector<std::string>{"allreduce <= reduce + broadcast"});
  group.served.back().seconds = 0.0056;
  EXPECT_TRUE(group.broken().empty()) << "4 % are within what medians differ by";
}

TEST(Guidelines, CompareTheSameBytesAndRoot) {
  Group group;
  group.add(Collective::scatter, 1024, 0.010, "", 5);
  group.add(Collective::broadcast, 1024, 0.004);
  EXPECT_TRUE(group.broken().empty()) << "another root";
  group.add(Collective::broadcast, 2048, 0.004, "", 5);
  EXPECT_TRUE(group.broken().empty()) << "more bytes";
  group.add(Collective::broadcast, 1024, 0.004, "", 5);
  EXPECT_EQ(group.broken(), std::vector<std::string>{"scatter <= broadcast"});
}

TEST(Guidelines, CompareWhatWasTimedAlike) {
  Group group;
  group.add(Collective::gather, 8, 0.010);
  group.add(Collective::allgather, 8, 0.004);
  group.add(Collective::gather, 64, 0.004);
  group.served[1].in_a_row = group.served[2].in_a_row = true;
  EXPECT_TRUE(group.broken().empty());
  group.served[0].in_a_row = true;
  EXPECT_EQ(group.broken().size(), 2U);
}

TEST(Guidelines, FewerBytesTakeNoLonger) {
  Group group;
  group.add(Collective::alltoall, 1024, 0.010);
  group.add(Collective::alltoall, 8192, 0.008);
  group.add(Collective::alltoall, 65536, 0.001);
  const std::vector<Violation> broken = violations(group.served);
  ASSERT_EQ(broken.size(), 2u);
  EXPECT_EQ(broken[0].text(), kMonotone);
  EXPECT_EQ(broken[0].does_too, std::vector<std::size_t>{1}) << "the next one";
}

TEST(Guidelines, AreOfTheSameBytesInEveryCollective) {
  // A side that moved fewer bytes than the other would be no bound: every rank ends with as much, or sends as much.
  const net::GroupView view = view_of(kThreeSubnets);
  for (const Guideline& rule : guidelines()) {
    const auto bytes = problem_of(rule.left, 4096, view).bytes;
    for (const Collective part : rule.right)
      EXPECT_EQ(problem_of(part, 4096, view).bytes, bytes) << text(rule);
    EXPECT_EQ(std::find(rule.right.begin(), rule.right.end(), rule.left), rule.right.end()) << text(rule);
  }
}

TEST(Guidelines, AreMendedByComposingWhatServesTheParts) {
  Group group;
  group.add(Collective::allreduce, 65536, 0.100);
  group.add(Collective::reduce, 65536, 0.020, "reduce/chain segment=4096");
  group.add(Collective::broadcast, 65536, 0.020);  // the library's
  const std::vector<Violation> broken = violations(group.served);
  ASSERT_EQ(broken.size(), 1u);
  const auto mended = repairs(broken[0], group.served, group.view, {}, 2);
  ASSERT_FALSE(mended.empty());
  for (const Candidate& candidate : mended) {
    EXPECT_EQ(candidate.recipe.algorithm, "allreduce/reduce+broadcast");
    const std::vector<std::string> parts{"reduce/chain", "broadcast/binomial"};
    EXPECT_EQ(candidate.recipe.params.parts, parts) << "a binomial tree is most like the library's";
    EXPECT_FALSE(prove(candidate.recipe, group.served[0].problem, group.view));
  }
}

TEST(Guidelines, AreMendedByWhatServesMoreBytes) {
  Group group;
  group.add(Collective::alltoall, 1024, 0.010);
  group.add(Collective::alltoall, 8192, 0.008, "alltoall/bruck");
  auto mended = repairs(violations(group.served).at(0), group.served, group.view, {}, 2);
  ASSERT_EQ(mended.size(), 1u);
  EXPECT_EQ(mended[0].recipe.algorithm, "alltoall/bruck");
  group.served.back().recipe.reset();
  EXPECT_TRUE(repairs(violations(group.served).at(0), group.served, group.view, {}, 2).empty())
      << "the library alone can do it";
}

// A planner whose allreduce is slow whatever is tried, unless it is composed of a reduce and a broadcast.
TEST(Guidelines, ArePutRightByThePlanner) {
  const net::GroupView view = view_of(kThreeSubnets);
  PlannerOptions options;
  options.sizes = {65536};
  options.shortlist = 1;
  options.mends = true;
  const Measure measure = [](const coll::CommonProblem& problem, const auto& candidates, const auto&) {
    std::vector<std::optional<Measurement>> measured;
    for (const algo::Recipe* recipe : candidates) {
      const bool is_whole = problem.collective == Collective::allreduce;
      double seconds = is_whole ? 0.1 : 0.02;
      if (recipe != nullptr && recipe->algorithm == "allreduce/reduce+broadcast") seconds = 0.05;
      measured.push_back(Measurement{seconds, 0});
    }
    return measured;
  };
  const std::vector<Collective> all{Collective::allreduce, Collective::reduce, Collective::broadcast};
  const auto serves = [&] {
    const PlanTable table = make_plan(view, all, options, measure);
    const Row* row = table.find_row(Collective::allreduce, 0, 65536);
    return row->recipe ? row->recipe->algorithm + " " + row->reason : "native";
  };
  EXPECT_NE(serves().find("allreduce/reduce+broadcast measured 2.00x; mended: allreduce <="),
            std::string::npos)
      << serves();
  options.mends = false;
  EXPECT_EQ(serves(), "native");

  options.effort = Effort::exhaustive;
  const PlanTable known = make_plan(view, all, options, measure);
  options.known = &known;
  options.effort = Effort::measure;
  options.mends = true;
  EXPECT_NE(serves().find("mended"), std::string::npos) << "and is not measured again for having been";
  const PlanTable mended = make_plan(view, all, options, measure);
  EXPECT_EQ(mended.find_row(Collective::allreduce, 0, 65536)->effort, Effort::exhaustive);
}

// A composition that is as fast as predicted spares others their run, but not what serves.
TEST(Guidelines, WhatServesIsMeasuredBesideWhatMendsIt) {
  const net::GroupView view = view_of(kThreeSubnets);
  PlannerOptions options;
  options.sizes = {65536};
  options.shortlist = 1;
  options.mends = true;
  std::vector<double> predicted;  // of the last trial of an allreduce
  const Measure measure = [&](const coll::CommonProblem& problem, const auto& candidates,
                              const Beforehand& known) {
    const bool is_whole = problem.collective == Collective::allreduce;
    if (is_whole) predicted = known.predicted_s;
    std::vector<std::optional<Measurement>> measured(candidates.size(),
                                                     Measurement{is_whole ? 0.1 : 0.02, 0});
    measured[0] = Measurement{0.3, 0};
    return measured;
  };
  const PlanTable table =
      make_plan(view, {Collective::allreduce, Collective::reduce, Collective::broadcast}, options, measure);
  ASSERT_TRUE(table.find_row(Collective::allreduce, 0, 65536)->recipe);
  ASSERT_GT(predicted.size(), 2U) << "a composition was tried";
  for (std::size_t i = 0; i < predicted.size(); ++i) EXPECT_EQ(predicted[i] == 0, i + 1 == predicted.size());
}

}  // namespace
}  // namespace eco::plan
