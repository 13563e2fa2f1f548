#include "eco/algo/patterns/places.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "eco/algo/testing.h"

namespace eco::algo {
namespace {

constexpr Shape kAllShapes[] = {Shape::chain, Shape::flat, Shape::binomial, Shape::kary, Shape::knomial};

void expect_same(const Place& place, const Place& expected) {
  EXPECT_EQ(place.parent, expected.parent);
  EXPECT_EQ(place.children, expected.children);
  EXPECT_EQ(place.n_far, expected.n_far);
}

TEST(Places, InARingAreTheTrees) {
  const std::vector<std::vector<int>> rings = {{0}, {1, 0}, {3, 0, 4, 1, 2}, {5, 2, 7, 1, 3, 0, 4, 6, 9, 8}};
  for (const std::vector<int>& ring : rings) {
    for (const Shape shape : kAllShapes) {
      for (const int degree : {2, 3}) {
        for (std::size_t first = 0; first < ring.size(); ++first) {
          std::vector<int> members = ring;
          std::rotate(members.begin(), members.begin() + static_cast<std::ptrdiff_t>(first), members.end());
          const Tree tree = shape_tree(shape, members, static_cast<int>(ring.size()), degree);
          for (std::size_t place = 0; place < ring.size(); ++place)
            expect_same(place_in_ring(shape, ring, first, place, degree), place_in(tree, ring[place]));
        }
      }
    }
  }
}

TEST(Places, InTreesOfSubnetsAreTheTrees) {
  const auto view = testing::scattered_view("1+5+3+7", 16);
  std::vector<Params> all;
  for (const Shape between : kAllShapes) {
    for (const Shape inside : kAllShapes) {
      Params params;
      params.between = between;
      params.inside = inside;
      params.degree = 2;
      all.push_back(params);
    }
  }
  all[1].order = {2, 0, 3, 1};
  all[2].first = {0, 4, 1, 6};
  all[3].tree = {2, 2, -1, 0};
  all[3].order = {1, 3, 0, 2};
  for (const Params& params : all) {
    for (int rank = 0; rank < view.n_ranks(); ++rank) {
      const PlacesInSubnetTrees places(view, params, rank);
      for (int root = 0; root < view.n_ranks(); ++root)
        expect_same(places.with_root(root, root), place_in(subnet_tree(view, root, params, root), rank));
    }
  }
}

}  // namespace
}  // namespace eco::algo
