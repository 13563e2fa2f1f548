#include "eco/runtime/readiness.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "eco/transport/loopback/loopback.h"

namespace eco::runtime {
namespace {

// What three ranks agree on; every one gets the same.
Readiness agreed(const std::function<void(int rank, Standing& standing)>& change) {
  transport::Hub hub(3);
  std::vector<Readiness> ready(3);
  transport::run_ranks(hub, [&](transport::LoopbackTransport& transport, transport::LoopbackNative& native) {
    Standing mine{.budget_left_s = 5, .passed_s = 1, .arming_s = 0.01, .known_arming_s = 0.002};
    change(transport.rank(), mine);
    ready[static_cast<std::size_t>(transport.rank())] = agree_on_readiness(native, mine);
  });
  for (const Readiness& each : ready) {
    EXPECT_EQ(each.has_room, ready[0].has_room);
    EXPECT_EQ(each.budget_left_s, ready[0].budget_left_s);
    EXPECT_EQ(each.is_known, ready[0].is_known);
    EXPECT_EQ(each.pays, ready[0].pays);
  }
  return ready[0];
}

TEST(Readiness, TakesTheLeastOfRoomAndBudget) {
  const Readiness all = agreed([](int, Standing&) {});
  EXPECT_TRUE(all.has_room);
  EXPECT_EQ(all.budget_left_s, 5);
  const Readiness least = agreed([](int rank, Standing& mine) {
    mine.has_room = rank != 1;
    mine.budget_left_s = rank == 2 ? -1 : 5;
  });
  EXPECT_FALSE(least.has_room);
  EXPECT_EQ(least.budget_left_s, 0);
}

TEST(Readiness, PaysWhereCallsTookFarLongerThanArming) {
  EXPECT_TRUE(agreed([](int, Standing&) {}).pays);
  EXPECT_FALSE(agreed([](int, Standing& mine) { mine.passed_s = 0.1; }).pays) << "ten times is not enough";
  EXPECT_FALSE(agreed([](int rank, Standing& mine) { mine.passed_s = rank == 1 ? 0.1 : 9; }).pays)
      << "the other ranks waited for that one";
  EXPECT_FALSE(agreed([](int rank, Standing& mine) { mine.arming_s = rank == 2 ? 0.1 : 0.01; }).pays)
      << "arming takes as long as the slowest rank";
}

TEST(Readiness, TheFirstOfAllRanksPaysWhateverItsCallsTook) {
  EXPECT_TRUE(agreed([](int, Standing& mine) {
                mine.passed_s = 0;
                mine.is_first = true;
              }).pays);
  EXPECT_FALSE(agreed([](int rank, Standing& mine) {
                 mine.passed_s = 0;
                 mine.is_first = rank != 1;
               }).pays)
      << "that rank has been in another one, which the others have not come to yet";
}

TEST(Readiness, OfWhatAllKnowTheSameArmingIsCheaper) {
  const auto short_calls = [](int, Standing& mine) { mine.passed_s = 0.1; };
  const Readiness known = agreed([&](int rank, Standing& mine) {
    short_calls(rank, mine);
    mine.known_digest = 0xfedcba9876543210u;
  });
  EXPECT_TRUE(known.is_known);
  EXPECT_TRUE(known.pays);
  for (const std::uint64_t other :
       {std::uint64_t{0}, std::uint64_t{0xfedcba9876543211u}, std::uint64_t{0x76543210u}}) {
    const Readiness differs = agreed([&](int rank, Standing& mine) {
      short_calls(rank, mine);
      mine.known_digest = rank == 1 ? other : 0xfedcba9876543210u;
    });
    EXPECT_FALSE(differs.is_known);
    EXPECT_FALSE(differs.pays);
  }
  EXPECT_FALSE(agreed([](int, Standing&) {}).is_known) << "nothing is known";
}

TEST(Readiness, PaysWhereTheCallAtHandGainsWhatArmingCosts) {
  const auto gaining = [](double gain_s, std::uint64_t digest, double arming_of_one = 0.002) {
    return agreed([=](int rank, Standing& mine) {
      mine.passed_s = 0;
      mine.known_gain_s = gain_s;
      mine.known_digest = digest;
      if (rank == 1) mine.known_arming_s = arming_of_one;
    });
  };
  EXPECT_TRUE(gaining(0.003, 7).pays);
  EXPECT_FALSE(gaining(0.001, 7).pays) << "arming costs more";
  EXPECT_FALSE(gaining(0.003, 7, 0.004).pays) << "on the slowest rank it does";
  EXPECT_FALSE(gaining(0.003, 0).pays) << "nobody knows it";
}

TEST(Readiness, PaysWhereCallsWouldHaveGainedItAsLongAsTheJobCanAffordThat) {
  const auto missing = [](double missed_s, double early_s, std::uint64_t digest = 7) {
    return agreed([=](int rank, Standing& mine) {
      mine.passed_s = 0;
      mine.missed_gain_s = missed_s;
      mine.early_s = rank == 2 ? early_s : 9;
      mine.known_digest = digest;
    });
  };
  EXPECT_TRUE(missing(0.003, 0.003).pays);
  EXPECT_FALSE(missing(0.001, 0.003).pays) << "too little yet";
  EXPECT_FALSE(missing(0.003, 0.001).pays) << "one rank's share of its time is spent";
  EXPECT_FALSE(missing(0.003, -1).pays);
  EXPECT_FALSE(missing(0.003, 0.003, 0).pays) << "nobody knows it";
}

// So many calls of so many bytes; how many of them are due.
int due(Pace& pace, int calls, std::size_t bytes) {
  int n = 0;
  for (int i = 0; i < calls; ++i) n += pace.is_due(bytes) ? 1 : 0;
  return n;
}

TEST(Pace, LeavesShortLivedCommunicatorsAloneAndAsksEverLessOften) {
  Pace short_calls;
  EXPECT_EQ(due(short_calls, 60, 8), 0);
  EXPECT_EQ(due(short_calls, 100'000, 8), 19) << "at 64, 96, 144, ..., 94,479 calls";
  Pace long_calls;
  EXPECT_EQ(due(long_calls, 1, 1 << 20), 1) << "one that takes as long as many short ones";
  EXPECT_EQ(due(long_calls, 99, 1 << 20), 10);
  Pace world(Pace::kFirstOfWorld);
  EXPECT_EQ(due(world, 30, 8), 0);
  world.note(8);
  EXPECT_EQ(due(world, 1, 8), 1);
}

}  // namespace
}  // namespace eco::runtime
