// Spanning trees over the ranks of a group: pure peer arithmetic.
//
//   Tree t = shape_tree(Shape::binomial, ranks, n_ranks);       // ranks[0] is the root
//   Tree t = subnet_tree(view, root, params);                   // ECO's: subnets first, then inside each
#pragma once

#include <span>
#include <vector>

#include "eco/algo/recipe.h"
#include "eco/net/group_view.h"

namespace eco::algo {

struct Tree {
  int root = 0;
  std::vector<int> parent;                 // by rank; -1 at the root
  std::vector<std::vector<int>> children;  // by rank, in the order in which they are served
  std::vector<int> n_far;                  // by rank: so many of the first children are in other subnets
};

// One shape over all `members`, members[0] the root; `n_ranks` is the size of the group they are from.
//   chain      0 -> 1 -> 2 -> ...
//   binomial   0 -> 4, 2, 1; 4 -> 6, 5; 2 -> 3; ...   (farthest first)
//   flat       0 -> 1, 2, 3, ...
Tree shape_tree(Shape shape, std::span<const int> members, int n_ranks);

// Ranks first, first + 1, ... around the group, modulo its size.
std::vector<int> rank_ring(int n_ranks, int first);

// ECO's tree (CMU-CS-95-191, section 4): subnets as vertices, the root's on top, joined by `params.between` over one
// leader each in the order `params.order`; inside each subnet `params.inside`, starting at its leader. A leader serves
// other subnets before its own, since theirs is the longer way.
// `turn` rotates the leaders of the subnets other than the root's, so that several trees can share the load.
Tree subnet_tree(const net::GroupView& view, int root, const Params& params, int turn = 0);

// The orders of the subnets below the root's that are worth predicting: all of them up to four subnets, beyond that
// small subnets first and large subnets first. Each is a complete `Params::order`, the root's subnet in front.
std::vector<std::vector<int>> subnet_orders(const net::GroupView& view, int root_subnet);

}  // namespace eco::algo
