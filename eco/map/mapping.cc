#include "eco/map/mapping.h"

#include <algorithm>
#include <numeric>

#include "eco/net/tour.h"

namespace eco::map {
namespace {

// Beginnings of the round through the subnets that are tried.
constexpr std::size_t kMostBeginnings = 16;
// Long enough that links and not latencies decide which are fast.
constexpr std::size_t kTourBytes = net::kLargestPairBytes;

}  // namespace

Mapping identity(int n_ranks) {
  Mapping mapping(static_cast<std::size_t>(n_ranks));
  std::iota(mapping.begin(), mapping.end(), 0);
  return mapping;
}

std::vector<int> inverse(const Mapping& mapping) {
  std::vector<int> back(mapping.size());
  for (std::size_t i = 0; i < mapping.size(); ++i) {
    back[static_cast<std::size_t>(mapping[i])] = static_cast<int>(i);
  }
  return back;
}

Mapping settled(const Mapping& mapping, const net::GroupView& view) {
  std::vector<std::vector<int>> ranks_of_host(view.network->hosts.size());
  const auto host = [&](int rank) { return static_cast<std::size_t>(view.host_of(rank)); };
  for (int rank = view.n_ranks() - 1; rank >= 0; --rank) ranks_of_host[host(rank)].push_back(rank);
  Mapping result;
  result.reserve(mapping.size());
  for (const int rank : mapping) {
    std::vector<int>& left = ranks_of_host[host(rank)];
    result.push_back(left.back());
    left.pop_back();
  }
  return result;
}

Mapping fill(const net::GroupView& view, const std::vector<int>& node_order,
             const std::vector<int>& rank_order) {
  Mapping mapping(rank_order.size(), -1);
  for (std::size_t i = 0; i < node_order.size(); ++i) {
    mapping[static_cast<std::size_t>(node_order[i])] = rank_order[i];
  }
  std::vector<int> rest(rank_order.begin() + static_cast<std::ptrdiff_t>(node_order.size()),
                        rank_order.end());
  std::sort(rest.begin(), rest.end());
  std::copy(rest.begin(), rest.end(), mapping.begin() + static_cast<std::ptrdiff_t>(node_order.size()));
  return settled(mapping, view);
}

std::vector<std::vector<int>> rank_orders(const net::GroupView& view) {
  std::vector<int> tour = net::min_max_tour(view, kTourBytes);
  std::vector<std::vector<int>> orders;
  for (std::size_t i = 0; i < std::min(tour.size(), kMostBeginnings); ++i) {
    std::vector<int>& order = orders.emplace_back();
    for (const int subnet : tour) {
      const std::vector<int>& ranks = view.subnets[static_cast<std::size_t>(subnet)].ranks;
      order.insert(order.end(), ranks.begin(), ranks.end());
    }
    std::rotate(tour.begin(), tour.begin() + 1, tour.end());
  }
  return orders;
}

}  // namespace eco::map
