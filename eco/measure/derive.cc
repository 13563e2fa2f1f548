#include "eco/measure/derive.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>

#include "eco/base/quantile.h"

namespace eco::measure {
namespace {

constexpr std::size_t kLargestForLatency = 16384;

// A link between subnets under 0.8 of what both of them reach inside is a slow link of its own. Nearer rates are two
// estimates of the same thing.
constexpr double kSlower = 0.8;

// Two flows over one shared link end at twice their time; over separate links at 1 to 1.2 times.
constexpr double kShared = 1.4;

using Chosen = std::function<bool(const net::PairTimes&)>;

// Median over the chosen pairs of the slope between the two largest sizes.
double slope_rate(const net::Network& network, const Chosen& chosen) {
  std::vector<double> rates;
  const std::size_t last = network.sizes.size() - 1;
  for (const net::PairTimes& pair : network.pairs) {
    if (!chosen(pair)) continue;
    const double large = pair.seconds[last];
    // Noise can turn a slope of two sizes around; then the whole time of the large one is the safest statement.
    double rate = static_cast<double>(network.sizes[last]) / large;
    if (last > 0 && large > pair.seconds[last - 1]) {
      const double slope = static_cast<double>(network.sizes[last] - network.sizes[last - 1]) /
                           (large - pair.seconds[last - 1]);
      rate = std::max(rate, slope);
    }
    rates.push_back(rate);
  }
  return rates.empty() ? 0 : base::median(std::move(rates));
}

const net::ConcurrentTest* find_test(const net::Network& network, const std::vector<SharingTest>& questions,
                                     Question question, int subnet) {
  for (const SharingTest& asked : questions) {
    if (asked.question != question || asked.subnet != subnet) continue;
    for (const net::ConcurrentTest& test : network.concurrent) {
      if (test.what == asked.what()) return &test;
    }
  }
  return nullptr;
}

// Payload per second of all flows of a test together.
double aggregate_rate(const net::ConcurrentTest& test) {
  const double last = *std::max_element(test.together_s.begin(), test.together_s.end());
  return last > 0 ? static_cast<double>(test.bytes * test.pairs.size()) / last : 0;
}

// Weighted mean of what the chosen pairs' small messages took beyond the model without latency.
double latency_of(const net::Network& network, const Chosen& chosen) {
  double sum = 0;
  double weights = 0;
  for (const net::PairTimes& pair : network.pairs) {
    if (!chosen(pair)) continue;
    for (std::size_t i = 0; i < network.sizes.size(); ++i) {
      if (network.sizes[i] > kLargestForLatency) continue;
      const double measured = pair.seconds[i];
      const double weight = 1 / (measured * measured);
      sum += weight * (measured - network.message_s(pair.a, pair.b, network.sizes[i]));
      weights += weight;
    }
  }
  return weights > 0 ? std::max(0.0, sum / weights) : 0;
}

// Which hosts Figure 2 has in one subnet, at one size.
class Parts {
 public:
  Parts(int n_hosts, const std::vector<net::PairTimes>& pairs, std::size_t size)
      : part_of_host_(static_cast<std::size_t>(n_hosts)) {
    const net::Partition parts = subnets_at(n_hosts, pairs, size);
    for (std::size_t part = 0; part < parts.size(); ++part) {
      for (const int host : parts[part]) part_of_host_[static_cast<std::size_t>(host)] = part;
    }
  }
  bool join(const net::PairTimes& pair) const {
    return part_of_host_[static_cast<std::size_t>(pair.a)] == part_of_host_[static_cast<std::size_t>(pair.b)];
  }

 private:
  std::vector<std::size_t> part_of_host_;
};

std::vector<std::size_t> indices_where(const std::vector<net::PairTimes>& pairs, const Chosen& choose) {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (choose(pairs[i])) indices.push_back(i);
  }
  return indices;
}

}  // namespace

std::size_t nearest_size(const std::vector<std::size_t>& sizes, std::size_t wanted) {
  std::size_t best = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto distance = [&](std::size_t k) {
      return sizes[k] > wanted ? sizes[k] - wanted : wanted - sizes[k];
    };
    if (distance(i) < distance(best)) best = i;
  }
  return best;
}

