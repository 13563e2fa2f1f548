// The symbolic values of the verifier: which ranks' contributions a value combines, and in which tree.
//
// A value of element u is a tree whose leaves are ranks: "rank 2's element u" combined with "rank 5's element u".
// Equal trees have equal numbers, so "all ranks hold the same expression" is a comparison of integers.
//
// A barrier's tokens are sets of ranks instead: which have arrived, however often and in whatever order that was told.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace eco::sched {

class Expressions {
 public:
  using Tree = std::uint32_t;
  static constexpr Tree kUnset = std::numeric_limits<Tree>::max();

  explicit Expressions(int n_ranks, bool are_sets = false) : are_sets_(are_sets) {
    for (int rank = 0; rank < n_ranks; ++rank) {
      Node node;
      node.ranks.assign((static_cast<std::size_t>(n_ranks) + 63) / 64, 0);
      node.ranks[static_cast<std::size_t>(rank) / 64] |= std::uint64_t{1} << (rank % 64);
      node.first = node.last = node.lowest = node.highest = rank;
      nodes_.push_back(std::move(node));
    }
  }

  Tree leaf(int rank) const { return static_cast<Tree>(rank); }

  // left op right; nothing if a rank contributes to both, unless values are sets.
  std::optional<Tree> combine(Tree left, Tree right) {
    const auto [known, inserted] = known_.try_emplace({left, right}, static_cast<Tree>(nodes_.size()));
    if (!inserted) return known->second;
    Node node = nodes_[left];
    const Node& other = nodes_[right];
    for (std::size_t i = 0; i < node.ranks.size(); ++i) {
      if (!are_sets_ && (node.ranks[i] & other.ranks[i]) != 0) {
        known_.erase(known);
        return std::nullopt;
      }
      node.ranks[i] |= other.ranks[i];
    }
    node.in_order = node.in_order && other.in_order && node.last < other.first;
    node.last = other.last;
    node.lowest = std::min(node.lowest, other.lowest);
    node.highest = std::max(node.highest, other.highest);
    node.count = 0;
    for (const std::uint64_t some : node.ranks) node.count += std::popcount(some);
    nodes_.push_back(std::move(node));
    return static_cast<Tree>(nodes_.size() - 1);
  }

  // All ranks of `first` to `last`, and no other; none twice, since combine() refuses that.
  bool combines_exactly(Tree tree, int first, int last) const {
    const Node& node = nodes_[tree];
    return node.lowest == first && node.highest == last && node.count == last - first + 1;
  }
  // Operands stand in ascending rank order.
  bool in_rank_order(Tree tree) const { return nodes_[tree].in_order; }

 private:
  struct Node {
    std::vector<std::uint64_t> ranks;  // bit set
    int first = 0;                     // operand
    int last = 0;
    int lowest = 0;
    int highest = 0;
    int count = 1;
    bool in_order = true;
  };
  bool are_sets_;
  std::vector<Node> nodes_;
  std::map<std::pair<Tree, Tree>, Tree> known_;
};

}  // namespace eco::sched
