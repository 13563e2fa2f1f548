// With whom a rank exchanges in the log P rounds of libraries' own short collectives: at distances of powers of two in the
// ranks' numbers (binomial trees with root 0), the partners of recursive doubling, which are others where the ranks are
// no power of two, and those of a binary tree with root 0. Whoever is a rank's partner has it for a partner, too.
//
//   partners_in_rounds(8, 5) -> {1, 2, 4, 7}
//   partners_in_rounds(6, 5) -> {1, 2, 3, 4}
#pragma once

#include <algorithm>
#include <vector>

#include "eco/algo/patterns/halves.h"

namespace eco::algo {

// Ascending, without the rank itself.
inline std::vector<int> partners_in_rounds(int n_ranks, int rank) {
  std::vector<int> partners;
  for (int distance = 1; distance < n_ranks; distance *= 2) {
    if ((rank ^ distance) < n_ranks) partners.push_back(rank ^ distance);
  }
  const Halves halves(n_ranks, rank);
  if (halves.waits) partners.push_back(rank + 1);
  if (halves.takes_in) partners.push_back(rank - 1);
  for (int distance = 1; !halves.waits && distance < halves.power; distance *= 2)
    partners.push_back(halves.rank_of(halves.number ^ distance));
  for (const int other : {(rank - 1) / 2, 2 * rank + 1, 2 * rank + 2}) {
    if (other != rank && other < n_ranks) partners.push_back(other);
  }
  std::sort(partners.begin(), partners.end());
  partners.erase(std::unique(partners.begin(), partners.end()), partners.end());
  return partners;
}

}  // namespace eco::algo
