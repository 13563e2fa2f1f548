// The places of a tree in the order in which they are filled: parents before their children.
#pragma once

#include <cstdint>
#include <vector>

#include "eco/algo/patterns/tree.h"

namespace eco::late {

enum class Filling : std::uint8_t { depth_first, breadth_first };

// All but the root's. Pure.
std::vector<int> order_of_filling(const algo::Tree& shape, Filling filling);

}  // namespace eco::late
