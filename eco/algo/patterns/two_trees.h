// Two binary trees over the same ranks, so that whoever passes on in one is a leaf of the other: together they keep every
// rank busy in both directions.
//
//   const std::array<Tree, 2> trees = two_trees(members, n_ranks);             // roots differ
//   const std::array<Tree, 2> trees = two_trees_below(root, n_ranks);          // of all others, the root above both
#pragma once

#include <array>
#include <span>

#include "eco/algo/patterns/tree.h"

namespace eco::algo {

std::array<Tree, 2> two_trees(std::span<const int> members, int n_ranks);
std::array<Tree, 2> two_trees_below(int root, int n_ranks);

}  // namespace eco::algo
