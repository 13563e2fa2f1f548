#include "eco/measure/representatives.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "eco/base/quantile.h"

namespace eco::measure {
namespace {

constexpr std::size_t kBetweenLevels = 2;  // pairs

using Levels = std::pair<int, int>;
using Hosts = std::vector<int>;

std::map<int, Hosts> hosts_by(const std::vector<int>& level_of_host) {
  std::map<int, Hosts> hosts_of;
  for (std::size_t host = 0; host < level_of_host.size(); ++host)
    hosts_of[level_of_host[host]].push_back(static_cast<int>(host));
  return hosts_of;
}

// Pairs of hosts, as they are wanted.
class Wanted {
 public:
  void add(int a, int b) { pairs_.insert(std::minmax(a, b)); }
  // The first `n` pairs of two sets of hosts, of which the smaller begins again where it ends.
  void add_across(const Hosts& some, const Hosts& others, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) add(some[i % some.size()], others[i % others.size()]);
  }
  std::vector<bool> by_pair(int n_hosts) const {
    std::vector<bool> chosen;
    for (int a = 0; a < n_hosts; ++a) {
      for (int b = a + 1; b < n_hosts; ++b) chosen.push_back(pairs_.contains({a, b}));
    }
    return chosen;
  }

 private:
  std::set<std::pair<int, int>> pairs_;  // the lower host first
};

}  // namespace

std::vector<bool> representatives(const std::vector<int>& level_of_host) {
  const std::map<int, Hosts> hosts_of = hosts_by(level_of_host);
  Wanted wanted;
  for (auto level = hosts_of.begin(); level != hosts_of.end(); ++level) {
    const Hosts& hosts = level->second;
    const std::size_t m = hosts.size();
    for (std::size_t i = 0; m > 1 && i < m; ++i) wanted.add(hosts[i], hosts[(i + 1) % m]);
    for (auto other = std::next(level); other != hosts_of.end(); ++other)
      wanted.add_across(hosts, other->second, kBetweenLevels);
  }
  return wanted.by_pair(static_cast<int>(level_of_host.size()));
}

std::vector<bool> representatives_of_sites(const std::vector<int>& site_of_host) {
  const std::map<int, Hosts> hosts_of = hosts_by(site_of_host);
  Wanted wanted;
  for (auto site = hosts_of.begin(); site != hosts_of.end(); ++site) {
    const Hosts& hosts = site->second;
    for (const int a : hosts) {
      for (const int b : hosts) {
        if (a < b) wanted.add(a, b);
      }
    }
    for (auto other = std::next(site); other != hosts_of.end(); ++other)
      wanted.add_across(hosts, other->second, std::max(hosts.size(), other->second.size()));
  }
  return wanted.by_pair(static_cast<int>(site_of_host.size()));
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
