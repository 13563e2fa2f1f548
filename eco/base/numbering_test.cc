#include "eco/base/numbering.h"

#include <gtest/gtest.h>

#include <map>

namespace eco::base {
namespace {

TEST(Numbering, CountsKeysInTheOrderInWhichTheyAreSeen) {
  Numbering numbering;
  std::map<std::uint64_t, std::uint32_t> expected;
  // Neighbours, keys that differ in high bits only, and every key twice.
  for (std::uint64_t i = 0; i < 3000; ++i) {
    const std::uint64_t key = i % 2 == 0 ? i / 4 : (i / 4) << 40;
    const auto [known, is_new] = expected.try_emplace(key, static_cast<std::uint32_t>(expected.size()));
    const Numbering::Found found = numbering.of(key);
    ASSERT_EQ(found.number, known->second) << key;
    ASSERT_EQ(found.is_new, is_new) << key;
  }
  EXPECT_EQ(numbering.size(), expected.size());
  numbering.clear();
  EXPECT_EQ(numbering.size(), 0U);
  EXPECT_TRUE(numbering.of(7).is_new);
  EXPECT_EQ(numbering.of(7).number, 0U);
}

TEST(Numbering, KeysThatAreKnownToBeFewAreNumberedAlike) {
  Numbering numbering;
  for (const std::uint64_t n_keys : {5U, 100000U, 7U}) {
    numbering.restart(n_keys);
    EXPECT_EQ(numbering.size(), 0U);
    for (const bool again : {false, true}) {
      EXPECT_EQ(numbering.of(n_keys - 1).number, 0U);
      EXPECT_EQ(numbering.of(2).number, 1U);
      EXPECT_EQ(numbering.of(0).is_new, !again);
    }
    EXPECT_EQ(numbering.size(), 3U);
    numbering.clear();
    EXPECT_TRUE(numbering.of(2).is_new);
    EXPECT_EQ(numbering.size(), 1U);
  }
}

}  // namespace
}  // namespace eco::base
