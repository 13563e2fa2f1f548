#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "eco/plan/planner.h"
#include "eco/plan/testing.h"

namespace eco::plan {
namespace {

using coll::Collective;

// Which recipe serves which sizes, one line per row: what a change of predictor or candidates changes is seen here.
std::string choices(const PlanTable& table) {
  std::string text = "\n";
  for (const Entry& entry : table.entries) {
    text += std::string(coll::name(entry.collective)) + " " + std::to_string(entry.root_subnet) + "\n";
    for (const Row& row : entry.rows) {
      text +=
          "  " + std::to_string(row.up_to_bytes) + ": " + (row.recipe ? row.recipe->text() : "native") + "\n";
    }
  }
  return text;
}

PlanTable estimate(const char* description, const std::vector<Collective>& collectives,
                   const std::vector<std::size_t>& sizes) {
  PlannerOptions options;
  options.sizes = sizes;
  options.forecast.most_operations = 6'000;
  return make_plan(view_of(description), collectives, options, nullptr);
}

TEST(Choices, OfThreeSubnets) {
  EXPECT_EQ(
      choices(estimate(kThreeSubnets, {Collective::broadcast, Collective::allreduce, Collective::barrier},
                       {8, 16384, 1048576})),
      R"(
broadcast 0
  8: broadcast/subnets segment=0 head=0 window=0 between=flat inside=binomial order=0,1,2
  16383: broadcast/subnets segment=0 head=0 window=0 between=flat inside=binomial order=0,1,2
  16384: broadcast/subnets segment=720 head=0 tail=1 window=0 between=flat inside=chain order=0,2,1 owners=2,1
  1048575: broadcast/subnets segment=720 head=0 tail=1 window=0 between=flat inside=chain order=0,2,1 owners=2,1
  1048576: broadcast/subnets segment=2832 head=0 window=4 between=chain inside=chain order=0,1,2
allreduce 0
  8: allreduce/allgather+combine segment=0 head=0 window=0 between=chain inside=chain parts=allgather/flat
  16384: allreduce/subnets segment=720 head=0 window=0 between=chain inside=flat
  1048576: allreduce/subnets segment=5728 head=0 window=2 between=flat inside=flat
barrier 0
  0: barrier/leaders segment=0 head=0 window=0 between=chain inside=binomial
broadcast 1
  8: broadcast/subnets segment=0 head=0 window=0 between=flat inside=binomial order=1,0,2
  16383: broadcast/subnets segment=0 head=0 window=0 between=flat inside=binomial order=1,0,2
  16384: broadcast/subnets segment=720 head=0 tail=1 window=0 between=flat inside=chain order=1,2,0 owners=2,0
  1048575: broadcast/subnets segment=720 head=0 tail=1 window=0 between=flat inside=chain order=1,2,0 owners=2,0
  1048576: broadcast/subnets segment=2832 head=0 window=4 between=chain inside=chain order=1,0,2
broadcast 2
  8: broadcast/flat segment=0 head=0 window=0 between=flat inside=flat
  16384: broadcast/subnets segment=720 head=0 tail=1 window=0 between=flat inside=flat order=2,0,1 owners=0,1
  1048575: broadcast/subnets segment=720 head=0 tail=1 window=0 between=flat inside=flat order=2,0,1 owners=0,1
  1048576: broadcast/subnets segment=2832 head=0 window=4 between=chain inside=flat order=2,0,1
)");
}

TEST(Choices, OfEco1995) {
  EXPECT_EQ(choices(estimate(kEco1995, {Collective::broadcast}, {16000})), R"(
broadcast 0
  16000: broadcast/subnets segment=720 head=2 window=0 between=chain inside=flat order=0,2,1
broadcast 1
  16000: broadcast/subnets segment=720 head=2 window=0 between=chain inside=flat order=1,2,0
broadcast 2
  16000: broadcast/subnets segment=976 head=0 window=0 between=flat inside=chain order=2,0,1
)");
}

TEST(Choices, OfOneSwitch) {
  EXPECT_EQ(
      choices(estimate(kOneSwitch, {Collective::broadcast, Collective::allreduce}, {8, 16384, 1048576})),
      R"(
broadcast 0
  8: broadcast/subnets segment=0 head=0 window=0 between=chain inside=flat
  16383: broadcast/subnets segment=0 head=0 window=0 between=chain inside=flat
  16384: broadcast/subnets segment=720 head=0 window=0 between=chain inside=chain
  1048575: broadcast/subnets segment=720 head=0 window=0 between=chain inside=chain
  1048576: broadcast/two_tree segment=5728 head=0 window=0 between=chain inside=chain
allreduce 0
  8: allreduce/allgather+combine segment=0 head=0 window=0 between=chain inside=chain parts=allgather/flat
  16383: allreduce/allgather+combine segment=0 head=0 window=0 between=chain inside=chain parts=allgather/flat
  16384: allreduce/ring segment=720 head=0 window=0 between=chain inside=chain
  1048575: allreduce/ring segment=720 head=0 window=0 between=chain inside=chain
  1048576: allreduce/ring segment=15872 head=0 window=2 between=chain inside=chain
)");
}

}  // namespace
}  // namespace eco::plan
