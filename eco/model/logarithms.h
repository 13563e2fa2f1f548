// Logarithms of numbers of ranks, as trees need them: exact, in integers.
#pragma once

#include <bit>

namespace eco::model {

// floor(log2 P), ceil(log2 P) for P >= 1.
constexpr int floor_log2(int n_ranks) { return std::bit_width(static_cast<unsigned>(n_ranks)) - 1; }
constexpr int ceil_log2(int n_ranks) { return std::bit_width(static_cast<unsigned>(n_ranks - 1)); }

}  // namespace eco::model
