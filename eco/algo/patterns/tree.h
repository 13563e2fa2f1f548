// Spanning trees over the ranks of a group: pure peer arithmetic.
//
//   Tree t = shape_tree(Shape::binomial, ranks, n_ranks);       // ranks[0] is the root
//   Tree t = subnet_tree(view, root, params);                   // ECO's: subnets first, then inside each
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "eco/algo/recipe.h"
#include "eco/net/group_view.h"

namespace eco::algo {

// Of an algorithm's name: which tree it uses.
enum class Pattern : std::uint8_t { subnets, flat, chain, kary, binomial, knomial };
std::string_view name(Pattern pattern);
Shape shape_of(Pattern pattern);  // of subnets: a chain

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
//   kary       0 -> 1, 4; 1 -> 2, 3; 4 -> 5, 6   (every subtree a run of members, split evenly over `degree` children)
//   knomial    the binomial tree in base `degree`: of 9 in base 3   0 -> 6, 3, 2, 1; 6 -> 8, 7; 3 -> 5, 4
Tree shape_tree(Shape shape, std::span<const int> members, int n_ranks, int degree = 2);

// One rank's place in a tree.
struct Place {
  int parent = -1;
  std::vector<int> children;
  std::size_t n_far = 0;  // leading children that are in other subnets
};
Place place_in(const Tree& tree, int rank);
// The same in the chain or the flat tree over a ring of all ranks that begins at its place `first`, of the rank at `place`,
// without the tree: of thousands of owners each has one.
Place place_in_chain(std::span<const int> ring, std::size_t first, std::size_t place);
Place place_in_flat(std::span<const int> ring, std::size_t first, std::size_t place);

// The pattern's tree over all ranks: ECO's of subnets, or a shape in rank order (or `params.ring`) beginning at the root.
Tree pattern_tree(Pattern pattern, const net::GroupView& view, int root, const Params& params, int turn = 0);

// True if every subtree is a run of consecutive ranks that begins with its root: then combining a vertex with its
// children from left to right keeps rank order.
bool keeps_rank_order(const Tree& tree);
// True if every subnet is a run of consecutive ranks, one after the other.
bool subnets_are_runs(const net::GroupView& view);

// Ranks first, first + 1, ... around the group, modulo its size.
std::vector<int> rank_ring(int n_ranks, int first);
// The same in the order that a recipe may give (Params::ring), around from rank `first`.
std::vector<int> ring_from(const Params& params, int n_ranks, int first);

// All subnets in the order `wanted` (empty: the view's), turned until `subnet` is in front: where every subnet is the root
// of a tree at the same time, each of them serves another one first.
std::vector<int> subnets_from(const net::GroupView& view, int subnet, const std::vector<int>& wanted);

// ECO's tree (CMU-CS-95-191, section 4): subnets as vertices, the root's on top, joined by `params.between` over one
// leader each in the order `params.order`; inside each subnet `params.inside`, starting at its leader. A leader serves
// other subnets before its own, since theirs is the longer way. `params.tree` may join the subnets otherwise than any
// shape, and `params.first` choose their leaders.
// `turn` rotates the leaders of the subnets other than the root's, so that several trees can share the load.
Tree subnet_tree(const net::GroupView& view, int root, const Params& params, int turn = 0);

// The orders of the subnets below the root's that are worth predicting: all of them up to four subnets, beyond that
// small subnets first and large subnets first. Each is a complete `Params::order`, the root's subnet in front.
std::vector<std::vector<int>> subnet_orders(const net::GroupView& view, int root_subnet);

}  // namespace eco::algo
