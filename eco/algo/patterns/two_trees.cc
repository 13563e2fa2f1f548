#include "eco/algo/patterns/two_trees.h"

#include <bit>
#include <vector>

namespace eco::algo {
namespace {

// Hangs an in-order tree of positions first + 1 to first + n below `parent`: the greatest power of two at its top, so
// that every vertex with children has an even position.
void hang(std::vector<int>& parent_of, std::size_t first, std::size_t n, int parent) {
  if (n == 0) return;
  const std::size_t top = std::bit_floor(n);
  const auto position = static_cast<int>(first + top);
  parent_of[first + top] = parent;
  hang(parent_of, first, top - 1, position);
  hang(parent_of, first + top, n - top, position);
}

}  // namespace

std::array<Tree, 2> two_trees(std::span<const int> members, int n_ranks) {
  const std::size_t n = members.size();
  std::vector<int> parent_of(n + 1, -1);  // by position, from 1
  hang(parent_of, 0, n, -1);
  std::array<Tree, 2> trees;
  for (std::size_t t = 0; t < 2; ++t) {
    Tree& tree = trees[t];
    tree.parent.assign(static_cast<std::size_t>(n_ranks), -1);
    tree.children.resize(static_cast<std::size_t>(n_ranks));
    tree.n_far.assign(static_cast<std::size_t>(n_ranks), 0);
    // The first tree has position i at the i-th member; the second is mirrored, or of odd n shifted, so that even
    // positions fall on the others.
    const auto member_at = [&](std::size_t position) {
      if (t == 0) return members[position - 1];
      return members[n % 2 == 0 ? n - position : position % n];
    };
    for (std::size_t position = 1; position <= n; ++position) {
      const int member = member_at(position);
      if (parent_of[position] < 0) {
        tree.root = member;
        continue;
      }
      const int parent = member_at(static_cast<std::size_t>(parent_of[position]));
      tree.parent[static_cast<std::size_t>(member)] = parent;
      tree.children[static_cast<std::size_t>(parent)].push_back(member);
    }
  }
  return trees;
}

std::array<Tree, 2> two_trees_below(int root, int n_ranks) {
  const std::vector<int> ranks = rank_ring(n_ranks, root);
  std::array<Tree, 2> trees = two_trees(std::span(ranks).subspan(1), n_ranks);
  for (Tree& tree : trees) {
    tree.parent[static_cast<std::size_t>(tree.root)] = root;
    tree.children[static_cast<std::size_t>(root)] = {tree.root};
    tree.root = root;
  }
  return trees;
}

}  // namespace eco::algo
