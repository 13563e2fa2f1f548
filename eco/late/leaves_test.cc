#include "eco/late/leaves.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "eco/net/synthetic.h"

namespace eco::late {
namespace {

using algo::Shape;
using algo::Tree;

Tree shaped(Shape shape, int n) { return algo::shape_tree(shape, algo::rank_ring(n, 0), n); }

std::vector<int> one_subnet(int n) { return std::vector<int>(static_cast<std::size_t>(n), 0); }

// A tree over all ranks, each reached once.
void expect_spanning(const Tree& tree, int root) {
  ASSERT_EQ(tree.root, root);
  std::vector<int> reached{root};
  EXPECT_EQ(tree.parent[static_cast<std::size_t>(root)], -1);
  for (std::size_t i = 0; i < reached.size(); ++i) {
    ASSERT_LE(reached.size(), tree.parent.size()) << "a cycle";
    for (const int child : tree.children[static_cast<std::size_t>(reached[i])]) {
      EXPECT_EQ(tree.parent[static_cast<std::size_t>(child)], reached[i]);
      reached.push_back(child);
    }
  }
  std::sort(reached.begin(), reached.end());
  EXPECT_EQ(reached, algo::rank_ring(static_cast<int>(tree.parent.size()), 0));
}

TEST(Leaves, TheLateOneEndsTheChain) {
  const Tree tree = late_as_leaves(shaped(Shape::chain, 5), std::vector{1}, one_subnet(5));
  EXPECT_EQ(tree.children, (std::vector<std::vector<int>>{{4}, {}, {3}, {1}, {2}}));
  EXPECT_EQ(tree.parent, (std::vector{-1, 3, 4, 2, 0}));
}

TEST(Leaves, SeveralAreAtTheEndTogether) {
  const Tree tree = late_as_leaves(shaped(Shape::chain, 6), std::vector{1, 2, 4}, one_subnet(6));
  std::vector<int> along;
  for (int rank = 0;; rank = tree.children[static_cast<std::size_t>(rank)].front()) {
    along.push_back(rank);
    if (tree.children[static_cast<std::size_t>(rank)].empty()) break;
  }
  ASSERT_EQ(along.size(), 6u);
  EXPECT_EQ(along[0], 0);
  EXPECT_EQ(std::min(along[1], along[2]), 3);
  EXPECT_EQ(std::max(along[1], along[2]), 5);
}

TEST(Leaves, RootsAndLeavesAndUnknownTreesStay) {
  const Tree before = shaped(Shape::binomial, 8);
  EXPECT_EQ(late_as_leaves(before, std::vector{0, 7}, one_subnet(8)).children, before.children);
  EXPECT_EQ(late_as_leaves(before, {}, one_subnet(8)).children, before.children);
  // All but the root are late: nobody is better than another.
  EXPECT_EQ(late_as_leaves(before, std::vector{1, 2, 3, 4, 5, 6, 7}, one_subnet(8)).children,
            before.children);
}

TEST(Leaves, AParentAndItsOnlyChildChangePlaces) {
  const Tree tree = late_as_leaves(shaped(Shape::chain, 3), std::vector{1}, one_subnet(3));
  EXPECT_EQ(tree.children, (std::vector<std::vector<int>>{{2}, {}, {1}}));
}

TEST(Leaves, WhoHasSomebodyOnTimeBelowIsNotAtTheBottom) {
  const Tree chain = shaped(Shape::chain, 6);
  EXPECT_EQ(late_to_the_bottom(chain, std::vector{1, 4, 5}), (std::vector{4, 5}));
  EXPECT_EQ(late_to_the_bottom(chain, std::vector{0, 1, 2, 3, 4, 5}), (std::vector{1, 2, 3, 4, 5}))
      << "not the root";
  EXPECT_TRUE(late_to_the_bottom(chain, {}).empty());
  // 0 has 1, 2 and 4 below it, 2 has 3, 4 has 5 and 6, and 6 has 7.
  EXPECT_EQ(late_to_the_bottom(shaped(Shape::binomial, 8), std::vector{1, 4, 5, 6}), (std::vector{1, 5}));
}

// Over every network, pattern, root and set of late ranks: still a tree, which joins the same subnets.
TEST(Leaves, TreesStayTreesAndCrossSubnetsAsBefore) {
  std::mt19937 chance(7);
  for (const char* text : {"hosts=8 rate_mbit=50", "hosts=2+2 rate_mbit=200 uplink_mbit=40",
                           "hosts=3+1+4 rate_mbit=200 uplink_mbit=40"}) {
    const auto network = std::make_shared<const net::Network>(net::synthetic_network(text));
    std::vector<int> hosts;
    for (int host = 0; host < network->n_hosts(); ++host) hosts.push_back(host);
    const net::GroupView view = net::make_view(network, hosts);
    const int n = view.n_ranks();
    const auto crossings = [&](const Tree& tree) {
      std::vector<std::pair<int, int>> found;
      for (int rank = 0; rank < n; ++rank) {
        if (rank == tree.root) continue;
        found.emplace_back(
            view.subnet_of_rank[static_cast<std::size_t>(tree.parent[static_cast<std::size_t>(rank)])],
            view.subnet_of_rank[static_cast<std::size_t>(rank)]);
      }
      std::sort(found.begin(), found.end());
      return found;
    };
    for (const algo::Pattern pattern : {algo::Pattern::subnets, algo::Pattern::chain, algo::Pattern::binomial,
                                        algo::Pattern::kary, algo::Pattern::flat}) {
      for (int root = 0; root < n; ++root) {
        const Tree before = algo::pattern_tree(pattern, view, root, {});
        for (int drawn = 0; drawn < 20; ++drawn) {
          std::vector<int> late = algo::rank_ring(n, 0);
          std::shuffle(late.begin(), late.end(), chance);
          late.resize(1 + chance() % static_cast<std::size_t>(n - 1));
          const Tree after = late_as_leaves(before, late, view.subnet_of_rank);
          expect_spanning(after, root);
          EXPECT_EQ(crossings(after), crossings(before));
          for (int rank = 0; rank < n; ++rank) {
            const auto r = static_cast<std::size_t>(rank);
            for (std::size_t i = 0; i < static_cast<std::size_t>(after.n_far[r]); ++i)
              EXPECT_NE(view.subnet_of_rank[static_cast<std::size_t>(after.children[r][i])],
                        view.subnet_of_rank[r]);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace eco::late
