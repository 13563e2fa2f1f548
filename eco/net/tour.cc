#include "eco/net/tour.h"

#include <algorithm>
#include <compare>
#include <numeric>

namespace eco::net {
namespace {

// Orders of so many subnets are all tried for a tour.
constexpr int kAllToursUpTo = 8;

int host_in(const GroupView& view, std::size_t subnet) {
  return view.host_of(view.subnets[subnet].ranks.front());
}

struct TourCost {
  double slowest_s = 0;
  double sum_s = 0;
  friend auto operator<=>(const TourCost&, const TourCost&) = default;
};

TourCost cost_of(const std::vector<int>& tour, const Distances& distances) {
  TourCost cost;
  for (std::size_t i = 0; i < tour.size(); ++i) {
    const double s = distances(tour[i], tour[(i + 1) % tour.size()]);
    cost.slowest_s = std::max(cost.slowest_s, s);
    cost.sum_s += s;
  }
  return cost;
}

}  // namespace

Distances::Distances(const GroupView& view, std::size_t bytes)
    : n_(view.subnets.size()), seconds_(n_ * n_, 0.0) {
  for (std::size_t a = 0; a < n_; ++a) {
    for (std::size_t b = 0; b < n_; ++b) {
      if (a != b) seconds_[a * n_ + b] = view.network->message_s(host_in(view, a), host_in(view, b), bytes);
    }
  }
}

std::vector<int> nearest_first(const GroupView& view, const Distances& distances) {
  const int n = view.n_subnets();
  std::vector<double> sums(view.subnets.size(), 0.0);
  for (int s = 0; s < n; ++s) {
    for (int t = 0; t < n; ++t) sums[static_cast<std::size_t>(s)] += distances(s, t);
  }
  std::vector<int> order(view.subnets.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return sums[static_cast<std::size_t>(a)] < sums[static_cast<std::size_t>(b)];
  });
  return order;
}

std::vector<int> min_max_tour(const GroupView& view, std::size_t bytes) {
  const Distances distances(view, bytes);
  std::vector<int> tour(view.subnets.size());
  std::iota(tour.begin(), tour.end(), 0);
  if (tour.size() <= 3) return tour;  // up to the direction, which is symmetric, there is one
  std::vector<int> best = tour;
  TourCost best_cost = cost_of(best, distances);
  if (view.n_subnets() <= kAllToursUpTo) {
    while (std::next_permutation(tour.begin() + 1, tour.end())) {
      if (const TourCost cost = cost_of(tour, distances); cost < best_cost) {
        best_cost = cost;
        best = tour;
      }
    }
    return best;
  }
  // Two steps are taken out and the part between them is turned round, as long as that helps.
  for (bool improved = true; improved;) {
    improved = false;
    for (std::size_t a = 1; a + 1 < best.size(); ++a) {
      for (std::size_t b = a + 1; b < best.size(); ++b) {
        tour = best;
        std::reverse(tour.begin() + static_cast<std::ptrdiff_t>(a),
                     tour.begin() + static_cast<std::ptrdiff_t>(b) + 1);
        if (const TourCost cost = cost_of(tour, distances); cost < best_cost) {
          best_cost = cost;
          best = tour;
          improved = true;
        }
      }
    }
  }
  return best;
}

}  // namespace eco::net
