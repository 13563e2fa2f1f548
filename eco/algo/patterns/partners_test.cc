#include "eco/algo/patterns/partners.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace eco::algo {
namespace {

TEST(Partners, AreThoseOfTreesAndOfRecursiveDoubling) {
  EXPECT_EQ(partners_in_rounds(1, 0), (std::vector<int>{}));
  EXPECT_EQ(partners_in_rounds(8, 5), (std::vector<int>{1, 2, 4, 7}));
  // In binomial trees 4 and 1, since there is no 7; in recursive doubling, in which 1, 3, 4 and 5 take part, 4 and 3; in a
  // binary tree 2.
  EXPECT_EQ(partners_in_rounds(6, 5), (std::vector<int>{1, 2, 3, 4}));
  EXPECT_EQ(partners_in_rounds(6, 0), (std::vector<int>{1, 2, 4}));
}

TEST(Partners, AreEachOthers) {
  for (int n_ranks = 1; n_ranks <= 130; ++n_ranks) {
    for (int rank = 0; rank < n_ranks; ++rank) {
      for (const int partner : partners_in_rounds(n_ranks, rank)) {
        ASSERT_TRUE(partner >= 0 && partner < n_ranks && partner != rank) << n_ranks << " " << rank;
        const std::vector<int> theirs = partners_in_rounds(n_ranks, partner);
        ASSERT_TRUE(std::binary_search(theirs.begin(), theirs.end(), rank)) << n_ranks << " " << rank;
      }
    }
  }
}

}  // namespace
}  // namespace eco::algo
