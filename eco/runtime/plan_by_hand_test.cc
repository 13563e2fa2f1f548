#include "eco/runtime/plan_by_hand.h"

#include <gtest/gtest.h>

#include <atomic>

#include "eco/runtime/testing.h"

namespace eco::runtime {
namespace {

using coll::Collective;
using coll::CommonProblem;
using testing::arm_group;
using testing::broadcast_of;
using testing::Directory;
using testing::expect_all;
using testing::Group;
using testing::plan_text;
using testing::run_broadcast;
using testing::small_group;
using testing::with_network;
using transport::Status;

TEST(PlanByHand, TakesAPlanGivenByHandAfterProvingIt) {
  const Directory directory;
  Options options = with_network(directory);
  const std::string recipe =
      algo::parse_recipe("broadcast/subnets segment=100 between=chain inside=flat order=1,0").text();
  options.plan_file = directory.write("plan.json", plan_text(recipe, 0, {0, 1, 2, 3}));
  std::atomic<std::uint64_t> crossing_messages{0};
  std::atomic<std::uint64_t> crossing_bytes{0};
  const auto good = arm_group(small_group(), options, [&](transport::Transport& transport, ArmResult& armed) {
    ASSERT_TRUE(armed.communicator) << armed.reason;
    EXPECT_EQ(armed.seconds_measuring, 0);
    const CommonProblem problem = broadcast_of(999, 1);
    const algo::Recipe* served = armed.communicator->serves(problem);
    ASSERT_NE(served, nullptr);
    EXPECT_EQ(served->text(), recipe);
    EXPECT_EQ(armed.communicator->serves(broadcast_of(999, 2)), nullptr) << "root in another subnet";
    bool right = false;
    EXPECT_EQ(run_broadcast(*armed.communicator, transport.rank(), problem, *served, right), Status::ok);
    EXPECT_TRUE(right);
    crossing_messages += armed.communicator->last_crossing().messages;
    crossing_bytes += armed.communicator->last_crossing().bytes;
  });
  expect_all(good, "armed");
  EXPECT_EQ(crossing_messages, 10u) << "each segment once from the root's subnet to the other";
  EXPECT_EQ(crossing_bytes, 999u);

  options.plan_file = directory.write("ranks.json", plan_text(recipe, 0, {0, 1}));
  expect_all(arm_group(small_group(), options), "is for 2 ranks");
  options.plan_file = directory.write("subnet.json", plan_text(recipe, 2, {0, 1, 2, 3}));
  expect_all(arm_group(small_group(), options), "subnet 2");
  options.plan_file = directory.write("order.json", plan_text(recipe + ",2", 0, {0, 1, 2, 3}));
  expect_all(arm_group(small_group(), options), "order");
  options.plan_file = directory.file("none.json");
  expect_all(arm_group(small_group(), options), "none.json");
  options.plan_file = directory.write("half.json", plan_text(recipe, 0, {0, 1, 2, 3}).substr(0, 100));
  expect_all(arm_group(small_group(), options), "half.json");
}

TEST(PlanByHand, TakesOfSeveralPlansTheOneForItsHosts) {
  const Directory directory;
  Options options = with_network(directory);
  const auto file = [&](const char* name, const char* recipe, const std::vector<int>& hosts) {
    return directory.write(name, plan_text(algo::parse_recipe(recipe).text(), 0, hosts));
  };
  const std::string two = file("two.json", "broadcast/chain", {0, 1});
  const std::string four = file("four.json", "broadcast/binomial", {0, 0, 0, 0});
  const std::string these = file("these.json", "broadcast/flat", {0, 1, 2, 3});
  const auto serves = [&](const std::string& files, const std::string& algorithm) {
    options.plan_file = files;
    const auto good = arm_group(small_group(), options, [&](transport::Transport&, ArmResult& armed) {
      ASSERT_TRUE(armed.communicator) << armed.reason;
      const algo::Recipe* served = armed.communicator->serves(broadcast_of(999, 1));
      ASSERT_NE(served, nullptr);
      EXPECT_EQ(served->algorithm, algorithm);
    });
    expect_all(good, "armed");
  };
  serves(two + ":" + four + ":" + these, "broadcast/flat");
  serves(two + ":" + four, "broadcast/binomial");
  options.plan_file = two + ":" + two;
  expect_all(arm_group(small_group(), options), "is for 2 ranks");
}

TEST(PlanByHand, RefusesRowsByHandThatWouldBeProvedForMinutes) {
  const Directory directory;
  Options options = with_network(directory);
  const std::string parts = " between=chain inside=flat order=0,1";
  const auto expect_refused = [&](const std::string& segment, std::size_t bytes, const std::string& says) {
    options.plan_file = directory.write(
        "plan.json", plan_text("broadcast/subnets " + segment + parts, 0, {0, 1, 2, 3}, bytes));
    expect_all(arm_group(small_group(), options), says);
  };
  constexpr std::size_t kGiB = std::size_t{1} << 30;
  expect_refused("segment=1", kGiB, "1073741824 segments a rank are more than 65536");
  expect_refused("segment=16384", kGiB + 1, "65537 segments");
  expect_refused("segment=0", 2 * kGiB, "no MPI message is longer than 2147483647");
}

// The files that a user names may be in the environment of some ranks only: rank 0's count.
TEST(PlanByHand, APlanByHandIsEverybodysIfItIsRank0s) {
  const Directory directory;
  Options options = with_network(directory);
  options.measure = MeasurePolicy::never;
  options.plan_file = directory.write(
      "plan.json", plan_text("broadcast/binomial inside=binomial between=binomial", 0, {0, 1, 2, 3}));
  Group group = small_group();
  group.change = [](int rank, Options& mine, Identity&) {
    if (rank == 2) mine.plan_file.clear();
  };
  arm_group(group, options, [](transport::Transport&, ArmResult& armed) {
    ASSERT_TRUE(armed.communicator) << armed.reason;
    EXPECT_NE(armed.communicator->serves(broadcast_of(64, 0)), nullptr);
    EXPECT_TRUE(armed.communicator->knows(Collective::gather)) << "nothing is to be learned";
  });
}

TEST(PlanByHand, APlanByHandIsNobodysIfItIsNotRank0s) {
  const Directory directory;
  Options options = with_network(directory);
  const std::string file = directory.write(
      "plan.json", plan_text("broadcast/binomial inside=binomial between=binomial", 0, {0, 1, 2, 3}));
  Group group = small_group();
  group.change = [&](int rank, Options& mine, Identity&) {
    if (rank != 0) mine.plan_file = file;
  };
  arm_group(group, options, [](transport::Transport&, ArmResult& armed) {
    ASSERT_TRUE(armed.communicator) << armed.reason;
    EXPECT_FALSE(armed.communicator->knows(Collective::gather)) << "it may be learned";
  });
}

}  // namespace
}  // namespace eco::runtime
