#include "eco/algo/patterns/tree.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include "eco/algo/patterns/places.h"
#include "eco/base/assert.h"

namespace eco::algo {
namespace {

void link(Tree& tree, int parent, int child) {
  tree.parent[static_cast<std::size_t>(child)] = parent;
  tree.children[static_cast<std::size_t>(parent)].push_back(child);
}

// Hangs members[1..] below members[0].
void append_shape(Tree& tree, Shape shape, std::span<const int> members, int degree) {
  const std::size_t n = members.size();
  switch (shape) {
    case Shape::kary: {
      std::size_t begin = 1;
      for (auto left = static_cast<std::size_t>(degree); left > 0 && begin < n; --left) {
        const std::size_t length = (n - begin + left - 1) / left;
        link(tree, members[0], members[begin]);
        append_shape(tree, shape, members.subspan(begin, length), degree);
        begin += length;
      }
      return;
    }
    case Shape::chain:
      for (std::size_t i = 1; i < n; ++i) link(tree, members[i - 1], members[i]);
      return;
    case Shape::flat:
      for (std::size_t i = 1; i < n; ++i) link(tree, members[0], members[i]);
      return;
    case Shape::binomial:
      // Position v hangs below v without its lowest set bit; children are served farthest first.
      for (std::size_t v = 0; v < n; ++v) {
        std::size_t below = v == 0 ? std::bit_ceil(n) : v & (~v + 1);
        for (below >>= 1; below > 0; below >>= 1) {
          if (v + below < n) link(tree, members[v], members[v + below]);
        }
      }
      return;
    case Shape::knomial: {
      // The same in base `degree`: position v hangs below v with its lowest digit that is not 0 cleared.
      const auto base = static_cast<std::size_t>(degree);
      for (std::size_t v = 0; v < n; ++v) {
        std::size_t below = 1;
        while (below < n && v / below % base == 0) below *= base;
        for (below /= base; below > 0; below /= base) {
          for (std::size_t digit = base - 1; digit > 0; --digit) {
            if (v + digit * below < n) link(tree, members[v], members[v + digit * below]);
          }
        }
      }
      return;
    }
  }
}

Tree bare_tree(int root, int n_ranks) {
  Tree tree;
  tree.root = root;
  tree.parent.assign(static_cast<std::size_t>(n_ranks), -1);
  tree.children.resize(static_cast<std::size_t>(n_ranks));
  tree.n_far.assign(static_cast<std::size_t>(n_ranks), 0);
  return tree;
}

// The subnet's ranks, beginning with `leader` and wrapping around: neighbours stay neighbours.
std::vector<int> beginning_with(const std::vector<int>& ranks, int leader) {
  std::vector<int> rotated = ranks;
  const auto found = std::find(rotated.begin(), rotated.end(), leader);
  ECO_ASSERT(light, found != rotated.end(), "the first stands among the others");
  std::rotate(rotated.begin(), found, rotated.end());
  return rotated;
}

// Hangs every subnet's leader below that of the neighbour through which the root's subnet, order[0], is reached.
// `leaders` stand like `order`, in which children are served too.
void append_given(Tree& tree, const std::vector<int>& parents, const std::vector<int>& order,
                  const std::vector<int>& leaders) {
  const auto parent_of = [&](std::size_t place) { return parents[static_cast<std::size_t>(order[place])]; };
  std::vector<bool> hung(order.size());
  std::vector<std::size_t> reached{0};  // places in `order`
  hung[0] = true;
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const std::size_t above = reached[i];
    for (std::size_t place = 0; place < order.size(); ++place) {
      if (hung[place] || (parent_of(place) != order[above] && parent_of(above) != order[place])) continue;
      link(tree, leaders[above], leaders[place]);
      hung[place] = true;
      reached.push_back(place);
    }
  }
  ECO_ASSERT(light, reached.size() == order.size(), "a tree of subnets reaches all of them");
}

}  // namespace

std::string_view name(Pattern pattern) {
  constexpr std::array<std::string_view, 6> kNames = {"subnets", "flat",     "chain",
                                                      "kary",    "binomial", "knomial"};
  return kNames[static_cast<std::size_t>(pattern)];
}

Shape shape_of(Pattern pattern) {
  constexpr std::array kShapes = {Shape::chain, Shape::flat,     Shape::chain,
                                  Shape::kary,  Shape::binomial, Shape::knomial};
  return kShapes[static_cast<std::size_t>(pattern)];
}

Tree shape_tree(Shape shape, std::span<const int> members, int n_ranks, int degree) {
  Tree tree = bare_tree(members[0], n_ranks);
  append_shape(tree, shape, members, degree);
  return tree;
}

Place place_in(const Tree& tree, int rank) {
  const auto at = static_cast<std::size_t>(rank);
  return {tree.parent[at], tree.children[at], static_cast<std::size_t>(tree.n_far[at])};
}

