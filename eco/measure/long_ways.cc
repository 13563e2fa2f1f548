#include "eco/measure/long_ways.h"

#include <algorithm>
#include <cmath>

namespace eco::measure {

LongWays::LongWays(int n_hosts)
    : n_hosts_(n_hosts),
      seconds_(static_cast<std::size_t>(n_hosts) * static_cast<std::size_t>(n_hosts), -1.0) {
  for (int host = 0; host < n_hosts; ++host) seconds(host, host) = 0;
}

void LongWays::saw(int a, int b, double seconds_now) {
  const double lowest = is_known(a, b) ? std::min(seconds(a, b), seconds_now) : seconds_now;
  seconds(a, b) = seconds(b, a) = lowest;
}

bool LongWays::are_far(int a, int b) const {
  if (is_known(a, b)) return seconds(a, b) >= kLongWay_s;
  for (int third = 0; third < n_hosts_; ++third) {
    if (!is_known(third, a) || !is_known(third, b)) continue;
    if (std::abs(seconds(third, a) - seconds(third, b)) >= kLongWay_s) return true;
  }
  return false;
}

std::vector<int> LongWays::sites() const {
  std::vector<int> site(static_cast<std::size_t>(n_hosts_), -1);
  int n_sites = 0;
  for (int first = 0; first < n_hosts_; ++first) {
    if (site[static_cast<std::size_t>(first)] >= 0) continue;
    std::vector<int> open = {first};
    site[static_cast<std::size_t>(first)] = n_sites;
    while (!open.empty()) {
      const int host = open.back();
      open.pop_back();
      for (int other = 0; other < n_hosts_; ++other) {
        int& of_other = site[static_cast<std::size_t>(other)];
        if (of_other >= 0 || !is_known(host, other) || are_far(host, other)) continue;
        of_other = n_sites;
        open.push_back(other);
      }
    }
    ++n_sites;
  }
  return site;
}

}  // namespace eco::measure
