#include "eco/structure/generate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "eco/net/tree.h"
#include "eco/structure/visible.h"

namespace eco::structure {
namespace {

using net::without_first;

constexpr double kMbit = 1e6 / 8;
constexpr int kMostHosts = 1000;
constexpr int kFewestHosts = 8;
constexpr int kMostOnBus = 24;
constexpr std::size_t kMostSites = 8;

class Generator {
 public:
  Generator(unsigned long seed, int index) : dice_(seed * 1000003UL + static_cast<unsigned long>(index)) {
    // Of small networks there are as many as of large ones.
    const double size = std::exp(between(std::log(kFewestHosts), std::log(kMostHosts + 1)));
    n_hosts_ = index % 30 == 29 ? kMostHosts : std::clamp(static_cast<int>(size), kFewestHosts, kMostHosts);
    gradual_ = chance(0.2) ? 0.15 : 0.03;
  }

  TrueNetwork run() {
    int height = number(1, 4);
    while (height > 1 && n_hosts_ < 4 * (1 << height)) --height;
    top_ = height;
    network_.levels.push_back({});
    fill(0, n_hosts_, height);
    shuffle_hosts();
    network_.finish();
    make_clear();
    return std::move(network_);
  }

 private:
  double between(double low, double high) { return std::uniform_real_distribution<>(low, high)(dice_); }
  int number(int low, int high) { return std::uniform_int_distribution<>(low, high)(dice_); }
  bool chance(double share) { return between(0, 1) < share; }

  // What the subtree can send, and the way between its two nearest.
  struct Filled {
    double supply = 0;
    double near_s = 0;
    double port = 0;
  };

  struct Medium {
    double bytes_per_s;
    bool is_bus;
    bool has_slow_ports;
  };

  Medium any_medium(int n) {
    static constexpr std::array<double, 3> kRates = {10, 100, 1000};
    const double rate = kRates[static_cast<std::size_t>(number(0, 2))] * between(0.8, 1.2) * kMbit;
    return {rate, n >= 2 && n <= kMostOnBus && chance(0.35), chance(0.3)};
  }

  Filled fill_medium(int level, int n, const Medium& medium) {
    Filled filled;
    const double arm_s = between(10e-6, 60e-6);
    filled.port = medium.bytes_per_s;
    filled.near_s = 2 * arm_s;
    for (int i = 0; i < n; ++i) {
      TrueHost host;
      host.level = level;
      host.port.latency_s = arm_s * (1 + between(0, gradual_));
      if (!medium.is_bus) {
        host.port.bytes_per_s = medium.bytes_per_s * (medium.has_slow_ports && chance(0.1) ? 0.5 : 1);
        filled.supply += host.port.bytes_per_s;
      }
      network_.hosts.push_back(host);
    }
    if (medium.is_bus) filled.supply = network_.levels[level].bus_bytes_per_s = medium.bytes_per_s;
    return filled;
  }

  // At least two hosts each, and unequal.
  std::vector<int> parts(int n, int count) {
    std::vector<double> weights;
    double total = 0;
    for (int i = 0; i < count; ++i) {
      weights.push_back(0.15 + std::exponential_distribution<>(1)(dice_));
      total += weights.back();
    }
    std::vector<int> sizes;
    int left = n - 2 * count;
    for (const double weight : weights) {
      sizes.push_back(2 + static_cast<int>(weight / total * (n - 2 * count)));
      left -= sizes.back() - 2;
    }
    sizes.back() += left;
    return sizes;
  }

  Filled fill(int level, int n, int height) {
    if (height == 1 || n < 4) return fill_medium(level, n, any_medium(n));
    const int n_lone = n > 8 && chance(0.25) ? number(1, 2) : 0;
    const bool is_campus = height == 2 && chance(0.15);
    const int most = is_campus ? std::min(40, (n - n_lone) / 4) : std::min(8, (n - n_lone) / 3);
    const std::vector<int> sizes = parts(n - n_lone, number(2, std::max(2, most)));
    // All children alike but for their rates: only these tell them apart.
    const bool only_by_rate = height == 2 && chance(0.15);
    const Medium alike{any_medium(0).bytes_per_s, false, false};
    const bool is_far = height == top_ && sizes.size() <= kMostSites && chance(0.35);

    Filled all;
    all.near_s = std::numeric_limits<double>::infinity();
    for (const int size : sizes) {
      const int child = static_cast<int>(network_.levels.size());
      network_.levels.push_back({.parent = level});
      const int lower = chance(0.25) ? number(1, height - 1) : height - 1;
      const Filled below = only_by_rate ? fill_medium(child, size, alike) : fill(child, size, lower);
      Link up;
      up.latency_s = only_by_rate ? 0 : is_far ? between(1e-3, 10e-3) : below.near_s * between(0.15, 1);
      if (only_by_rate) {
        up.bytes_per_s = below.port * between(0.2, 0.5);
      } else {
        up.bytes_per_s = below.supply * (chance(0.6) ? between(0.15, 0.6) : between(1.2, 2));
        up.half_duplex = chance(0.15);
      }
      network_.levels[child].up = up;
      all.near_s = std::min(all.near_s, below.near_s + 2 * up.latency_s);
      all.supply += std::min(below.supply, up.bytes_per_s);
      all.port = std::max(all.port, below.port);
    }
    for (int i = 0; i < n_lone; ++i) {
      TrueHost host;
      host.level = level;
      host.port = {all.near_s * between(0.3, 0.8), all.port * between(0.3, 1), false};
      network_.hosts.push_back(host);
      all.supply += host.port.bytes_per_s;
    }
    return all;
  }

  // Numbers say nothing of where a host is.
  void shuffle_hosts() { std::shuffle(network_.hosts.begin(), network_.hosts.end(), dice_); }

  std::vector<int> hosts_below(int level) const {
    std::vector<int> hosts;
    for (int host = 0; host < network_.n_hosts(); ++host) {
      int at = network_.hosts[host].level;
      while (at > level) at = network_.levels[at].parent;
      if (at == level) hosts.push_back(host);
    }
    return hosts;
  }

  // Links that take some time, but not enough, take more of it.
  void make_clear() {
    constexpr double kLonger = 1.4;
    constexpr int kMostTimes = 60;
    std::vector<std::vector<int>> side_of_level(network_.levels.size());
    for (int level = 1; level < static_cast<int>(network_.levels.size()); ++level) {
      side_of_level[level] = without_first(hosts_below(level), network_.n_hosts());
    }
    for (int i = 0; i < kMostTimes; ++i) {
      std::map<std::vector<int>, double> share_of;
      for (const TrueSplit& split : true_splits(network_)) share_of[split.side] = split.share;
      bool is_clear = true;
      for (std::size_t level = 1; level < network_.levels.size(); ++level) {
        Link& up = network_.levels[level].up;
        const auto found = share_of.find(side_of_level[level]);
        if (up.latency_s == 0 || found == share_of.end() || found->second >= kClear) continue;
        up.latency_s *= kLonger;
        is_clear = false;
      }
      if (is_clear) return;
    }
  }

  std::mt19937_64 dice_;
  int n_hosts_ = 0;
  int top_ = 1;
  double gradual_ = 0;
  TrueNetwork network_;
};

}  // namespace

TrueNetwork generate_network(unsigned long seed, int index) { return Generator(seed, index).run(); }

}  // namespace eco::structure
