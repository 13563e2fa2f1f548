#include "eco/runtime/ambient_watch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <vector>

namespace eco::runtime {
namespace {

using coll::Collective;
using coll::CommonProblem;
using Choice = AmbientWatch::Choice;
using Next = AmbientWatch::Next;

constexpr std::int64_t kMillisecond_ns = 1'000'000;

CommonProblem allreduce_of(std::size_t bytes) {
  return {.collective = Collective::allreduce, .n_ranks = 4, .bytes = bytes, .element_bytes = 8};
}
CommonProblem broadcast_call(std::size_t bytes) {
  return {.collective = Collective::broadcast, .n_ranks = 4, .bytes = bytes};
}
Choice choice_of(const char* text) { return {.is_of_table = false, .recipe = algo::parse_recipe(text)}; }
const Choice kNativeChoice{.is_of_table = false};

// All ranks of a group, as they would agree.
class WatchingRanks {
 public:
  explicit WatchingRanks(std::size_t n = 4) : of_(n) {}

  // What a call takes by what serves it (nothing: the table), and what is added to each rank's time.
  using Takes = std::function<std::int64_t(const CommonProblem&, const Choice*)>;
  Takes takes = [](const CommonProblem&, const Choice*) { return 10 * kMillisecond_ns; };
  std::function<std::int64_t(std::size_t rank)> skew = [](std::size_t) { return std::int64_t{0}; };
  net::Ambient there{};  // what a look finds
  std::function<std::vector<std::vector<Choice>>()> contenders = [] {
    return std::vector<std::vector<Choice>>{{{}, choice_of("allreduce/ring segment=512")}};
  };
  std::int64_t asking_ns = kMillisecond_ns / 10;
  std::int64_t looking_ns = 50 * kMillisecond_ns;

  void call(const CommonProblem& problem) {
    ask();
    const Choice* common = nullptr;
    for (std::size_t rank = 0; rank < of_.size(); ++rank) {
      of_[rank].begin_call(problem, 0);
      const Choice* const mine = of_[rank].at_hand();
      if (rank == 0) common = mine;
      ASSERT_EQ(mine == nullptr, common == nullptr);
      if (mine != nullptr) {
        ASSERT_EQ(*mine, *common);
      }
    }
    const std::int64_t took_ns = takes(problem, common);
    for (std::size_t rank = 0; rank < of_.size(); ++rank) of_[rank].note_took(took_ns + skew(rank));
    called_ns += took_ns;
    ++n_calls;
  }
  void calls(std::size_t n, const CommonProblem& problem) {
    for (std::size_t i = 0; i < n; ++i) call(problem);
  }

  void ask() {
    for (const AmbientWatch& each : of_) ASSERT_EQ(each.is_due(), of_[0].is_due());
    if (!of_[0].is_due()) return;
    ++n_questions;
    if (plan_ns > 0) {
      for (AmbientWatch& each : of_) each.note_plan(0, plan_ns);
    }
    std::vector<std::int64_t> least;
    for (AmbientWatch& each : of_) {
      const std::span<const std::int64_t> mine = each.question();
      n_words = std::max(n_words, mine.size());
      if (least.empty()) least.assign(mine.begin(), mine.end());
      ASSERT_EQ(least.size(), mine.size());
      for (std::size_t i = 0; i < least.size(); ++i) least[i] = std::min(least[i], mine[i]);
    }
    Next next = Next::calls;
    for (std::size_t rank = 0; rank < of_.size(); ++rank) {
      std::ranges::copy(least, of_[rank].question().begin());
      const Next mine = of_[rank].conclude();
      if (rank == 0) next = mine;
      ASSERT_EQ(mine, next);
    }
    spent_ns += asking_ns;
    for (AmbientWatch& each : of_) each.note_spent(asking_ns, next == Next::look ? looking_ns : 0);
    if (next != Next::look) return;
    spent_ns += looking_ns;
    for (AmbientWatch& each : of_) {
      if (each.judge(there) == AmbientWatch::Found::other) each.begin_race(contenders());
    }
  }

  AmbientWatch& operator[](std::size_t rank) { return of_[rank]; }
  const AmbientWatch::Told& told() const { return of_[0].told(); }
  const Choice& choice() const { return of_[0].cells()[0].choice; }