net::Partition subnets_at(int n_hosts, const std::vector<net::PairTimes>& pairs, std::size_t size) {
  net::CostMatrix costs(n_hosts);
  for (const net::PairTimes& pair : pairs) costs.set(pair.a, pair.b, pair.seconds[size]);
  return net::partition_figure2(costs);
}

net::Partition find_subnets(int n_hosts, const std::vector<std::size_t>& sizes,
                            const std::vector<net::PairTimes>& pairs) {
  if (sizes.empty()) return net::partition_figure2(net::CostMatrix(n_hosts));
  return net::common_refinement({subnets_at(n_hosts, pairs, nearest_size(sizes, net::kSmallPairBytes)),
                                 subnets_at(n_hosts, pairs, sizes.size() - 1)});
}

std::vector<std::size_t> contested_pairs(int n_hosts, const std::vector<std::size_t>& sizes,
                                         const std::vector<net::PairTimes>& pairs, std::size_t size) {
  const std::size_t small = nearest_size(sizes, net::kSmallPairBytes);
  const std::size_t other = size == small ? sizes.size() - 1 : small;
  const Parts here(n_hosts, pairs, size);
  const Parts there(n_hosts, pairs, other);
  return indices_where(pairs,
                       [&](const net::PairTimes& pair) { return !here.join(pair) && there.join(pair); });
}

std::vector<std::size_t> close_pairs(int n_hosts, const std::vector<net::PairTimes>& pairs,
                                     std::size_t size) {
  const Parts parts(n_hosts, pairs, size);
  std::vector<double> nearest_s(static_cast<std::size_t>(n_hosts), std::numeric_limits<double>::infinity());
  for (const net::PairTimes& pair : pairs) {
    for (const int host : {pair.a, pair.b}) {
      double& nearest = nearest_s[static_cast<std::size_t>(host)];
      nearest = std::min(nearest, pair.seconds[size]);
    }
  }
  return indices_where(pairs, [&](const net::PairTimes& pair) {
    const double nearest =
        std::min(nearest_s[static_cast<std::size_t>(pair.a)], nearest_s[static_cast<std::size_t>(pair.b)]);
    return !parts.join(pair) && pair.seconds[size] < kClose * nearest;
  });
}

void derive_classes(net::Network& network, const net::Partition& subnets) {
  network.subnets.clear();
  network.between.clear();
  std::vector<int> subnet_of(network.hosts.size());
  for (std::size_t s = 0; s < subnets.size(); ++s) {
    for (const int host : subnets[s]) subnet_of[static_cast<std::size_t>(host)] = static_cast<int>(s);
  }
  const auto joins = [&](int s, int t) {
    return [&subnet_of, s, t](const net::PairTimes& pair) {
      const int a = subnet_of[static_cast<std::size_t>(pair.a)];
      const int b = subnet_of[static_cast<std::size_t>(pair.b)];
      return (a == s && b == t) || (a == t && b == s);
    };
  };
  const int n = static_cast<int>(subnets.size());
  std::vector<double> best_outside(subnets.size(), 0);
  for (int s = 0; s < n; ++s) {
    for (int t = s + 1; t < n; ++t) {
      const double rate = slope_rate(network, joins(s, t));
      network.between.push_back({s, t, 0, rate});
      for (const int end : {s, t}) {
        double& best = best_outside[static_cast<std::size_t>(end)];
        best = std::max(best, rate);
      }
    }
  }
  for (int s = 0; s < n; ++s) {
    const auto& hosts = subnets[static_cast<std::size_t>(s)];
    const bool lone = hosts.size() == 1;
    // A lone host's port is at least as fast as the best pair through it.
    const double rate = lone ? best_outside[static_cast<std::size_t>(s)] : slope_rate(network, joins(s, s));
    network.subnets.push_back({hosts, lone ? net::SubnetKind::lone : net::SubnetKind::unknown, 0, rate});
  }
}

double stream_rate(std::size_t bytes, int count, double one_s, double all_s) {
  if (count < 2 || !(all_s > one_s)) return 0;
  return static_cast<double>(bytes) * (count - 1) / (all_s - one_s);
}

