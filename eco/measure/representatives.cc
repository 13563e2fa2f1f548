#include "eco/measure/representatives.h"

#include <algorithm>
#include <map>
#include <utility>

#include "eco/base/quantile.h"

namespace eco::measure {
namespace {

constexpr int kBetweenLevels = 2;  // pairs

using Levels = std::pair<int, int>;

}  // namespace

std::vector<bool> representatives(const std::vector<int>& level_of_host) {
  const int n = static_cast<int>(level_of_host.size());
  std::map<int, std::vector<int>> hosts_of;
  for (int host = 0; host < n; ++host)
    hosts_of[level_of_host[static_cast<std::size_t>(host)]].push_back(host);
  std::map<Levels, bool> wanted;  // pairs of hosts, the lower first
  for (const auto& [level, hosts] : hosts_of) {
    const std::size_t m = hosts.size();
    for (std::size_t i = 0; m > 1 && i < m; ++i) wanted[std::minmax(hosts[i], hosts[(i + 1) % m])] = true;
    for (const auto& [other, others] : hosts_of) {
      if (other <= level) continue;
      for (std::size_t i = 0; i < kBetweenLevels; ++i) {
        wanted[std::minmax(hosts[i % m], others[i % others.size()])] = true;
      }
    }
  }
  std::vector<bool> chosen;
  for (int a = 0; a < n; ++a) {
    for (int b = a + 1; b < n; ++b) chosen.push_back(wanted.contains({a, b}));
  }
  return chosen;
}

void stand_in(std::vector<net::PairTimes>& pairs, const std::vector<int>& level_of_host) {
  const auto levels = [&](const net::PairTimes& pair) -> Levels {
    return std::minmax(level_of_host[static_cast<std::size_t>(pair.a)],
                       level_of_host[static_cast<std::size_t>(pair.b)]);
  };
  const std::size_t n_sizes = pairs.empty() ? 0 : pairs.front().seconds.size();
  for (std::size_t size = 0; size < n_sizes; ++size) {
    std::map<Levels, std::vector<double>> labels;
    for (const net::PairTimes& pair : pairs) {
      if (!pair.samples[size].empty()) labels[levels(pair)].push_back(pair.seconds[size]);
    }
    for (auto& [of, seconds] : labels) std::sort(seconds.begin(), seconds.end());
    for (net::PairTimes& pair : pairs) {
      if (pair.samples[size].empty()) pair.seconds[size] = base::quantile(labels.at(levels(pair)), 0.5);
    }
  }
}

}  // namespace eco::measure
