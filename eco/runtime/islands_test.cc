// Recipes in which islands do their part by the library's own collectives: armed, tried and learned.
#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "eco/runtime/testing.h"
#include "eco/runtime/trials.h"

namespace eco::runtime {
namespace {

using coll::Collective;
using testing::Directory;

constexpr std::size_t kLargest = 4096;

// One recipe for each of some collectives, for the four ranks of two subnets.
std::string plan_with_islands() {
  plan::PlanTable table;
  table.host_of_rank = {0, 1, 2, 3};
  const auto add = [&](Collective collective, const std::string& recipe, int root_subnet = 0) {
    const std::size_t most = collective == Collective::barrier ? 0 : kLargest;
    plan::Row row{most, algo::parse_recipe(recipe), 0, 0, 0, "by hand"};
    table.entries.push_back({collective, root_subnet, {row}});
  };
  for (const int subnet : {0, 1}) {
    add(Collective::broadcast, "broadcast/levels segment=64 parts=broadcast/chain,native", subnet);
    add(Collective::reduce, "reduce/levels segment=64 parts=native,reduce/flat", subnet);
  }
  add(Collective::allreduce, "allreduce/levels segment=64 parts=native,allreduce/doubling,native");
  add(Collective::allgather, "allgather/levels segment=64 parts=native,broadcast/flat,native");
  add(Collective::reduce_scatter, "reduce_scatter/levels segment=64 parts=native,reduce/flat,native");
  add(Collective::scan, "scan/levels segment=64 parts=native,exscan/chain,native");
  add(Collective::barrier, "barrier/levels parts=native,barrier/dissemination,native");
  return table.to_json();
}

Options with_islands(const Directory& directory) {
  Options options = testing::with_network(directory);
  options.plan_file = directory.write("plan.json", plan_with_islands());
  return options;
}

TEST(Islands, ServeRightResults) {
  const Directory directory;
  for (const std::uint64_t seed : {0, 11}) {
    testing::Group group;
    group.loopback.seed = seed;
    const auto reasons = testing::arm_group(
        group, with_islands(directory), [](transport::Transport& transport, ArmResult& armed) {
          ASSERT_TRUE(armed.communicator) << armed.reason;
          const int rank = transport.rank();
          for (const Collective collective :
               {Collective::broadcast, Collective::reduce, Collective::allreduce, Collective::allgather,
                Collective::reduce_scatter, Collective::scan, Collective::barrier}) {
            for (const int root : {0, 3}) {
              if (root > 0 && !coll::is_rooted(collective)) continue;
              for (const std::size_t bytes : {32U, 1000U, 4096U})
                testing::expect_served(*armed.communicator, rank,
                                       testing::problem_of(collective, bytes, root));
            }
          }
          testing::expect_served(*armed.communicator, rank, testing::problem_of(Collective::allreduce, 1000),
                                 true);
          EXPECT_GE(transport.find_group({0, 1}), 0);
          EXPECT_GE(transport.find_group({2, 3}), 0);
        });
    testing::expect_all(reasons, "armed");
  }
}

// A transport that knows messages only.
class MessagesOnly final : public testing::PassingTransport {
 public:
  using PassingTransport::PassingTransport;
  bool open_groups(const std::vector<coll::RankGroup>& groups) override { return groups.empty(); }
};

TEST(Islands, ATransportWithoutGroupsOnOneRankIsAReasonOnAll) {
  const Directory directory;
  testing::Group group;
  group.wrap = [](int rank, transport::Transport& below) -> std::unique_ptr<transport::Transport> {
    return rank == 2 ? std::make_unique<MessagesOnly>(below) : nullptr;
  };
  testing::expect_all(testing::arm_group(group, with_islands(directory)), "no communicators for the islands");
}

TEST(Islands, AreTriedWhereTheTransportCan) {
  const auto network = std::make_shared<const net::Network>(net::synthetic_network(testing::kNetwork));
  const net::GroupView view = net::make_view(network, {0, 1, 2, 3});
  const Trial trial{
      testing::problem_of(Collective::allreduce, 1000),
      {std::nullopt, algo::parse_recipe("allreduce/levels segment=64 parts=native,allreduce/doubling,native"),
       algo::parse_recipe("allreduce/chain segment=64")},
      true};
  for (const bool able : {true, false}) {
    transport::Hub hub(4);
    transport::run_ranks(hub, [&](transport::LoopbackTransport& loopback, transport::LoopbackNative& native) {
      MessagesOnly poor(loopback);
      // On one rank alone: all have to learn of it.
      transport::Transport& transport =
          able || loopback.rank() != 1 ? static_cast<transport::Transport&>(loopback) : poor;
      Trials trials(transport, native, view, CommonStart(native, true, 50'000'000));
      const TrialResult result = trials.run(trial, [](const Cost&) { return Repetitions{2, 1}; });
      ASSERT_EQ(result.seconds.size(), 3U);
      EXPECT_FALSE(result.seconds[0].empty());
      EXPECT_EQ(result.seconds[1].empty(), !able);
      EXPECT_FALSE(result.seconds[2].empty());
    });
  }
}

// Another communicator of the same ranks opens them for itself, and closes what trials have left and no row needs.
TEST(Islands, AreOpenedForAKnownGroup) {
  const Directory directory;
  std::array<std::shared_ptr<const KnownGroup>, 4> known;
  testing::arm_group(testing::Group(), with_islands(directory),
                     [&](transport::Transport& transport, ArmResult& armed) {
                       ASSERT_TRUE(armed.communicator) << armed.reason;
                       known[static_cast<std::size_t>(transport.rank())] = armed.communicator->known_group();
                     });
  transport::Hub hub(4);
  transport::run_ranks(hub, [&](transport::LoopbackTransport& transport, transport::LoopbackNative& native) {
    const int rank = transport.rank();
    ASSERT_TRUE(known[static_cast<std::size_t>(rank)]);
    ASSERT_TRUE(transport.open_groups({{0, 3}}));
    const ArmResult armed =
        Communicator::arm_known(transport, native, *known[static_cast<std::size_t>(rank)]);
    ASSERT_TRUE(armed.communicator) << armed.reason;
    EXPECT_EQ(transport.find_group({0, 3}), -1);
    EXPECT_GE(transport.find_group({0, 1}), 0);
    testing::expect_served(*armed.communicator, rank, testing::problem_of(Collective::broadcast, 1000, 2));
  });
}

}  // namespace
}  // namespace eco::runtime
