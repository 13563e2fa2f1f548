// Which hosts are far apart, by the smallest messages that were exchanged so far.
//
//   LongWays ways(n_hosts);
//   ways.saw(0, 1, seconds);             // one way
//   ways.are_far(1, 2)                   // also of two that never met: if a third is near one of them only
//
// Over a long way a visit is waiting: for the message, and before it for the orders. Pairs that are far apart are visited at
// the same time, since what their small messages can do to each other is little beside the way. (sentinels.h asks near pairs so,
// too, where others are far: what was disturbed is asked again.)
#pragma once

#include <cstddef>
#include <vector>

namespace eco::measure {

// One way. Hosts of one building are below a millisecond, and what a busy processor adds is below that too.
inline constexpr double kLongWay_s = 3e-3;

class LongWays {
 public:
  explicit LongWays(int n_hosts);

  // The lowest time counts.
  void saw(int a, int b, double seconds);
  // False as long as nothing says so.
  bool are_far(int a, int b) const;
  // By host, ascending from 0 in the order of their first hosts: those that are joined by ways that are not long, as far as
  // these are known.
  std::vector<int> sites() const;

 private:
  double& seconds(int a, int b) { return seconds_[index(a, b)]; }
  double seconds(int a, int b) const { return seconds_[index(a, b)]; }
  std::size_t index(int a, int b) const {
    return static_cast<std::size_t>(a) * static_cast<std::size_t>(n_hosts_) + static_cast<std::size_t>(b);
  }
  bool is_known(int a, int b) const { return seconds(a, b) >= 0; }

  int n_hosts_;
  std::vector<double> seconds_;  // by both hosts; negative: not known
};

}  // namespace eco::measure
