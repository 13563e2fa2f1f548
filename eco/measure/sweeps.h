// Pair times: sweeps over all pairs of hosts and all sizes. What labels a pair is said in samples.h, how one is visited in
// visits.h.
//
// A pair that is known at a size is not visited at that size: its samples are those that are known.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "eco/measure/characterize.h"
#include "eco/measure/samples.h"
#include "eco/measure/visits.h"
#include "eco/net/network.h"

namespace eco::measure {

// What was measured with less is no network for others: below it shapers let messages pass on credit, and a slow link looks
// like a fast one.
inline constexpr std::size_t kReliableBytes = 16384;

using Progress = std::function<void(const std::string& what, double fraction)>;

struct SweepOptions {
  double budget_s = 0;  // for the sweeps alone; 0: no limit
  double most_s = 0;    // with a budget: until when what can't be done without may take (at least budget_s)
  int sweeps = 4;
  Clock clock;
  Progress progress;
  std::vector<KnownTimes> known;
  // With a budget: is told of every pair what needs no measuring again, before Unsupported is thrown for want of time. Then
  // jobs after this one go on, and what is not done in time may be begun.
  std::function<void(const std::vector<KnownTimes>&)> keep{};
  // The level of each host in a tree that is sure. Then pairs that are not known are visited only if they represent others
  // (representatives.h), and what they say holds for these. Empty: every pair is.
  std::vector<int> level_of_host{};
};

struct PairSamples {
  std::vector<std::size_t> sizes;
  std::vector<net::PairTimes> pairs;  // all pairs, a < b, with their labels
  std::size_t measured = 0;           // of them visited, at one size or more
};

// Runs on rank 0. Without a budget: all standard sizes. With one: two sweeps of the two smallest sizes, then of the
// largest size that fits (of pairs that are far apart, one of every host and other site for all of them); if that leaves
// time, at the other sizes at which pairs are known. Throws Unsupported if not even the smallest fit; where they are kept,
// also if kReliableBytes do not, but will in a few jobs more.
PairSamples sweep_pairs(int n_hosts, const Pinger& ping, const SweepOptions& options);

}  // namespace eco::measure
