// What one communicator's arming spares the next one of the same ranks.
#include "eco/runtime/known_in_job.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>

#include "eco/net/synthetic.h"
#include "eco/plan/planner.h"
#include "eco/plan/testing.h"
#include "eco/runtime/testing.h"

namespace eco::runtime {
namespace {

using coll::Collective;
using testing::arm_group;
using testing::Directory;
using testing::expect_served;
using testing::problem_of;
using testing::small_group;
using testing::with_network;

std::vector<net::HostId> hosts_named(const std::vector<std::string>& names) {
  std::vector<net::HostId> hosts;
  for (const std::string& name : names) hosts.push_back({name, "10.0.0.1", "boot", "net"});
  return hosts;
}

TEST(KnownInJob, TrustsTheHostsOfOneLookAndNoOthers) {
  KnownInJob job;
  EXPECT_FALSE(job.has_looked_after(hosts_named({"a"})));
  job.looked_after(hosts_named({"b", "a", "b"}));
  job.looked_after(hosts_named({"c", "d"}));
  EXPECT_TRUE(job.has_looked_after(hosts_named({"a", "b"})));
  EXPECT_TRUE(job.has_looked_after(hosts_named({"b", "b"})));
  EXPECT_FALSE(job.has_looked_after(hosts_named({"a", "b", "e"})));
  EXPECT_FALSE(job.has_looked_after(hosts_named({"a", "c"}))) << "nobody looked between these";
  job.looked_after(hosts_named({"a", "b", "c", "d"}));
  EXPECT_TRUE(job.has_looked_after(hosts_named({"a", "c"})));
}

TEST(KnownInJob, FindsTheGroupOfTheSameRanksInTheSameOrder) {
  KnownInJob job;
  EXPECT_EQ(job.find({0, 1}), nullptr);
  const auto first = std::make_shared<const KnownGroup>();
  const auto second = std::make_shared<const KnownGroup>();
  job.remember({0, 1}, first);
  EXPECT_EQ(job.find({0, 1}), first);
  EXPECT_EQ(job.find({1, 0}), nullptr);
  job.remember({0, 1}, second);
  EXPECT_EQ(job.find({0, 1}), second);
  for (int i = 2; i < 200; ++i) job.remember({0, i}, first);
  EXPECT_EQ(job.find({0, 1}), nullptr) << "a program may make any number of groups";
  EXPECT_EQ(job.find({0, 199}), first);
}

TEST(KnownInJob, SeesTheNetworkOfAnyRanksThatLookedTogether) {
  const auto network = std::make_shared<net::Network>(net::synthetic_network("hosts=2+2"));
  KnownInJob job;
  EXPECT_FALSE(job.find_view({2, 4}));
  job.remember_view({4, 2, 7}, net::make_view(network, {3, 0, 1}));
  const auto seen = job.find_view({7, 4});
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->view.host_of_rank, (std::vector{1, 3}));
  EXPECT_FALSE(job.find_view({7, 5})) << "rank 5 was not among them";
  KnownInJob other;
  other.remember_view({2, 4, 5, 7}, net::make_view(network, {0, 3, 2, 1}));
  EXPECT_EQ(other.find_view({7, 4})->digest, seen->digest) << "the same hosts of the same network";
  EXPECT_NE(other.find_view({4, 7})->digest, seen->digest);
  other.remember_view(
      {4, 7}, net::make_view(std::make_shared<net::Network>(net::synthetic_network("hosts=4")), {3, 1}));
  EXPECT_NE(other.find_view({7, 4})->digest, seen->digest) << "the last look counts";
}

TEST(KnownInJob, TellsWhatArmingTakes) {
  KnownInJob job;
  EXPECT_GT(job.arming_s(false), job.arming_s(true)) << "before anything was armed";
  job.note_arming(false, 0.5);
  EXPECT_EQ(job.arming_s(false), 0.5);
  EXPECT_GT(job.arming_s(true), 0);
  job.note_arming(true, 0.25);
  EXPECT_EQ(job.arming_s(true), 0.25);
  EXPECT_EQ(job.arming_s(false), 0.5);
}

plan::Row row(std::size_t up_to_bytes, std::optional<algo::Recipe> recipe) {
  plan::Row row;
  row.up_to_bytes = up_to_bytes;
  row.recipe = std::move(recipe);
  return row;
}

TEST(KnownInJob, LeavesNativeWhatIsPlannedAndServedNowhere) {
  const auto recipe = algo::parse_recipe("broadcast/binomial inside=binomial between=binomial");
  KnownGroup group;
  group.view = plan::view_of(testing::kNetwork);
  group.planned = KnownCells(group.view.n_subnets());
  for (int subnet = 0; subnet < group.view.n_subnets(); ++subnet) {
    group.planned.add(problem_of(Collective::broadcast, 64), subnet);
    group.planned.add(problem_of(Collective::broadcast, 8), subnet);
    group.planned.add(problem_of(Collective::gather, 64), subnet);
  }
  group.table.entries = {{Collective::broadcast, 0, {row(8, {}), row(64, recipe)}},
                         {Collective::gather, 0, {row(64, {})}}};
  EXPECT_FALSE(group.leaves_native(problem_of(Collective::broadcast, 64)));
  EXPECT_TRUE(group.leaves_native(problem_of(Collective::broadcast, 8)));
  EXPECT_FALSE(group.leaves_native(problem_of(Collective::broadcast, 1024))) << "nobody has planned it yet";
  EXPECT_TRUE(group.leaves_native(problem_of(Collective::gather, 64)));
  EXPECT_FALSE(group.leaves_native(problem_of(Collective::scatter, 64)));
  group.table.entries.push_back({Collective::barrier, 0, {row(0, algo::parse_recipe("barrier/binomial"))}});
  EXPECT_FALSE(group.leaves_native(problem_of(Collective::gather, 64)))
      << "a communicator that is armed serves the barrier";
}

TEST(KnownCells, KnowCallsLargerThanAnyThatJobsPlanAsTheyKnowOthers) {
  const coll::CommonProblem call = problem_of(Collective::broadcast, plan::sizes_in_job().back() + 1);
  KnownCells cells(2);
  EXPECT_FALSE(cells.knows(call, 1)) << "a plan may have a row for it";
  cells.add(call, 1);
  EXPECT_TRUE(cells.knows(call, 1));
  EXPECT_FALSE(cells.knows(call, 0));
  EXPECT_FALSE(cells.knows(problem_of(Collective::broadcast, plan::sizes_in_job().back()), 1));
}

// Counts the bytes of what ranks tell each other.
class Telling final : public transport::PassingNative {
 public:
  Telling(transport::Native& below, std::atomic<std::size_t>& calls) : PassingNative(below), calls_(calls) {}
  void barrier() override { ++calls_, below_.barrier(); }
  void broadcast(std::span<std::byte> bytes, int root) override { ++calls_, below_.broadcast(bytes, root); }
  void allreduce_min(std::span<std::int64_t> values) override { ++calls_, below_.allreduce_min(values); }
  void allreduce_sum(std::span<std::int64_t> values) override { ++calls_, below_.allreduce_sum(values); }
  void allreduce_max(std::span<double> values) override { ++calls_, below_.allreduce_max(values); }
  void allgather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    ++calls_, below_.allgather(mine, all);
  }

