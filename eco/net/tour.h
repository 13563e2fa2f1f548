// The subnets as points with distances: what a message takes from one to another, and the ring through all of them.
//
//   const Distances distances(view, 65536);
//   distances(0, 1)                       // seconds of one message from subnet 0 to subnet 1
//   min_max_tour(view, 65536)           // {0, 2, 1, 3}: subnets, each once
//
// Local and pure; subnets are numbered as the view has them.
#pragma once

#include <cstddef>
#include <vector>

#include "eco/net/group_view.h"

namespace eco::net {

// Seconds of one message of so many bytes from a host of one subnet to one of another.
class Distances {
 public:
  Distances(const GroupView& view, std::size_t bytes);
  double operator()(int from, int to) const {
    return seconds_[static_cast<std::size_t>(from) * n_ + static_cast<std::size_t>(to)];
  }

 private:
  std::size_t n_;
  std::vector<double> seconds_;
};

// The subnets, those first from which a message to every other one takes least in sum.
std::vector<int> nearest_first(const GroupView& view, const Distances& distances);

// The subnets in the order of a ring whose slowest step from one to the next (and from the last to the first) is as
// fast as it can be, and among such rings the sum of the steps least: exact up to eight subnets.
std::vector<int> min_max_tour(const GroupView& view, std::size_t bytes);

}  // namespace eco::net
