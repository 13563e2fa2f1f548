// The trees that builders are given where there are several: a broadcast's ways, an allreduce's owners, and of every block's
// owner one rank's place in its tree.
//
//   build_allreduce(problem, allreduce_owners(pattern, problem, view, params, rank), params, rank);
#pragma once

#include <cstddef>
#include <vector>

#include "eco/algo/builders.h"

namespace eco::algo {

// A broadcast's trees. Where subnets have segments in turn, each passes its own on to the others, the next one first;
// segments that go straight begin with the subnet whose turn it is.
std::vector<Way> broadcast_ways(Pattern pattern, const CommonProblem& problem, const GroupView& view,
                                const Params& params);

// Rank 0's tree in rank order, where the operation does not commute; it leads its subnet, as every first rank does.
Tree ordered_tree(Pattern pattern, const GroupView& view, const Params& params);

// One rank's places in an owner's trees.
Owner owner_with(const Tree& up, const Tree& down, int rank);

// One rank's, of all owners: over trees of subnets each subnet owns segments in turn.
std::vector<Owner> allreduce_owners(Pattern pattern, const CommonProblem& problem, const GroupView& view,
                                    const Params& params, int rank);

// The turn after that of the rank's own subnet, if it has one.
std::size_t first_owner(const GroupView& view, const Params& params, int rank);

// Every rank owns segments, and all go around one ring.
std::vector<Owner> ring_owners(const CommonProblem& problem, const Params& params, int rank);

// A rank's place in the tree of every owner of a block; leaders of subnets take turns, so that leading is shared.
PlaceOf places_of_owners(Pattern pattern, const GroupView& view, const Params& params, int rank);

}  // namespace eco::algo
