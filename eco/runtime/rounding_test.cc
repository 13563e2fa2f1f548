// Ranks whose processors round differently, as those of two hosts may that differ in compiler, libm or fused operations:
// each thread here has a rounding mode of its own, so nothing that they work out of the same fractions need be the same.
// They measure, plan, look up and run together all the same.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cfenv>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>

#include "eco/runtime/testing.h"

namespace eco::runtime {
namespace {

using coll::Collective;
using testing::Group;

constexpr std::array kModes = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO, FE_TONEAREST};

// As the thread of this rank; it ends with its test.
void round_as(int rank) { std::fesetround(kModes[static_cast<std::size_t>(rank) % kModes.size()]); }

Group rounding_differently() {
  Group group = testing::small_group();
  group.change = [](int rank, Options&, Identity&) { round_as(rank); };
  return group;
}

// What ranks say of the same thing.
class Words {
 public:
  void say(const std::string& word) {
    const std::lock_guard lock(mutex_);
    words_.insert(word);
  }
  std::size_t n_different() const { return words_.size(); }
  void expect_one(const std::string& what) const {
    EXPECT_EQ(words_.size(), 1U) << what << ": " << (words_.empty() ? "nobody" : *words_.begin()) << "\n and "
                                 << (words_.empty() ? "" : *words_.rbegin());
  }

 private:
  std::mutex mutex_;
  std::set<std::string> words_;
};

TEST(Rounding, ReallyDiffersBetweenTheseThreads) {
  Words sums;
  transport::Hub hub(4);
  transport::run_ranks(hub, [&](transport::LoopbackTransport& transport, transport::LoopbackNative&) {
    round_as(transport.rank());
    volatile double one = 1.0;
    sums.say(std::to_string(std::bit_cast<std::uint64_t>(one / 3.0)) + " " +
             std::to_string(std::bit_cast<std::uint64_t>(one / 5.0)));
  });
  EXPECT_EQ(sums.n_different(), 3U) << "up, down (as towards zero), and to the nearest";
}

// Recipes by size. Seconds are read with each rank's own rounding, and decide nothing.
std::string plan_of(const plan::PlanTable& table) {
  std::string text;
  for (const plan::Entry& entry : table.entries) {
    text += std::string(coll::name(entry.collective)) + " " + std::to_string(entry.root_subnet) + "\n";
    for (const plan::Row& row : entry.rows)
      text += std::to_string(row.up_to_bytes) + " " + (row.recipe ? row.recipe->text() : "native") + "\n";
  }
  return text;
}

// Measured in the job, or read from a file.
class Rounded : public ::testing::TestWithParam<bool> {};

TEST_P(Rounded, RanksHaveOnePlanAndOneSetOfSchedules) {
  const testing::Directory directory;
  Options options = testing::with_network(directory);
  if (GetParam()) options.network_file.clear();
  Words tables;
  Words views;
  std::array<Words, 2> served;
  const auto reasons = testing::arm_group(
      rounding_differently(), options, [&](transport::Transport& transport, ArmResult& armed) {
        if (!armed.communicator) return;
        const int rank = transport.rank();
        tables.say(plan_of(armed.communicator->table()));
        views.say(armed.communicator->view().describe());
        for (const Collective collective : {Collective::broadcast, Collective::allreduce}) {
          std::string recipes;
          for (const std::size_t bytes : {8, 64, 100, 1024, 4096, 5000}) {
            const auto problem = testing::problem_of(collective, bytes);
            const algo::Recipe* const recipe = armed.communicator->serves(problem);
            recipes += std::to_string(bytes) + " " + (recipe != nullptr ? recipe->text() : "native") + "\n";
            if (recipe != nullptr) testing::expect_served(*armed.communicator, rank, problem);
          }
          served[collective == Collective::broadcast ? 0 : 1].say(recipes);
        }
        if (armed.communicator->knows(Collective::barrier))
          testing::expect_served(*armed.communicator, rank, testing::problem_of(Collective::barrier, 0));
      });
  testing::expect_all(reasons, "armed");
  tables.expect_one("tables");
  views.expect_one("views");
  for (const Words& of_collective : served) of_collective.expect_one("what serves");
}
INSTANTIATE_TEST_SUITE_P(Runtime, Rounded, ::testing::Bool());

TEST(Rounding, WhatIsLearnedLaterIsTheSameOnAllRanks) {
  const testing::Directory directory;
  Words learned;
  testing::run_program(rounding_differently(), testing::with_network(directory),
                       [&](Communicator& communicator, int rank, testing::Program& program) {
                         round_as(rank);
                         const auto problem = testing::problem_of(Collective::allgather, 64);
                         communicator.learn(program.native, program.options, program.identity, problem);
                         learned.say(plan_of(communicator.table()));
                         if (communicator.serves(problem) != nullptr)
                           testing::expect_served(communicator, rank, problem);
                       });
  learned.expect_one("tables");
}

// Ranks come in time or late by what they have agreed on in whole nanoseconds.
TEST(Rounding, RanksNameOneInstant) {
  Words leads;
  transport::Hub hub(4);
  transport::run_ranks(hub, [&](transport::LoopbackTransport& transport, transport::LoopbackNative& native) {
    round_as(transport.rank());
    CommonStart start(native, true, 500'000'000);
    start.fit();
    std::string all;
    for (bool widened = true; widened; widened = start.widen()) all += std::to_string(start.lead_ns()) + " ";
    leads.say(all);
  });
  leads.expect_one("leads");
}

}  // namespace
}  // namespace eco::runtime
