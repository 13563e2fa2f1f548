// Rounds of pairs that can talk at the same time: no host is in two of them.
//
//   while (!waiting.empty()) measure(take_disjoint(waiting, n_hosts));
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "eco/structure/probe.h"

namespace eco::structure {

// The next round: the first of those that wait, and whoever fits beside what was taken. They wait no longer.
inline Round take_disjoint(std::vector<Pair>& waiting, int n_hosts) {
  std::vector<bool> busy(static_cast<std::size_t>(n_hosts), false);
  Round now;
  std::vector<Pair> later;
  for (const Pair& pair : waiting) {
    const auto from = static_cast<std::size_t>(pair.from);
    const auto to = static_cast<std::size_t>(pair.to);
    const bool fits = !busy[from] && !busy[to];
    (fits ? now : later).push_back(pair);
    if (fits) busy[from] = busy[to] = true;
  }
  waiting = std::move(later);
  return now;
}

}  // namespace eco::structure
