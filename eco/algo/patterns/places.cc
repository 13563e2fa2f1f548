#include "eco/algo/patterns/places.h"

#include <numeric>
#include <optional>

namespace eco::algo {
namespace {

// Positions among n members, the first of whom is the root.
struct Position {
  std::optional<std::size_t> parent{};
  std::vector<std::size_t> children{};
};

// Position v hangs below v with its lowest digit in this base that is not 0 cleared; children are served farthest first.
Position position_in_knomial(std::size_t n, std::size_t v, std::size_t base) {
  Position here;
  std::size_t below = 1;
  while (below < n && v / below % base == 0) below *= base;
  if (v > 0) here.parent = v - v / below % base * below;
  for (below /= base; below > 0; below /= base) {
    for (std::size_t digit = base - 1; digit > 0; --digit) {
      if (v + digit * below < n) here.children.push_back(v + digit * below);
    }
  }
  return here;
}

// Every subtree is a run of members, split evenly over `degree` children: down those that v is in.
Position position_in_kary(std::size_t n, std::size_t v, std::size_t degree) {
  Position here;
  std::size_t root = 0;
  std::size_t end = n;
  for (;;) {
    std::size_t next = root;
    std::size_t next_end = end;
    std::size_t begin = root + 1;
    for (std::size_t left = degree; left > 0 && begin < end; --left) {
      const std::size_t length = (end - begin + left - 1) / left;
      if (root == v) here.children.push_back(begin);
      if (begin <= v && v < begin + length) {
        next = begin;
        next_end = begin + length;
      }
      begin += length;
    }
    if (root == v) return here;
    here.parent = root;
    root = next;
    end = next_end;
  }
}

Position position_in(Shape shape, std::size_t n, std::size_t v, int degree) {
  const std::size_t base = shape == Shape::binomial ? 2 : static_cast<std::size_t>(degree);
  return shape == Shape::kary ? position_in_kary(n, v, base) : position_in_knomial(n, v, base);
}

// One rank for each subnet, and its number.
net::GroupView of_subnets(const net::GroupView& view) {
  net::GroupView subnets;
  subnets.network = view.network;
  subnets.subnet_of_rank.resize(view.subnets.size());
  std::iota(subnets.subnet_of_rank.begin(), subnets.subnet_of_rank.end(), 0);
  for (int s = 0; s < view.n_subnets(); ++s) {
    const net::SubnetView& subnet = view.subnets[static_cast<std::size_t>(s)];
    subnets.host_of_rank.push_back(view.host_of(subnet.ranks.front()));
    subnets.subnets.push_back({{s}, subnet.kind});
  }
  return subnets;
}

}  // namespace

Place place_in_ring(Shape shape, std::span<const int> ring, std::size_t first, std::size_t place,
                    int degree) {
  if (shape == Shape::chain) return place_in_chain(ring, first, place);
  if (shape == Shape::flat) return place_in_flat(ring, first, place);
  const std::size_t n = ring.size();
  const auto member = [&](std::size_t position) { return ring[(first + position) % n]; };
  const Position position = position_in(shape, n, (place + n - first) % n, degree);
  Place here;
  if (position.parent) here.parent = member(*position.parent);
  for (const std::size_t child : position.children) here.children.push_back(member(child));
  return here;
}

int leader_of(const net::GroupView& view, int subnet, int root, const Params& params, int turn) {
  if (view.subnet_of_rank[static_cast<std::size_t>(root)] == subnet) return root;
  const std::vector<int>& ranks = view.subnets[static_cast<std::size_t>(subnet)].ranks;
  const int first = params.first.empty() ? 0 : params.first[static_cast<std::size_t>(subnet)];
  return ranks[static_cast<std::size_t>(first + turn) % ranks.size()];
}

PlacesInSubnetTrees::PlacesInSubnetTrees(const net::GroupView& view, const Params& params, int rank)
    : view_(view), params_(params), rank_(rank), position_(static_cast<std::size_t>(view.n_ranks())) {
  for (const net::SubnetView& subnet : view.subnets) {
    for (std::size_t i = 0; i < subnet.ranks.size(); ++i)
      position_[static_cast<std::size_t>(subnet.ranks[i])] = i;
  }
  const net::GroupView subnets = of_subnets(view);
  Params between = params;
  between.first.clear();
  for (int root = 0; root < subnets.n_ranks(); ++root) {
    const Tree tree = subnet_tree(subnets, root, between);
    between_.push_back(place_in(tree, view.subnet_of_rank[static_cast<std::size_t>(rank)]));
  }
}

Place PlacesInSubnetTrees::with_root(int root, int turn) const {
  const auto position = [this](int rank) { return position_[static_cast<std::size_t>(rank)]; };
  const auto subnet_of = [this](int rank) { return view_.subnet_of_rank[static_cast<std::size_t>(rank)]; };
  const auto leader = [&](int subnet) { return leader_of(view_, subnet, root, params_, turn); };
  const int subnet = subnet_of(rank_);
  const std::vector<int>& ranks = view_.subnets[static_cast<std::size_t>(subnet)].ranks;
  Place inside =
      place_in_ring(params_.inside, ranks, position(leader(subnet)), position(rank_), params_.degree);
  if (rank_ != leader(subnet)) return inside;
  const Place& between = between_[static_cast<std::size_t>(subnet_of(root))];
  Place here;
  if (between.parent >= 0) here.parent = leader(between.parent);
  for (const int other : between.children) here.children.push_back(leader(other));
  here.n_far = here.children.size();
  here.children.insert(here.children.end(), inside.children.begin(), inside.children.end());
  return here;
}

}  // namespace eco::algo
