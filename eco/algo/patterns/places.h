// One rank's places in the trees of many roots, by arithmetic: of thousands of owners each has a tree, and a rank needs no
// more of it than its own place.
//
//   const PlacesInSubnetTrees places(view, params, rank);
//   Place place = places.with_root(owner, turn);            // as in subnet_tree(view, owner, params, turn)
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "eco/algo/patterns/tree.h"

namespace eco::algo {

// In shape_tree() over a ring of ranks that begins at its place `first`: of the rank at `place`.
Place place_in_ring(Shape shape, std::span<const int> ring, std::size_t first, std::size_t place, int degree);

// Who stands for a subnet in a tree of subnets.
int leader_of(const net::GroupView& view, int subnet, int root, const Params& params, int turn);

// The view must outlive it.
class PlacesInSubnetTrees {
 public:
  PlacesInSubnetTrees(const net::GroupView& view, const Params& params, int rank);
  Place with_root(int root, int turn) const;

 private:
  const net::GroupView& view_;
  Params params_;
  int rank_;
  std::vector<std::size_t> position_;  // by rank, in its subnet
  std::vector<Place> between_;         // of this rank's subnet among subnets, by the root's
};

}  // namespace eco::algo
