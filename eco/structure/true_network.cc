#include "eco/structure/true_network.h"

#include <algorithm>
#include <cmath>

#include "eco/base/assert.h"

namespace eco::structure {

void TrueNetwork::finish() {
  depth_.assign(levels.size(), 0);
  capacity_.clear();
  for (const TrueHost& host : hosts) {
    capacity_.push_back(host.port.bytes_per_s);
    capacity_.push_back(host.port.bytes_per_s);
  }
  for (std::size_t l = 0; l < levels.size(); ++l) {
    const TrueLevel& level = levels[l];
    ECO_ASSERT(light, level.parent < static_cast<int>(l), "parents come before their children");
    if (level.parent >= 0) depth_[l] = depth_[level.parent] + 1;
    capacity_.push_back(level.up.bytes_per_s);
    capacity_.push_back(level.up.bytes_per_s);
    capacity_.push_back(level.bus_bytes_per_s > 0 ? level.bus_bytes_per_s
                                                  : std::numeric_limits<double>::infinity());
  }
}

double TrueNetwork::latency_s(int a, int b) const {
  double seconds = hosts[a].port.latency_s + hosts[b].port.latency_s;
  int low = hosts[a].level;
  int high = hosts[b].level;
  while (low != high) {
    int& deeper = depth_[low] >= depth_[high] ? low : high;
    seconds += levels[deeper].up.latency_s;
    deeper = levels[deeper].parent;
  }
  return seconds;
}

std::vector<int> TrueNetwork::route(int from, int to) const {
  const int first_level = 2 * n_hosts();
  const auto out = [&](int level) { return first_level + 3 * level; };
  const auto in = [&](int level) { return first_level + 3 * level + (levels[level].up.half_duplex ? 0 : 1); };
  const auto bus = [&](int level) { return first_level + 3 * level + 2; };
  std::vector<int> crossed = {2 * from, 2 * to + 1};
  int low = hosts[from].level;
  int high = hosts[to].level;
  while (low != high) {
    if (depth_[low] >= depth_[high]) {
      crossed.insert(crossed.end(), {bus(low), out(low)});
      low = levels[low].parent;
    } else {
      crossed.insert(crossed.end(), {bus(high), in(high)});
      high = levels[high].parent;
    }
  }
  crossed.push_back(bus(low));
  std::erase_if(crossed, [this](int r) { return std::isinf(capacity_[r]); });
  return crossed;
}

std::vector<double> TrueNetwork::shares(const std::vector<Pair>& flows) const {
  std::vector<std::vector<int>> routes;
  std::vector<double> left = capacity_;
  std::vector<int> load(capacity_.size(), 0);
  for (const Pair& flow : flows) {
    routes.push_back(route(flow.from, flow.to));
    for (const int r : routes.back()) ++load[r];
  }
  // Whoever crosses the resource with the least for each gets that; the rest goes on without them.
  std::vector<double> share(flows.size(), 0);
  std::vector<std::size_t> open;
  for (std::size_t f = 0; f < flows.size(); ++f) open.push_back(f);
  while (!open.empty()) {
    double least = std::numeric_limits<double>::infinity();
    for (const std::size_t f : open) {
      for (const int r : routes[f]) least = std::min(least, left[r] / load[r]);
    }
    ECO_ASSERT(light, std::isfinite(least), "every route has a slowest resource");
    const double limit = least * (1 + 1e-9);
    std::vector<std::size_t> settled;
    for (const std::size_t f : open) {
      if (std::any_of(routes[f].begin(), routes[f].end(),
                      [&](int r) { return left[r] / load[r] <= limit; })) {
        settled.push_back(f);
      }
    }
    for (const std::size_t f : settled) {
      share[f] = least;
      for (const int r : routes[f]) {
        left[r] = std::max(0.0, left[r] - least);
        --load[r];
      }
    }
    std::erase_if(open, [&](std::size_t f) { return share[f] > 0; });
  }
  return share;
}

}  // namespace eco::structure
