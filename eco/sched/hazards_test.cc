#include "eco/sched/hazards.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <set>
#include <vector>

namespace eco::sched {
namespace {

using Access = Hazards::Access;

Access access(std::uint32_t slot, bool write, std::size_t begin, std::size_t bytes) {
  Access one{};
  one.begin = begin;
  one.end = begin + bytes;
  one.sequence = one.slot = slot;
  one.buffer = Buffer::output;
  one.write = write;
  return one;
}

struct Counted {
  Hazards hazards;
  std::size_t n_looks = 0;
  std::size_t n_waits = 0;

  void add(const Access& one) {
    hazards.add(
        one, [this](std::uint32_t, std::uint64_t) { return ++n_looks > 0; },
        [this](std::uint32_t) { ++n_waits; });
  }
};

TEST(Hazards, WhatAWriteCoversIsNotMetAgain) {
  Counted all;
  constexpr std::size_t kWrites = 500;
  for (std::uint32_t slot = 0; slot < kWrites; ++slot) all.add(access(slot, true, 0, 1000));
  EXPECT_EQ(all.n_waits, kWrites - 1);  // each for the one before
  EXPECT_LE(all.n_looks, 2 * kWrites);
}

TEST(Hazards, CrowdsOfShortRegionsAreNotSortedAgainAndAgain) {
  Counted all;
  std::uint32_t slot = 0;
  // A crowd in one cell, and what sorting anew would have to look at.
  for (int i = 0; i < 20; ++i) all.add(access(slot++, false, 0, 16));
  for (std::size_t i = 1; i < 400; ++i) all.add(access(slot++, false, 64 * i, 16));
  const std::size_t before = all.n_looks;
  for (int i = 0; i < 100; ++i) all.add(access(slot++, false, 0, 16));
  EXPECT_LE(all.n_looks - before, 100U * 130U);
  EXPECT_EQ(all.n_waits, 0U);
}

// Random accesses of operations that finish in any order that is legal; against all pairs.
TEST(Hazards, EveryoneWaitsForAllThatConflicts) {
  std::mt19937 random(3);
  std::vector<Access> all;
  std::vector<std::set<std::uint32_t>> waits_for;  // of each operation, directly
  std::vector<bool> finished;
  Hazards hazards;
  const auto waits_still = [&](std::uint32_t slot) {
    for (const std::uint32_t other : waits_for[slot]) {
      if (!finished[other]) return true;
    }
    return false;
  };
  for (std::uint32_t slot = 0; slot < 3000; ++slot) {
    const std::size_t begin = random() % 4000;
    const std::size_t bytes = 1 + (random() % 4 == 0 ? random() % 3000 : random() % 60);
    all.push_back(access(slot, random() % 2 == 0, begin, bytes));
    waits_for.emplace_back();
    finished.push_back(false);
    hazards.add(
        all.back(), [&](std::uint32_t other, std::uint64_t) { return !finished[other]; },
        [&](std::uint32_t other) { waits_for[slot].insert(other); });
    // Some that may finish do, so that about forty are unfinished.
    for (std::uint32_t other = slot > 40 ? slot - 40 : 0; other <= slot; ++other) {
      if (!finished[other] && !waits_still(other) && random() % 4 == 0) {
        for (std::uint32_t earlier = 0; earlier < other; ++earlier) {
          const bool overlap = all[earlier].begin < all[other].end && all[other].begin < all[earlier].end;
          const bool conflict = overlap && (all[earlier].write || all[other].write);
          ASSERT_TRUE(finished[earlier] || !conflict) << other << " did not wait for " << earlier;
        }
        finished[other] = true;
      }
    }
    for (const std::uint32_t other : waits_for[slot]) {
      const bool overlap = all[other].begin < all[slot].end && all[slot].begin < all[other].end;
      ASSERT_TRUE(overlap && (all[other].write || all[slot].write)) << slot << " waits for nothing";
    }
  }
}

}  // namespace
}  // namespace eco::sched
