// Quantiles of measured times, interpolated between the two values that are nearest.
//
//   std::sort(runs.begin(), runs.end());
//   quantile(runs, 0.5)                      // the median; of an even number the mean of the two in the middle
//   median({3, 1, 2})                        // the same, of any order
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace eco::base {

// Of ascending values, at least one; q from 0 to 1.
inline double quantile(std::span<const double> sorted, double q) {
  const double place = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

// In any order, at least one.
inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return quantile(values, 0.5);
}

}  // namespace eco::base