  std::int64_t plan_ns = 0;
  std::int64_t called_ns = 0;
  std::int64_t spent_ns = 0;
  std::size_t n_calls = 0;
  std::size_t n_questions = 0;
  std::size_t n_words = 0;

 private:
  std::vector<AmbientWatch> of_;
};

const net::Ambient kLoadedLink{{{3, 300}}, {}};

// By the table 10 ms, or 40 beside traffic, where the ring takes 20.
void carry_traffic(WatchingRanks& ranks, bool is_there) {
  ranks.there = is_there ? kLoadedLink : net::Ambient{};
  ranks.takes = [is_there](const CommonProblem&, const Choice* choice) {
    if (!is_there) return choice == nullptr ? 10 * kMillisecond_ns : 15 * kMillisecond_ns;
    return choice == nullptr ? 40 * kMillisecond_ns
           : choice->recipe  ? 20 * kMillisecond_ns
                             : 25 * kMillisecond_ns;
  };
}

TEST(AmbientWatch, MovesWhenTrafficComesAndBackWhenItGoes) {
  WatchingRanks ranks;
  ranks.calls(100, allreduce_of(1 << 20));
  EXPECT_EQ(ranks.told().looks, 0U);
  carry_traffic(ranks, true);
  ranks.contenders = [] {
    return std::vector<std::vector<Choice>>{{{}, choice_of("allreduce/ring segment=512"), kNativeChoice}};
  };
  ranks.calls(100, allreduce_of(1 << 20));
  EXPECT_LE(ranks.told().looks, 8U);
  EXPECT_EQ(ranks.told().moves, 1U);
  EXPECT_EQ(ranks.choice(), choice_of("allreduce/ring segment=512"));
  carry_traffic(ranks, false);
  ranks.calls(400, allreduce_of(1 << 20));
  EXPECT_EQ(ranks.told().moves_back, 1U);
  EXPECT_FALSE(ranks[0].has_moved());
  EXPECT_EQ(ranks.choice(), Choice{});
  carry_traffic(ranks, true);
  ranks.calls(400, allreduce_of(1 << 20));
  EXPECT_EQ(ranks.told().moves, 2U) << "and once more";
}

// What finding the traffic has cost says nothing of how long recipes stay away when it is gone.
TEST(AmbientWatch, ComesBackSoonHoweverDearTheWayThereWas) {
  WatchingRanks ranks;
  ranks.looking_ns = 1500 * kMillisecond_ns;
  ranks.calls(100, allreduce_of(1 << 20));
  carry_traffic(ranks, true);
  for (int i = 0; i < 200 && !ranks[0].has_moved(); ++i) ranks.call(allreduce_of(1 << 20));
  ASSERT_TRUE(ranks[0].has_moved());
  ranks.looking_ns = 150 * kMillisecond_ns;  // one link alone
  const std::int64_t spent_ns = ranks.spent_ns;
  const std::int64_t called_ns = ranks.called_ns;
  ranks.calls(1000, allreduce_of(1 << 20));  // 20 s
  ASSERT_TRUE(ranks[0].has_moved());
  EXPECT_LE(ranks.spent_ns - spent_ns, (ranks.called_ns - called_ns) / 33 + 2 * ranks.looking_ns);
  carry_traffic(ranks, false);
  ranks.calls(800, allreduce_of(1 << 20));  // 12 s at most
  EXPECT_EQ(ranks.told().moves_back, 1U);
}

// Looks back that find other links loaded lead to races: of these the table's choice may come out as good as any.
TEST(AmbientWatch, AmongEqualsTheTableServes) {
  WatchingRanks ranks;
  const Choice ring = choice_of("allreduce/ring segment=512");
  ranks.calls(100, allreduce_of(1 << 20));
  carry_traffic(ranks, true);
  ranks.calls(100, allreduce_of(1 << 20));
  ASSERT_EQ(ranks.choice(), ring);
  ranks.there = {{{2, 500}}, {}};
  ranks.takes = [](const CommonProblem&, const Choice* choice) {
    return choice == nullptr ? 15 * kMillisecond_ns + 1000 : 15 * kMillisecond_ns;
  };
  ranks.contenders = [&] { return std::vector<std::vector<Choice>>{{ring, {}}}; };
  ranks.calls(1000, allreduce_of(1 << 20));
  EXPECT_EQ(ranks.choice(), Choice{});
  EXPECT_EQ(ranks.told().moves_back, 1U);
  ASSERT_EQ(ranks[0].raced().size(), 2U);
  EXPECT_TRUE(ranks[0].raced()[1].serves);
  EXPECT_EQ(ranks[0].raced()[0].took_ns, 15 * kMillisecond_ns);
}

TEST(AmbientWatch, TheLibraryMayBeTheFastest) {
  WatchingRanks ranks;
  ranks.calls(100, allreduce_of(1 << 20));
  carry_traffic(ranks, true);
  ranks.takes = [](const CommonProblem&, const Choice* choice) {
    return choice != nullptr && !choice->recipe ? 20 * kMillisecond_ns : 40 * kMillisecond_ns;
  };
  ranks.contenders = [] {
    return std::vector<std::vector<Choice>>{{{}, choice_of("allreduce/ring segment=512"), kNativeChoice}};
  };
  ranks.calls(100, allreduce_of(1 << 20));
  EXPECT_EQ(ranks.choice(), kNativeChoice);
}

TEST(AmbientWatch, WhatIsNoFasterDoesNotServe) {
  WatchingRanks ranks;
  ranks.calls(100, allreduce_of(1 << 20));
  carry_traffic(ranks, true);
  ranks.takes = [](const CommonProblem&, const Choice* choice) {
    return choice == nullptr ? 40 * kMillisecond_ns : 39 * kMillisecond_ns;
  };
  ranks.calls(300, allreduce_of(1 << 20));
  EXPECT_EQ(ranks.told().moves, 0U);
  EXPECT_EQ(ranks.choice(), Choice{});
  EXPECT_EQ(ranks.told().looks, 1U) << "40 ms are usual now";
}

TEST(AmbientWatch, SkewOfRanksIsNoTraffic) {
  WatchingRanks ranks;
  std::mt19937 random(3);
  ranks.calls(50, allreduce_of(1 << 20));
  // Some rank or other comes 100 ms late in every call: all others are in it for longer.
  std::size_t late = 0;
  ranks.skew = [&](std::size_t rank) { return rank == late ? std::int64_t{0} : 100 * kMillisecond_ns; };
  for (int i = 0; i < 300; ++i) {
    late = random() % 4;
    ranks.call(allreduce_of(1 << 20));
  }
  EXPECT_EQ(ranks.told().looks, 0U);
}

// A late root makes all others wait, and its own time tells nothing.
TEST(AmbientWatch, SteadySkewOfARootCostsFewLooks) {
  WatchingRanks ranks;
  ranks.calls(50, broadcast_call(1 << 20));
  ranks.skew = [](std::size_t rank) { return rank == 0 ? std::int64_t{0} : 100 * kMillisecond_ns; };
  ranks.calls(1000, broadcast_call(1 << 20));
  EXPECT_EQ(ranks.told().looks, 3U) << "then it is usual";
  EXPECT_EQ(ranks.told().moves, 0U);
  WatchingRanks sometimes;
  sometimes.calls(50, broadcast_call(1 << 20));
  std::size_t n = 0;
  sometimes.skew = [&](std::size_t rank) {
    return rank != 0 && ++n % 10 != 0 ? 100 * kMillisecond_ns : std::int64_t{0};
  };
  sometimes.calls(1000, broadcast_call(1 << 20));
  EXPECT_LE(sometimes.told().looks, 6U);
}

// As many calls of each are compared as it takes, however many kinds a program has in turn.
TEST(AmbientWatch, CallsOfSeveralKindsInTurnMoveToo) {
  WatchingRanks ranks;
  const auto turn = [&] {
    ranks.call(broadcast_call(1 << 20));
    ranks.call(allreduce_of(1 << 20));
    ranks.call(allreduce_of(8));
    ranks.call(broadcast_call(8));
  };
  ranks.contenders = [] {
    return std::vector<std::vector<Choice>>{{{}, choice_of("broadcast/chain segment=512")}};
  };
  for (int i = 0; i < 30; ++i) turn();
  carry_traffic(ranks, true);
  for (int i = 0; i < 60; ++i) turn();
  EXPECT_EQ(ranks.told().moves, 1U);
  EXPECT_EQ(ranks.choice(), choice_of("broadcast/chain segment=512"));
}

TEST(AmbientWatch, OneLookThatFindsNothingIsNotTheLast) {
  WatchingRanks ranks;
  ranks.calls(100, allreduce_of(1 << 20));
  carry_traffic(ranks, true);
  ranks.there = {};  // which it misses
  while (ranks.told().looks < 1) ranks.call(allreduce_of(1 << 20));
  ranks.there = kLoadedLink;
  ranks.calls(100, allreduce_of(1 << 20));
  EXPECT_EQ(ranks.told().moves, 1U);
}

TEST(AmbientWatch, ThePlanSaysWhatIsUsualWhereTrafficIsThereFromTheFirstCall) {
  WatchingRanks ranks;
  ranks.plan_ns = 12 * kMillisecond_ns;
  carry_traffic(ranks, true);
  ranks.calls(100, allreduce_of(1 << 20));
  EXPECT_EQ(ranks.told().moves, 1U);
}

TEST(AmbientWatch, AskingAndLookingStayWithinTheirShare) {
  for (const std::int64_t call_ns : {20'000L, 300'000L, 10 * kMillisecond_ns, 900 * kMillisecond_ns}) {
    WatchingRanks ranks;
    std::mt19937 random(7);
    bool is_slow = false;
    ranks.looking_ns = 300 * kMillisecond_ns;
    ranks.asking_ns = 50'000;
    ranks.there = kLoadedLink;
    // Now this and now that, and nothing is gained by moving.
    ranks.takes = [&](const CommonProblem&, const Choice*) { return is_slow ? 4 * call_ns : call_ns; };
    for (int i = 0; i < 60'000; ++i) {
      if (random() % 200 == 0) is_slow = !is_slow;
      ranks.there = random() % 2 == 0 ? kLoadedLink : net::Ambient{};
      ranks.call(allreduce_of(4096));
    }
    EXPECT_LE(ranks.spent_ns, ranks.called_ns / 50 + 1350 * kMillisecond_ns) << call_ns;
    EXPECT_LE(ranks.n_questions, ranks.n_calls / 7);
  }
}

TEST(AmbientWatch, CallsOfManyKindsKeepTheirPlaces) {
  WatchingRanks ranks;
  std::mt19937 random(11);
  carry_traffic(ranks, true);
  ranks.contenders = [] {
    return std::vector<std::vector<Choice>>(AmbientWatch::kCells,
                                            {{}, choice_of("allreduce/ring segment=512"), kNativeChoice});
  };
  for (int i = 0; i < 5000; ++i) {
    if (i % 700 == 0) carry_traffic(ranks, i % 1400 == 0);
    const std::size_t bytes = 1024 << (random() % 9);
    if (random() % 3 == 0)
      ranks.call(broadcast_call(bytes));
    else
      ranks.call(allreduce_of(bytes));
  }
  EXPECT_LE(ranks.n_words, 105U);
  EXPECT_EQ(ranks[0].cells().size(), AmbientWatch::kCells);
}

// A program that stops calling what is compared.
TEST(AmbientWatch, ARaceEndsWithoutThoseThatDoNotCome) {
  WatchingRanks ranks;
  ranks.calls(100, allreduce_of(1 << 20));
  carry_traffic(ranks, true);
  for (int i = 0; i < 100 && ranks.told().looks == 0; ++i) ranks.call(allreduce_of(1 << 20));
  ASSERT_EQ(ranks.told().looks, 1U);
  ranks.calls(300, broadcast_call(64));
  EXPECT_EQ(ranks.choice(), Choice{});
  ranks.calls(300, allreduce_of(1 << 20));
  EXPECT_FALSE(ranks[0].has_moved() && ranks.told().moves == 0);
}

// Clocks that say anything.
TEST(AmbientWatch, StrangeTimesChangeNothingButChoices) {
  WatchingRanks ranks;
  std::mt19937_64 random(13);
  ranks.skew = [&](std::size_t) { return static_cast<std::int64_t>(random()) / 4; };
  ranks.there = kLoadedLink;
  ranks.calls(2000, allreduce_of(4096));
  SUCCEED();
}

}  // namespace
}  // namespace eco::runtime
