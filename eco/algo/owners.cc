#include "eco/algo/owners.h"

#include <algorithm>
#include <numeric>

#include "eco/algo/patterns/places.h"

namespace eco::algo {
namespace {

using coll::Collective;

// The i-th owner leads with the i-th rank of each subnet, so that leading is shared.
int owner_root(const GroupView& view, int subnet, std::size_t i) {
  const auto& ranks = view.subnets[static_cast<std::size_t>(subnet)].ranks;
  return ranks[i % ranks.size()];
}

// Subnets that own segments in turn, of an allreduce over trees of subnets.
std::vector<int> owning_subnets(const GroupView& view, const Params& params) {
  if (!params.owners.empty()) return params.owners;
  std::vector<int> all(view.subnets.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// All ranks in a row that is closed to a ring, and where one of them stands.
struct PlaceInRing {
  std::vector<int> ring;
  std::vector<std::size_t> place_of;  // by rank
};

PlaceInRing places_in_ring(const Params& params, int n_ranks) {
  PlaceInRing all{ring_from(params, n_ranks, 0), std::vector<std::size_t>(static_cast<std::size_t>(n_ranks))};
  for (std::size_t i = 0; i < all.ring.size(); ++i) all.place_of[static_cast<std::size_t>(all.ring[i])] = i;
  return all;
}

}  // namespace

std::vector<Way> broadcast_ways(Pattern pattern, const CommonProblem& problem, const GroupView& view,
                                const Params& params) {
  const auto tree = [&](const Params& with) { return pattern_tree(pattern, view, problem.root, with); };
  const auto straight = [&](Params with) {
    with.between = Shape::flat;
    with.tree.clear();
    return tree(with);
  };
  if (pattern != Pattern::subnets || params.owners.empty()) return {{tree(params), straight(params)}};
  const int root_subnet = view.subnet_of_rank[static_cast<std::size_t>(problem.root)];
  std::vector<Way> ways;
  for (const int owner : params.owners) {
    Params through = params;
    through.order = subnets_from(view, owner, params.order);
    const auto root_at = std::find(through.order.begin(), through.order.end(), root_subnet);
    std::rotate(through.order.begin(), root_at, root_at + 1);
    through.tree.assign(view.subnets.size(), owner);
    through.tree[static_cast<std::size_t>(owner)] = -1;
    ways.push_back({tree(through), straight(through)});
  }
  return ways;
}

Tree ordered_tree(Pattern pattern, const GroupView& view, const Params& params) {
  Params in_order = params;
  for (auto list : {&Params::order, &Params::tree, &Params::first, &Params::ring}) (in_order.*list).clear();
  return pattern_tree(pattern, view, 0, in_order);
}

Owner owner_with(const Tree& up, const Tree& down, int rank) {
  return {place_in(up, rank), place_in(down, rank)};
}

std::vector<Owner> allreduce_owners(Pattern pattern, const CommonProblem& problem, const GroupView& view,
                                    const Params& params, int rank) {
  if (!problem.commutative) {
    const Tree tree = ordered_tree(pattern, view, params);
    return {owner_with(tree, tree, rank)};
  }
  std::vector<Owner> owners;
  std::vector<int> subnets = owning_subnets(view, params);
  if (pattern != Pattern::subnets || problem.collective != Collective::allreduce) subnets.resize(1);
  for (std::size_t i = 0; i < subnets.size(); ++i) {
    const int root = pattern == Pattern::subnets ? owner_root(view, subnets[i], i) : 0;
    const Tree tree = pattern_tree(pattern, view, root, params, static_cast<int>(i));
    owners.push_back(owner_with(tree, tree, rank));
  }
  return owners;
}

std::size_t first_owner(const GroupView& view, const Params& params, int rank) {
  const std::vector<int> subnets = owning_subnets(view, params);
  const auto own =
      std::find(subnets.begin(), subnets.end(), view.subnet_of_rank[static_cast<std::size_t>(rank)]);
  return own == subnets.end() ? 0 : static_cast<std::size_t>(own - subnets.begin()) + 1;
}

// Up: owner + 1 is the leaf and the owner's left neighbour its last child, so both ways lead to the right.
std::vector<Owner> ring_owners(const CommonProblem& problem, const Params& params, int rank) {
  const auto [rightwards, place_of] = places_in_ring(params, problem.n_ranks);
  const std::vector<int> leftwards(rightwards.rbegin(), rightwards.rend());
  const std::size_t last = rightwards.size() - 1;
  const std::size_t place = place_of[static_cast<std::size_t>(rank)];
  std::vector<Owner> owners;
  for (const std::size_t owner : place_of) {
    owners.push_back(
        {place_in_chain(leftwards, last - owner, last - place), place_in_chain(rightwards, owner, place)});
  }
  return owners;
}

PlaceOf places_of_owners(Pattern pattern, const GroupView& view, const Params& params, int rank) {
  if (pattern == Pattern::subnets) {
    return [places = PlacesInSubnetTrees(view, params, rank)](int owner) {
      return places.with_root(owner, owner);
    };
  }
  return [places = places_in_ring(params, view.n_ranks()), shape = shape_of(pattern), degree = params.degree,
          rank](int owner) {
    return place_in_ring(shape, places.ring, places.place_of[static_cast<std::size_t>(owner)],
                         places.place_of[static_cast<std::size_t>(rank)], degree);
  };
}

}  // namespace eco::algo