void derive_site_links(net::Network& network) {
  for (net::Site& site : network.sites) {
    if (site.bytes_per_s > 0) continue;
    double inside = 0;
    double across = 0;
    for (const net::Between& pair : network.between) {
      const int n_inside = (site.has(pair.from) ? 1 : 0) + (site.has(pair.to) ? 1 : 0);
      if (n_inside == 2) inside = std::max(inside, pair.bytes_per_s);
      if (n_inside == 1) across = std::max(across, pair.bytes_per_s);
    }
    if (across < kSlower * inside) site.bytes_per_s = across;
  }
  limit_site_links(network.sites);
}

void limit_site_links(std::vector<net::Site>& sites) {
  for (std::size_t i = 0; i < sites.size(); ++i) {
    const auto n_around = std::count_if(
        sites.begin(), sites.begin() + static_cast<std::ptrdiff_t>(i),
        [&](const net::Site& other) { return other.bytes_per_s > 0 && other.has(sites[i].subnets.front()); });
    if (n_around >= net::kMostSiteLinks) sites[i].bytes_per_s = 0;
  }
}

void derive_uplinks(net::Network& network, const std::vector<SharingTest>& questions) {
  network.uplinks.clear();
  const auto n = network.subnets.size();
  for (std::size_t s = 0; s < n; ++s) {
    const net::Subnet& subnet = network.subnets[s];
    if (subnet.hosts.size() < 2) continue;  // what a lone host reaches is its own port
    double best = 0;
    bool slower_everywhere = n > 1;
    for (const net::Between& pair : network.between) {
      if (pair.from != static_cast<int>(s) && pair.to != static_cast<int>(s)) continue;
      best = std::max(best, pair.bytes_per_s);
      const net::Subnet& other =
          network.subnets[static_cast<std::size_t>(pair.from == static_cast<int>(s) ? pair.to : pair.from)];
      // A lone host has no rate inside to compare with.
      const double inside =
          other.hosts.size() < 2 ? subnet.bytes_per_s : std::min(subnet.bytes_per_s, other.bytes_per_s);
      if (pair.bytes_per_s >= kSlower * inside) slower_everywhere = false;
    }
    const auto* sharing = find_test(network, questions, Question::uplink, static_cast<int>(s));
    const bool measured_shared = sharing != nullptr && slowdown(*sharing) >= kShared;
    if (!slower_everywhere && !measured_shared) continue;

    net::Uplink uplink{static_cast<int>(s), best, true, false};
    if (sharing != nullptr) {
      uplink.shared = measured_shared;
      // A link somewhat faster than one pair can use shows as the sum of both.
      if (measured_shared) uplink.bytes_per_s = std::max(best, aggregate_rate(*sharing));
      const auto* duplex = find_test(network, questions, Question::duplex, static_cast<int>(s));
      uplink.half_duplex = measured_shared && duplex != nullptr && slowdown(*duplex) >= kShared;
    }
    network.uplinks.push_back(uplink);
  }
}

void fit_latencies(net::Network& network) {
  for (net::Subnet& subnet : network.subnets) subnet.latency_s = 0;
  for (net::Between& pair : network.between) pair.latency_s = 0;
  network.finish();
  const auto joins = [&network](int s, int t) {
    return [&network, s, t](const net::PairTimes& pair) {
      const int a = network.subnet_of_host[static_cast<std::size_t>(pair.a)];
      const int b = network.subnet_of_host[static_cast<std::size_t>(pair.b)];
      return (a == s && b == t) || (a == t && b == s);
    };
  };
  // All from the network without latencies; only then are they put in.
  std::vector<double> inside;
  std::vector<double> across;
  for (int s = 0; s < static_cast<int>(network.subnets.size()); ++s) {
    inside.push_back(latency_of(network, joins(s, s)));
  }
  for (const net::Between& pair : network.between)
    across.push_back(latency_of(network, joins(pair.from, pair.to)));
  for (std::size_t s = 0; s < inside.size(); ++s) network.subnets[s].latency_s = inside[s];
  for (std::size_t i = 0; i < across.size(); ++i) network.between[i].latency_s = across[i];
  network.finish();
}

}  // namespace eco::measure
