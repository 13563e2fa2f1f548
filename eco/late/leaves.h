// Ranks that are known to come late, as low in a tree as may be: whoever has nobody below it holds nobody up.
//
//   Tree mended = late_as_leaves(tree, late, view.subnet_of_rank);
//
// Each changes places with another rank of its own subnet, so that the tree enters and crosses subnets as it did. The root
// stays the root. Pure.
#pragma once

#include <span>
#include <vector>

#include "eco/algo/patterns/tree.h"

namespace eco::late {

// Each in turn takes, among the places of its subnet's on-time ranks, the one with the fewest on-time ranks below; it
// stays where none has fewer than its own. Of several the one in its own subtree, then the lowest.
algo::Tree late_as_leaves(algo::Tree tree, std::span<const int> late, std::span<const int> subnet_of_rank);

// Those of them below whom there is nobody else.
std::vector<int> late_to_the_bottom(const algo::Tree& tree, std::span<const int> late);

}  // namespace eco::late
