// Quantiles of measured times, interpolated between the two values that are nearest.
//
//   std::sort(runs.begin(), runs.end());
//   quantile(runs, 0.5)                      // the median; of an even number the mean of the two in the middle
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace eco::base {

// Of ascending values, at least one; q from 0 to 1.
inline double quantile(std::span<const double> sorted, double q) {
  const double place = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace eco::base
