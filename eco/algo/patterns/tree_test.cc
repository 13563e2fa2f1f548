#include "eco/algo/patterns/tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "eco/algo/patterns/rounds.h"
#include "eco/algo/patterns/two_trees.h"
#include "eco/algo/testing.h"

namespace eco::algo {
namespace {

void expect_spanning(const Tree& tree, int n_ranks) {
  int n_linked = 0;
  for (int rank = 0; rank < n_ranks; ++rank) {
    for (const int child : tree.children[static_cast<std::size_t>(rank)]) {
      EXPECT_EQ(tree.parent[static_cast<std::size_t>(child)], rank);
      ++n_linked;
    }
    int at = rank;
    for (int steps = 0; at != tree.root; ++steps) {
      ASSERT_LT(steps, n_ranks) << "a cycle";
      at = tree.parent[static_cast<std::size_t>(at)];
      ASSERT_GE(at, 0);
    }
  }
  EXPECT_EQ(n_linked, n_ranks - 1);
}

TEST(Tree, ShapesSpanTheirMembers) {
  for (int n = 1; n <= 17; ++n) {
    for (const Shape shape : {Shape::chain, Shape::binomial, Shape::flat}) {
      for (int root = 0; root < n; ++root) expect_spanning(shape_tree(shape, rank_ring(n, root), n), n);
    }
  }
}

TEST(Tree, BinomialServesTheFarthestFirst) {
  const Tree tree = shape_tree(Shape::binomial, rank_ring(8, 0), 8);
  EXPECT_EQ(tree.children[0], (std::vector{4, 2, 1}));
  EXPECT_EQ(tree.children[4], (std::vector{6, 5}));
  EXPECT_EQ(tree.children[2], (std::vector{3}));
  EXPECT_EQ(tree.children[6], (std::vector{7}));
}

TEST(Tree, KnomialIsBinomialInAnotherBase) {
  for (int n = 1; n <= 30; ++n) {
    for (const int base : {2, 3, 4, 7}) {
      const Tree tree = shape_tree(Shape::knomial, rank_ring(n, 0), n, base);
      expect_spanning(tree, n);
      EXPECT_TRUE(keeps_rank_order(tree));
      if (base == 2) {
        EXPECT_EQ(tree.children, shape_tree(Shape::binomial, rank_ring(n, 0), n).children);
      }
    }
  }
  const Tree tree = shape_tree(Shape::knomial, rank_ring(9, 0), 9, 3);
  EXPECT_EQ(tree.children[0], (std::vector{6, 3, 2, 1}));
  EXPECT_EQ(tree.children[3], (std::vector{5, 4}));
}

TEST(Tree, WhoeverPassesOnInOneOfTwoTreesIsALeafOfTheOther) {
  for (int n = 1; n <= 33; ++n) {
    const std::array<Tree, 2> trees = two_trees(rank_ring(n, n / 2), n);
    for (const Tree& tree : trees) expect_spanning(tree, n);
    for (std::size_t rank = 0; rank < static_cast<std::size_t>(n); ++rank) {
      EXPECT_TRUE(trees[0].children[rank].empty() || trees[1].children[rank].empty()) << n << " " << rank;
      EXPECT_LE(trees[0].children[rank].size() + trees[1].children[rank].size(), 2U);
    }
    if (n > 1) {
      for (const Tree& tree : two_trees_below(n / 3, n)) expect_spanning(tree, n);
    }
  }
}

TEST(Rounds, BringEveryBlockOnce) {
  for (int n = 1; n <= 40; ++n) {
    std::vector<std::vector<Round>> ways = {circulant_rounds(n)};
    for (const int radix : {2, 3, 4, 9}) ways.push_back(radix_rounds(n, radix));
    for (const auto& rounds : ways) {
      int have = 1;
      for (const Round& round : rounds) {
        const int before = have;
        for (const Hop& hop : round) {
          EXPECT_EQ(hop.distance, have);
          EXPECT_GT(hop.count, 0);
          EXPECT_LE(hop.count, before) << "nobody gives what it does not have";
          have += hop.count;
        }
      }
      EXPECT_EQ(have, n);
    }
  }
}

TEST(Tree, SubnetsAreEnteredOnce) {
  for (const int n_ranks : {3, 8, 13}) {
    for (const auto& view : testing::views(n_ranks)) {
      for (int root = 0; root < n_ranks; ++root) {
        for (const Shape between : {Shape::chain, Shape::binomial, Shape::flat}) {
          for (int turn = 0; turn < 3; ++turn) {
            const Tree tree = subnet_tree(view, root, {.inside = Shape::binomial, .between = between}, turn);
            expect_spanning(tree, n_ranks);
            std::vector<int> entered(view.subnets.size());
            for (int rank = 0; rank < n_ranks; ++rank) {
              const int parent = tree.parent[static_cast<std::size_t>(rank)];
              const auto subnet = [&](int r) { return view.subnet_of_rank[static_cast<std::size_t>(r)]; };
              if (parent >= 0 && subnet(parent) != subnet(rank))
                ++entered[static_cast<std::size_t>(subnet(rank))];
            }
            for (int s = 0; s < view.n_subnets(); ++s) {
              EXPECT_EQ(entered[static_cast<std::size_t>(s)],
                        s == view.subnet_of_rank[static_cast<std::size_t>(root)] ? 0 : 1);
            }
          }
        }
      }
    }
  }
}

TEST(Tree, ALeaderServesOtherSubnetsFirst) {
  const auto view = testing::scattered_view("3+3+2", 8);
  const Tree tree = subnet_tree(view, 1, {.order = {0, 2, 1}});
  EXPECT_EQ(tree.children[1], (std::vector{6, 2}));  // the next subnet in the order, then its own
  EXPECT_EQ(tree.children[6], (std::vector{3, 7}));
  EXPECT_EQ(tree.children[2], (std::vector{0}));
}

TEST(Tree, AnOrderIsTurnedUntilTheRootsSubnetIsInFront) {
  const auto view = testing::scattered_view("1+1+1+1", 4);
  EXPECT_EQ(subnets_from(view, 2, {}), (std::vector{2, 3, 0, 1}));
  EXPECT_EQ(subnets_from(view, 2, {0, 2, 1, 3}), (std::vector{2, 1, 3, 0}));
  EXPECT_EQ(subnet_tree(view, 2, {.between = Shape::flat}).children[2], (std::vector{3, 0, 1}));
}

TEST(Tree, AGivenTreeOfSubnetsHangsFromTheRootsSubnet) {
  // Hosts, so ranks: {0 1} {2 3} {4} {5 6}; subnet 2 joins the others, and 3 hangs below 1.
  const auto view = testing::scattered_view("2+2+1+2", 7);
  const Params params = {.order = {3, 0, 1, 2}, .tree = {2, 2, -1, 1}, .first = {1, 1, 0, 0}};
  const Tree at_hub = subnet_tree(view, 4, params);
  EXPECT_EQ(at_hub.children[4], (std::vector{1, 3})) << "in the order of subnets";
  EXPECT_EQ(at_hub.children[3], (std::vector{5, 2}));
  EXPECT_EQ(at_hub.children[1], (std::vector{0}));
  const Tree at_leaf = subnet_tree(view, 6, params);
  expect_spanning(at_leaf, 7);
  EXPECT_EQ(at_leaf.children[6], (std::vector{3, 5}));
  EXPECT_EQ(at_leaf.children[3], (std::vector{4, 2}));
  EXPECT_EQ(at_leaf.children[4], (std::vector{1}));
  EXPECT_EQ(at_leaf.n_far[3], 1);
}

TEST(Tree, PatternsInRankOrderTakeTheRanksAsTheRingHasThem) {
  const auto view = testing::scattered_view("4", 4);
  const Params params = {.ring = {2, 0, 3, 1}};
  EXPECT_EQ(pattern_tree(Pattern::chain, view, 3, params).parent, (std::vector{2, 3, 1, -1}));
  EXPECT_EQ(pattern_tree(Pattern::flat, view, 0, params).children[0], (std::vector{3, 1, 2}));
}

TEST(Tree, OrdersPutTheRootsSubnetFirst) {
  const auto view = testing::scattered_view("3+3+2", 8);
  EXPECT_EQ(subnet_orders(view, 1), (std::vector<std::vector<int>>{{1, 0, 2}, {1, 2, 0}}));
  const auto many = testing::scattered_view("1+2+3+1+2+3", 12);
  const auto orders = subnet_orders(many, 2);
  ASSERT_EQ(orders.size(), 2U);
  EXPECT_EQ(orders[0], (std::vector{2, 0, 3, 1, 4, 5}));
}

TEST(Tree, PlacesAreKnownWithoutTheTree) {
  const std::vector<int> ring = {3, 0, 4, 1, 2};
  const int n_ranks = static_cast<int>(ring.size());
  for (std::size_t first = 0; first < ring.size(); ++first) {
    std::vector<int> members = ring;
    std::rotate(members.begin(), members.begin() + static_cast<std::ptrdiff_t>(first), members.end());
    const Tree chain = shape_tree(Shape::chain, members, n_ranks);
    const Tree flat = shape_tree(Shape::flat, members, n_ranks);
    for (std::size_t place = 0; place < ring.size(); ++place) {
      const Place in_chain = place_in_chain(ring, first, place);
      EXPECT_EQ(in_chain.parent, place_in(chain, ring[place]).parent);
      EXPECT_EQ(in_chain.children, place_in(chain, ring[place]).children);
      const Place in_flat = place_in_flat(ring, first, place);
      EXPECT_EQ(in_flat.parent, place_in(flat, ring[place]).parent);
      EXPECT_EQ(in_flat.children, place_in(flat, ring[place]).children);
    }
  }
}

}  // namespace
}  // namespace eco::algo
