// Pair times: sweeps over all pairs of hosts and all sizes, and the number that labels a pair.
//
// The label is the lowest sweep, as in ECO: ambient traffic only ever adds time, so the minimum says most about the
// structure and needs the fewest sweeps. One sample that is too low (a clock that jumped) would break the partition,
// so a minimum counts only if another sweep confirms it: one under 0.8 of the next-lowest is measured again.
//
// A pair that is known at a size is not visited at that size: its samples are those that are known.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "eco/measure/characterize.h"
#include "eco/net/network.h"

namespace eco::measure {

// Whether the lowest sample is under 0.8 of the next-lowest (or has none beside it).
bool minimum_is_suspect(const std::vector<double>& samples);
// The lowest sample that the next-lowest confirms; the lowest of all if none is confirmed.
double confirmed_minimum(const std::vector<double>& samples);

// One sample: seconds one way between two hosts, over so many round trips.
using Pinger = std::function<double(int a, int b, std::size_t bytes, int trips)>;
using Progress = std::function<void(const std::string& what, double fraction)>;

// What is known of a pair; hosts a < b, samples by size.
struct KnownTimes {
  int a = 0;
  int b = 0;
  std::map<std::size_t, std::vector<double>> samples;
};

struct SweepOptions {
  double budget_s = 0;  // for the sweeps alone; 0: no limit
  int sweeps = 4;
  Clock clock;
  Progress progress;
  std::vector<KnownTimes> known;
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
// largest size that fits; if that leaves time, at the other sizes at which pairs are known. Throws Unsupported if not
// even the smallest fit.
PairSamples sweep_pairs(int n_hosts, const Pinger& ping, const SweepOptions& options);

}  // namespace eco::measure
