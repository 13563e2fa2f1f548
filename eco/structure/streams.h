// Rates that can be relied on: each round of streams repeated until its times are confirmed.
//
//   Streams streams(probe, latency);         // seconds between two hosts
//   const std::vector<double> together = streams.rates({{0, 1}, {2, 3}});
//   const double all = streams.total({{0, 1}, {0, 2}});
//
// Streams that share something need not share it fairly, now this one has more and now that one; so what several carry
// together is taken from each repetition by itself. Groups of streams on levels that have nothing in common flow at the same
// time, unless a round shows that they disturb each other: of the first, and of each with more streams than any before, a few
// groups are asked alone too. Rounds of as many streams as those that did are asked group by group.
#pragma once

#include <cstddef>
#include <limits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "eco/structure/grouping.h"
#include "eco/structure/probe.h"

namespace eco::structure {

class Streams {
 public:
  Streams(Probe& probe, Latency latency) : probe_(probe), latency_(std::move(latency)) {}

  // Of each flow, all at the same time.
  std::vector<double> rates(const std::vector<Pair>& flows);
  double alone(Pair flow) { return rates({flow}).front(); }
  // Of all flows together.
  double total(const std::vector<Pair>& flows);

  using Group = std::vector<Pair>;
  // Of each flow of each group, beside the others of its group.
  std::vector<std::vector<double>> rates_of_groups(const std::vector<Group>& groups);
  std::vector<double> totals_of_groups(const std::vector<Group>& groups);
  // What the fastest stream of a host carried that was seen; 0 if none was.
  double fastest(int host) const;

 private:
  using Repetitions = std::vector<std::vector<double>>;  // rates, by repetition and flow
  enum class Wanted { each, total };
  Repetitions repeat(const std::vector<Pair>& flows, Wanted wanted);
  static bool is_in_doubt(const Repetitions& repetitions, Wanted wanted);
  // Repetitions of each group.
  std::vector<Repetitions> repeat_groups(const std::vector<Group>& groups, Wanted wanted);
  std::vector<Repetitions> all_at_once(const std::vector<Group>& groups, Wanted wanted);
  bool are_quiet(const std::vector<Group>& groups, const std::vector<Repetitions>& beside_others);

  Probe& probe_;
  Latency latency_;
  std::unordered_map<int, double> fastest_;  // by host
  std::size_t most_quiet_ = 0;               // streams at once that were seen to leave each other alone
  std::size_t least_loud_ = std::numeric_limits<std::size_t>::max();  // and that did not
};

}  // namespace eco::structure
