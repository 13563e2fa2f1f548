// Visits of pairs, and the samples that they make: pairs are visited one at a time, but where they are far apart
// (long_ways.h) their small messages go in rounds of disjoint pairs, unless one pair of every two sites is quicker alone.
//
//   Visits visits(table, ping, false);
//   visits.visit_all(pairs, size, [&] { return clock() < deadline_s; });
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "eco/measure/long_ways.h"
#include "eco/measure/samples.h"
#include "eco/net/network.h"
#include "eco/structure/probe.h"

namespace eco::measure {

inline constexpr std::size_t kSmallestBytes = 8;

// Seconds one way of each of so many round trips, by pair; all pairs at the same time, and no host is in two.
using Pinger = std::function<std::vector<std::vector<double>>(const std::vector<structure::Pair>& pairs,
                                                              std::size_t bytes, int trips)>;

class Visits {
 public:
  // The table and the pinger are used as long as this lives. In a budget what is dear to visit is visited once, for two samples.
  Visits(SampleTable& table, const Pinger& ping, bool in_budget);

  // What the trips of a visit may take, beyond the first; 0: one trip.
  void set_visit_s(double seconds) { visit_s_ = seconds; }
  double visit_s() const { return visit_s_; }

  // What is known of the smallest message between two hosts.
  void saw(int a, int b, double seconds) { ways_.saw(a, b, seconds); }
  bool is_far(std::size_t pair) const { return ways_.are_far(table_.pairs[pair].a, table_.pairs[pair].b); }
  bool is_any_far() const;
  std::vector<int> sites() const { return ways_.sites(); }
  bool was_visited(std::size_t pair) const { return visited_[pair]; }

  void visit(std::size_t pair, std::size_t size);
  // Those that are far apart last. False if `in_time` said no before the end.
  bool visit_all(const std::vector<std::size_t>& pairs, std::size_t size,
                 const std::function<bool()>& in_time);
  // Seconds one way, no sample.
  double glance(std::size_t pair, std::size_t bytes) const {
    return ping_({hosts_of(pair)}, bytes, 1).front().front();
  }

 private:
  structure::Pair hosts_of(std::size_t pair) const { return {table_.pairs[pair].a, table_.pairs[pair].b}; }
  bool goes_in_rounds(std::size_t size) const {
    return table_.sizes[size] <= net::kSmallPairBytes && !disturbed_.contains(table_.sizes[size]);
  }
  bool is_dear(std::size_t pair) const;
  int trips_of(std::size_t pair, std::size_t size) const;
  void take(std::size_t pair, std::size_t size, const std::vector<double>& trips);
  void visit_round(const std::vector<std::size_t>& pairs, std::size_t size);
  void give_up_rounds(std::size_t size);
  bool disturb_each_other(const std::vector<std::size_t>& pairs,
                          const std::vector<std::vector<double>>& times, std::size_t size);

  SampleTable& table_;
  const Pinger& ping_;
  bool in_budget_;
  double visit_s_ = 0;
  LongWays ways_;
  std::vector<bool> visited_;
  std::set<std::size_t> disturbed_;                                // bytes of rounds that disturb
  std::set<std::pair<std::size_t, std::pair<int, int>>> checked_;  // bytes, and two sites
  std::map<std::size_t, std::set<std::size_t>> in_rounds_;  // by bytes: pairs with samples beside others
};

}  // namespace eco::measure