 private:
  std::atomic<std::size_t>& calls_;
};

TEST(KnownInJob, AKnownGroupIsArmedAgainFromMemoryAlone) {
  const Directory directory;
  constexpr int kRanks = 4;
  std::array<std::shared_ptr<const KnownGroup>, kRanks> known;
  arm_group(small_group(), with_network(directory), [&](transport::Transport& transport, ArmResult& armed) {
    ASSERT_TRUE(armed.communicator) << armed.reason;
    known[static_cast<std::size_t>(transport.rank())] = armed.communicator->known_group();
  });
  for (const auto& each : known) {
    ASSERT_TRUE(each);
    EXPECT_EQ(each->digest, known[0]->digest);
    EXPECT_NE(each->digest, 0u);
  }
  std::filesystem::remove_all(directory.file("cache"));
  std::filesystem::remove(directory.file("network.json"));

  std::atomic<std::size_t> calls = 0;
  transport::Hub hub(kRanks);
  transport::run_ranks(
      hub, [&](transport::LoopbackTransport& transport, transport::LoopbackNative& loopback) {
        Telling native(loopback, calls);
        const int rank = transport.rank();
        const ArmResult armed =
            Communicator::arm_known(transport, native, *known[static_cast<std::size_t>(rank)]);
        ASSERT_TRUE(armed.communicator) << armed.reason;
        EXPECT_EQ(armed.seconds_measuring, 0);
        EXPECT_TRUE(armed.communicator->knows(Collective::broadcast));
        EXPECT_FALSE(armed.communicator->knows(Collective::gather)) << "it may be learned";
        EXPECT_NE(armed.communicator->provenance(), "");
        EXPECT_EQ(armed.communicator->known_group()->digest, known[0]->digest);
        for (int root = 0; root < kRanks; ++root) {
          expect_served(*armed.communicator, rank, problem_of(Collective::broadcast, 64, root));
        }
      });
  EXPECT_LE(calls, 2u * kRanks) << "resources and tags, and nothing else is to be agreed on";
}

}  // namespace
}  // namespace eco::runtime
