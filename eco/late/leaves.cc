#include "eco/late/leaves.h"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

#include "eco/late/filling.h"

namespace eco::late {
namespace {

std::size_t at(int rank) { return static_cast<std::size_t>(rank); }

struct Standing {
  int n_below = 0;  // on-time ranks
  int depth = 0;
  bool is_in_subtree = false;
};

std::vector<Standing> standings(const algo::Tree& tree, const std::vector<bool>& is_late, int of) {
  std::vector<Standing> found(tree.parent.size());
  const std::vector<int> order = order_of_filling(tree, Filling::breadth_first);
  for (const int rank : order) {
    const int parent = tree.parent[at(rank)];
    found[at(rank)].depth = found[at(parent)].depth + 1;
    found[at(rank)].is_in_subtree = parent == of || found[at(parent)].is_in_subtree;
  }
  for (auto rank = order.rbegin(); rank != order.rend(); ++rank) {
    found[at(tree.parent[at(*rank)])].n_below += found[at(*rank)].n_below + (is_late[at(*rank)] ? 0 : 1);
  }
  return found;
}

void swap_places(algo::Tree& tree, int a, int b) {
  std::swap(tree.parent[at(a)], tree.parent[at(b)]);
  std::swap(tree.children[at(a)], tree.children[at(b)]);
  std::swap(tree.n_far[at(a)], tree.n_far[at(b)]);
  const auto rename = [&](int& rank) { rank = rank == a ? b : rank == b ? a : rank; };
  std::for_each(tree.parent.begin(), tree.parent.end(), rename);
  for (std::vector<int>& children : tree.children) std::for_each(children.begin(), children.end(), rename);
}

}  // namespace

algo::Tree late_as_leaves(algo::Tree tree, std::span<const int> late, std::span<const int> subnet_of_rank) {
  std::vector<bool> is_late(tree.parent.size());
  for (const int rank : late) is_late[at(rank)] = true;
  for (const int rank : late) {
    if (rank == tree.root || tree.children[at(rank)].empty()) continue;
    const std::vector<Standing> of = standings(tree, is_late, rank);
    const auto key = [&](int other) {
      return std::tuple(of[at(other)].n_below, !of[at(other)].is_in_subtree, -of[at(other)].depth);
    };
    int best = rank;
    for (int other = 0; other < static_cast<int>(tree.parent.size()); ++other) {
      if (is_late[at(other)] || other == tree.root || subnet_of_rank[at(other)] != subnet_of_rank[at(rank)])
        continue;
      if (best == rank ? of[at(other)].n_below < of[at(rank)].n_below : key(other) < key(best)) best = other;
    }
    if (best != rank) swap_places(tree, rank, best);
  }
  return tree;
}

std::vector<int> late_to_the_bottom(const algo::Tree& tree, std::span<const int> late) {
  std::vector<bool> is_late(tree.parent.size());
  for (const int rank : late) is_late[at(rank)] = rank != tree.root;
  const std::vector<int> order = order_of_filling(tree, Filling::breadth_first);
  std::for_each(order.rbegin(), order.rend(), [&](int rank) {
    const std::vector<int>& children = tree.children[at(rank)];
    is_late[at(rank)] = is_late[at(rank)] &&
                        std::all_of(children.begin(), children.end(), [&](int c) { return is_late[at(c)]; });
  });
  std::vector<int> found(late.begin(), late.end());
  std::erase_if(found, [&](int rank) { return !is_late[at(rank)]; });
  return found;
}

}  // namespace eco::late
