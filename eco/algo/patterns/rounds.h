// Rounds in which all ranks do alike: each gives what it has to ranks at the same distances around the group.
//
//   for (const Round& round : radix_rounds(n_ranks, 2))
//     for (const Hop& hop : round) ...    // rank r gets hop.count blocks, those of r + hop.distance and on, from there
#pragma once

#include <algorithm>
#include <vector>

namespace eco::algo {

struct Hop {
  int distance;  // in ranks; so many blocks a rank has by then, its own first
  int count;     // of blocks
};
using Round = std::vector<Hop>;

// Every round multiplies what a rank has by `radix`, through radix - 1 peers at once; the last one brings the rest.
inline std::vector<Round> radix_rounds(int n, int radix) {
  std::vector<Round> rounds;
  for (int have = 1; have < n; have *= radix) {
    Round round;
    for (int digit = 1; digit < radix && digit * have < n; ++digit)
      round.push_back({digit * have, std::min(have, n - digit * have)});
    rounds.push_back(std::move(round));
  }
  return rounds;
}

// The group halved, rounded up, until one is left; backwards: as many rounds as with radix 2, of even sizes for any n.
inline std::vector<Round> circulant_rounds(int n) {
  std::vector<Round> rounds;
  for (int have = n; have > 1; have = (have + 1) / 2) rounds.push_back({{(have + 1) / 2, have / 2}});
  std::reverse(rounds.begin(), rounds.end());
  return rounds;
}

}  // namespace eco::algo
