#include "eco/measure/samples.h"

#include <algorithm>
#include <utility>

#include "eco/base/assert.h"

namespace eco::measure {
namespace {

constexpr double kConfirmed = 0.8;

}  // namespace

bool minimum_is_suspect(std::vector<double> samples, double agreement) {
  if (samples.size() < 2) return true;
  std::partial_sort(samples.begin(), samples.begin() + 2, samples.end());
  return samples[0] < agreement * samples[1];
}

double confirmed_minimum(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  for (std::size_t i = 0; i + 1 < samples.size(); ++i) {
    if (samples[i] >= kConfirmed * samples[i + 1]) return samples[i];
  }
  return samples.front();
}

SampleTable::SampleTable(int n_of_hosts) : n_hosts(n_of_hosts) {
  for (int a = 0; a < n_hosts; ++a) {
    for (int b = a + 1; b < n_hosts; ++b) pairs.push_back({a, b, {}, {}});
  }
}

// Row `a` of the pairs begins after (n-1) + (n-2) + ... + (n-a) of them.
std::size_t SampleTable::index_of(int a, int b) const {
  ECO_ASSERT(light, 0 <= a && a < b && b < n_hosts, "a pair is of these hosts");
  return static_cast<std::size_t>(a * n_hosts - a * (a + 1) / 2 + (b - a - 1));
}

std::size_t SampleTable::add_size(std::size_t bytes) {
  const auto place = std::upper_bound(sizes.begin(), sizes.end(), bytes) - sizes.begin();
  sizes.insert(sizes.begin() + place, bytes);
  for (net::PairTimes& pair : pairs) pair.samples.emplace(pair.samples.begin() + place);
  return static_cast<std::size_t>(place);
}

void SampleTable::drop_size(std::size_t size) {
  const auto place = static_cast<std::ptrdiff_t>(size);
  sizes.erase(sizes.begin() + place);
  for (net::PairTimes& pair : pairs) pair.samples.erase(pair.samples.begin() + place);
}

std::vector<KnownTimes> picked_times(
    const std::vector<std::size_t>& sizes, const std::vector<net::PairTimes>& pairs,
    const std::function<bool(const std::vector<double>& samples)>& are_wanted) {
  std::vector<KnownTimes> all;
  for (const net::PairTimes& pair : pairs) {
    KnownTimes times{pair.a, pair.b, {}};
    for (std::size_t size = 0; size < sizes.size(); ++size) {
      if (are_wanted(pair.samples[size])) times.samples[sizes[size]] = pair.samples[size];
    }
    if (!times.samples.empty()) all.push_back(std::move(times));
  }
  return all;
}

}  // namespace eco::measure