Place place_in_chain(std::span<const int> ring, std::size_t first, std::size_t place) {
  const std::size_t n = ring.size();
  const std::size_t position = (place + n - first) % n;
  Place here;
  if (position > 0) here.parent = ring[(place + n - 1) % n];
  if (position + 1 < n) here.children = {ring[(place + 1) % n]};
  return here;
}

Place place_in_flat(std::span<const int> ring, std::size_t first, std::size_t place) {
  Place here;
  if (place != first) {
    here.parent = ring[first];
    return here;
  }
  for (std::size_t i = 1; i < ring.size(); ++i) here.children.push_back(ring[(first + i) % ring.size()]);
  return here;
}

Tree pattern_tree(Pattern pattern, const net::GroupView& view, int root, const Params& params, int turn) {
  if (pattern == Pattern::subnets) return subnet_tree(view, root, params, turn);
  return shape_tree(shape_of(pattern), ring_from(params, view.n_ranks(), root), view.n_ranks(),
                    params.degree);
}

bool keeps_rank_order(const Tree& tree) {
  // From the last rank to the first, so that every child's size is known before its parent's.
  const int n_ranks = static_cast<int>(tree.parent.size());
  std::vector<int> size(tree.parent.size(), 1);
  for (int rank = n_ranks - 1; rank >= 0; --rank) {
    std::vector<int> children = tree.children[static_cast<std::size_t>(rank)];
    std::sort(children.begin(), children.end());
    int next = rank + 1;
    for (const int child : children) {
      if (child != next) return false;
      next += size[static_cast<std::size_t>(child)];
    }
    size[static_cast<std::size_t>(rank)] = next - rank;
  }
  return true;
}

bool subnets_are_runs(const net::GroupView& view) {
  int next = 0;
  for (const net::SubnetView& subnet : view.subnets) {
    for (const int rank : subnet.ranks) {
      if (rank != next++) return false;
    }
  }
  return true;
}

std::vector<int> rank_ring(int n_ranks, int first) {
  std::vector<int> ranks(static_cast<std::size_t>(n_ranks));
  for (int i = 0; i < n_ranks; ++i) ranks[static_cast<std::size_t>(i)] = (first + i) % n_ranks;
  return ranks;
}

std::vector<int> ring_from(const Params& params, int n_ranks, int first) {
  return params.ring.empty() ? rank_ring(n_ranks, first) : beginning_with(params.ring, first);
}

std::vector<int> subnets_from(const net::GroupView& view, int subnet, const std::vector<int>& wanted) {
  std::vector<int> order = wanted;
  if (order.empty()) {
    order.resize(view.subnets.size());
    std::iota(order.begin(), order.end(), 0);
  }
  const auto found = std::find(order.begin(), order.end(), subnet);
  ECO_ASSERT(light, found != order.end() && order.size() == view.subnets.size(),
             "an order names every subnet once");
  std::rotate(order.begin(), found, order.end());
  return order;
}

Tree subnet_tree(const net::GroupView& view, int root, const Params& params, int turn) {
  const int root_subnet = view.subnet_of_rank[static_cast<std::size_t>(root)];
  Tree tree = bare_tree(root, view.n_ranks());
  std::vector<int> leaders;
  const std::vector<int> order = subnets_from(view, root_subnet, params.order);
  for (const int s : order) leaders.push_back(leader_of(view, s, root, params, turn));
  if (params.tree.empty()) {
    append_shape(tree, params.between, leaders, params.degree);
  } else {
    append_given(tree, params.tree, order, leaders);
  }
  for (const int leader : leaders) {
    const auto at = static_cast<std::size_t>(leader);
    tree.n_far[at] = static_cast<int>(tree.children[at].size());
  }
  for (const int leader : leaders) {
    const int s = view.subnet_of_rank[static_cast<std::size_t>(leader)];
    append_shape(tree, params.inside, beginning_with(view.subnets[static_cast<std::size_t>(s)].ranks, leader),
                 params.degree);
  }
  return tree;
}

std::vector<std::vector<int>> subnet_orders(const net::GroupView& view, int root_subnet) {
  std::vector<int> others;
  for (int s = 0; s < view.n_subnets(); ++s) {
    if (s != root_subnet) others.push_back(s);
  }
  std::vector<std::vector<int>> orders;
  const auto add = [&] {
    std::vector<int> order{root_subnet};
    order.insert(order.end(), others.begin(), others.end());
    orders.push_back(std::move(order));
  };
  constexpr std::size_t kAllOrdersUpTo = 3;  // 3! = 6 orders; each is predicted with every other parameter
  if (others.size() <= kAllOrdersUpTo) {
    do {
      add();
    } while (std::next_permutation(others.begin(), others.end()));
    return orders;
  }
  const auto size_of = [&](int s) { return view.subnets[static_cast<std::size_t>(s)].ranks.size(); };
  std::stable_sort(others.begin(), others.end(), [&](int a, int b) { return size_of(a) < size_of(b); });
  add();
  std::reverse(others.begin(), others.end());
  add();
  return orders;
}

}  // namespace eco::algo
