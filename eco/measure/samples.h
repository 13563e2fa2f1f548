// The samples of all pairs of hosts at all sizes, and the number that labels a pair.
//
// The label is the lowest sample, as in ECO: ambient traffic only ever adds time, so the minimum says most about the
// structure and needs the fewest samples. One that is too low (a clock that jumped) would break the partition,
// so a minimum counts only if another sample confirms it: one under 0.8 of the next-lowest is measured again.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <vector>

#include "eco/net/network.h"

namespace eco::measure {

// Whether the lowest sample is under `agreement` of the next-lowest (or has none beside it).
bool minimum_is_suspect(std::vector<double> samples, double agreement = 0.8);
// The lowest sample that the next-lowest confirms; the lowest of all if none is confirmed.
double confirmed_minimum(std::vector<double> samples);

struct SampleTable {
  explicit SampleTable(int n_hosts);

  // Of hosts a < b.
  std::size_t index_of(int a, int b) const;
  // Keeps sizes ascending; returns the place of the new one.
  std::size_t add_size(std::size_t bytes);
  void drop_size(std::size_t size);
  const std::vector<double>& of(std::size_t pair, std::size_t size) const {
    return pairs[pair].samples[size];
  }
  double label(std::size_t pair, std::size_t size) const { return confirmed_minimum(of(pair, size)); }

  int n_hosts = 0;
  std::vector<std::size_t> sizes;
  std::vector<net::PairTimes> pairs;  // (0, 1), (0, 2), ..., (1, 2), ...: samples, no labels
};

// What is known of a pair; hosts a < b, samples by size.
struct KnownTimes {
  int a = 0;
  int b = 0;
  std::map<std::size_t, std::vector<double>> samples;
};

// Of every pair the samples that are wanted, if there are.
std::vector<KnownTimes> picked_times(
    const std::vector<std::size_t>& sizes, const std::vector<net::PairTimes>& pairs,
    const std::function<bool(const std::vector<double>& samples)>& are_wanted);

}  // namespace eco::measure
