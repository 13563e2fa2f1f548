// How many segments come ahead (Slots, patterns/combine.h). In allreduces whose subnets own segments in turn, each beginning with
// another one, more owners than that must not make ranks wait for each other's slots.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "eco/algo/testing.h"
#include "eco/sched/verify.h"

namespace eco::algo {
namespace {

using coll::Collective;
using coll::CommonProblem;

constexpr std::size_t kSegment = 48;

std::string hosts(int n_subnets, int of_each) {
  std::string text;
  for (int subnet = 0; subnet < n_subnets; ++subnet)
    text += (subnet > 0 ? "+" : "") + std::to_string(of_each);
  return text;
}

void expect_proved(int n_subnets, int of_each, std::size_t n_segments, const std::string& params,
                   std::size_t segment = kSegment) {
  const int n_ranks = n_subnets * of_each;
  const net::GroupView view = testing::scattered_view(hosts(n_subnets, of_each), n_ranks);
  const CommonProblem problem{.collective = Collective::allreduce,
                              .n_ranks = n_ranks,
                              .bytes = n_segments * segment,
                              .element_bytes = 8};
  const Recipe recipe = parse_recipe("allreduce/subnets segment=" + std::to_string(segment) + " " + params);
  const auto fault = sched::verify(problem, build_all(recipe, problem, view));
  EXPECT_FALSE(fault) << n_subnets << " subnets of " << of_each << ", " << n_segments << " segments, "
                      << params << ": " << fault->what;
}

TEST(Slots, OfManyOwnersNeverMakeRanksWaitForEachOther) {
  for (const int n_subnets : {8, 9, 11, 13, 18}) {
    const auto turn = static_cast<std::size_t>(n_subnets);
    for (const std::size_t n_segments : {turn, turn + 9, 2 * turn - 1, 2 * turn + 2, 3 * turn}) {
      for (const char* between : {"chain", "binomial"}) {
        for (const int window : {0, 1, 2})
          expect_proved(n_subnets, 1, n_segments,
                        "between=" + std::string(between) + " window=" + std::to_string(window));
      }
    }
  }
  expect_proved(12, 2, 34, "between=chain inside=chain window=2");
  expect_proved(12, 2, 34, "between=binomial inside=flat window=1");
}

// Slots for a whole turn of these would take too much memory: all take the segments in one order.
TEST(Slots, OfLongSegmentsNeitherWhereATurnHasNone) {
  for (const std::size_t n_segments : {20, 37, 47})
    for (const int window : {0, 2})
      expect_proved(20, 1, n_segments, "between=chain window=" + std::to_string(window),
                    std::size_t{64} << 10);
}

TEST(Slots, AreFewWithAWindow) {
  const net::GroupView view = testing::scattered_view("2+2", 4);
  const CommonProblem problem{
      .collective = Collective::reduce, .n_ranks = 4, .bytes = 100 * kSegment, .element_bytes = 8};
  const auto ahead = [&](const char* window) {
    const std::string recipe = "reduce/chain segment=48 window=" + std::string(window);
    std::size_t most = 0;
    for (const sched::Schedule& schedule : build_all(parse_recipe(recipe), problem, view))
      most = std::max(most, schedule.scratch_bytes / kSegment);
    return most;
  };
  EXPECT_EQ(ahead("4"), 8u) << "what one child may send before it is combined (docs/adr/0031)";
  EXPECT_EQ(ahead("0"), 100u);
}

}  // namespace
}  // namespace eco::algo
