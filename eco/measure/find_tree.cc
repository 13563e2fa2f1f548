#include "eco/measure/find_tree.h"

#include <algorithm>
#include <map>
#include <utility>

#include "eco/measure/derive.h"
#include "eco/measure/samples.h"
#include "eco/measure/visits.h"
#include "eco/structure/disjoint.h"
#include "eco/structure/find.h"
#include "eco/structure/sampler.h"

namespace eco::measure {
namespace {

std::string sizes_of(const net::Partition& parts) {
  std::string text;
  for (const auto& part : parts) {
    if (!text.empty()) text += '+';
    text += std::to_string(part.size());
  }
  return text;
}

// What was measured before, once.
class Remembered final : public structure::Probe {
 public:
  Remembered(int n_hosts, ProbeSamples samples) : n_hosts_(n_hosts), samples_(std::move(samples)) {}
  int n_hosts() const override { return n_hosts_; }
  std::vector<std::vector<double>> latencies(const std::vector<structure::Round>& rounds, int,
                                             structure::Pace) override {
    std::vector<std::vector<double>> seconds;
    for (const structure::Round& round : rounds) {
      for (const structure::Pair& pair : round)
        seconds.push_back(std::exchange(samples_[structure::pair_key(pair.from, pair.to)], {}));
    }
    return seconds;
  }
  std::vector<double> rates(const std::vector<structure::Pair>&, double) override { return {}; }
  structure::Cost cost() const override { return {}; }

 private:
  int n_hosts_;
  ProbeSamples samples_;
};

// All at the same time, as far as they can: one after the other takes as long as timing the pairs. Of more hosts few pairs are
// asked for.
void open_connections(Conductor& conductor, const std::vector<int>& rank_of_host) {
  constexpr int kMostHosts = 32;
  const int n = static_cast<int>(rank_of_host.size());
  if (n > kMostHosts) return;
  std::vector<structure::Pair> waiting;
  for (int a = 0; a < n; ++a) {
    for (int b = a + 1; b < n; ++b) waiting.push_back({a, b});
  }
  while (!waiting.empty())
    conductor.trips(flows_of(structure::take_disjoint(waiting, n), rank_of_host), kSmallestBytes, 1);
}

void describe(net::Level& level, std::size_t s, const net::Network& network) {
  level.kind = network.subnets[s].kind;
  level.bytes_per_s = network.subnets[s].bytes_per_s;
  for (const net::Uplink& uplink : network.uplinks) {
    if (uplink.subnet != static_cast<int>(s) || !uplink.shared) continue;
    level.uplink_bytes_per_s = uplink.bytes_per_s;
    level.half_duplex = uplink.half_duplex;
  }
}

}  // namespace

net::Tree tree_of_samples(const net::Network& network) {
  ProbeSamples samples = probe_samples(network);
  const auto n = network.hosts.size();
  if (samples.size() < n * (n - 1) / 2) return {};
  Remembered probe(network.n_hosts(), std::move(samples));
  structure::Found found = structure::find_latency_levels(probe);
  found.tree.in_parallel = false;
  for (net::Level& level : found.tree.levels) {
    for (std::size_t s = 0; s < network.subnets.size(); ++s) {
      if (network.subnets[s].hosts == level.hosts) describe(level, s, network);
    }
  }
  return std::move(found.tree);
}

TreeFound find_tree(Conductor& conductor, const TreeSearch& search) {
  LiveProbe probe(conductor, search.rank_of_host, search.clock, search.asked, search.known);
  const double start_s = search.clock();
  if (search.known.empty()) open_connections(conductor, search.rank_of_host);
  structure::Found found = structure::find_structure(probe);
  found.tree.in_parallel = found.in_parallel && search.known.empty();
  found.tree.seconds = search.clock() - start_s;
  return {std::move(found.tree), probe.samples()};
}

ProbeSamples probe_samples(const net::Network& network) {
  ProbeSamples samples;
  const auto size = std::find(network.sizes.begin(), network.sizes.end(), kProbeBytes);
  if (size == network.sizes.end()) return samples;
  for (const net::PairTimes& pair : network.pairs) {
    if (pair.samples.empty()) continue;
    const std::vector<double>& of_pair = pair.samples[static_cast<std::size_t>(size - network.sizes.begin())];
    if (!of_pair.empty()) samples[structure::pair_key(pair.a, pair.b)] = of_pair;
  }
  return samples;
}

bool says_the_same(const ProbeSamples& samples, int n_hosts, const net::Tree& tree) {
  net::CostMatrix costs(n_hosts);
  for (int a = 0; a < n_hosts; ++a) {
    for (int b = a + 1; b < n_hosts; ++b) {
      const auto found = samples.find(structure::pair_key(a, b));
      if (found == samples.end()) return true;
      costs.set(a, b, confirmed_minimum(found->second));
    }
  }
  return net::partition_figure2(costs) == tree.subnets();
}

std::vector<net::Uplink> uplinks_of(const net::Tree& tree, const std::vector<net::Subnet>& subnets) {
  const std::vector<int> level_of_host = tree.level_of_host();
  std::vector<net::Uplink> uplinks;
  for (std::size_t s = 0; s < subnets.size(); ++s) {
    const int host = subnets[s].hosts.front();
    auto level = static_cast<std::size_t>(level_of_host[static_cast<std::size_t>(host)]);
    // The root may be any level. Where all others hang on one child, the child's uplink is the root's own.
    if (level == 0 && tree.levels[0].children.size() == 1) {
      level = static_cast<std::size_t>(tree.levels[0].children.front());
    }
    const net::Level& joined = tree.levels[level];
    if (joined.parent >= 0 && !joined.children.empty() &&
        level == static_cast<std::size_t>(level_of_host[static_cast<std::size_t>(host)]))
      continue;
    if (subnets[s].hosts.size() < 2 || !joined.uplink_bytes_per_s) continue;
    uplinks.push_back({static_cast<int>(s), *joined.uplink_bytes_per_s, true, joined.half_duplex});
  }
  return uplinks;
}

std::vector<net::Site> sites_of(const net::Tree& tree, const std::vector<net::Subnet>& subnets) {
  std::map<std::vector<int>, net::Site> found;  // by its subnets
  const auto n_hosts = tree.is_known() ? tree.hosts_below(0).size() : 0;
  for (std::size_t l = 1; l < tree.levels.size(); ++l) {
    const net::Level& level = tree.levels[l];
    if (level.confidence < net::kSure) continue;
    const std::vector<int> below = tree.hosts_below(static_cast<int>(l));
    const bool is_above = 2 * below.size() > n_hosts;
    net::Site site{{}, level.uplink_bytes_per_s.value_or(0), level.half_duplex};
    bool is_of_whole_subnets = true;
    for (std::size_t s = 0; s < subnets.size(); ++s) {
      const auto n_below = std::count_if(subnets[s].hosts.begin(), subnets[s].hosts.end(), [&](int host) {
        return std::binary_search(below.begin(), below.end(), host);
      });
      if (n_below != 0 && n_below != std::ssize(subnets[s].hosts)) is_of_whole_subnets = false;
      if ((n_below == 0) == is_above) site.subnets.push_back(static_cast<int>(s));
    }
    if (!is_of_whole_subnets || site.subnets.size() < 2) continue;
    // The halves of a root with two links are parted by both.
    net::Site& known = found.try_emplace(site.subnets, site).first->second;
    if (known.bytes_per_s == 0 || (site.bytes_per_s > 0 && site.bytes_per_s < known.bytes_per_s))
      known = site;
  }
  std::vector<net::Site> sites;
  for (auto& [of_subnets, site] : found) sites.push_back(std::move(site));
  std::stable_sort(sites.begin(), sites.end(), [](const net::Site& a, const net::Site& b) {
    return a.subnets.size() > b.subnets.size();
  });
  return sites;
}

net::Partition settled_subnets(const net::Network& network, const net::Partition& by_figure2,
                               const net::Tree& of_samples) {
  if (!of_samples.is_sure()) return by_figure2;
  net::Partition by_tree = of_samples.subnets();
  const bool rates_agree = subnets_at(network.n_hosts(), network.pairs, network.sizes.size() - 1) == by_tree;
  return rates_agree ? std::move(by_tree) : by_figure2;
}

std::string verdict(const net::Tree& tree, const net::Partition& by_figure2, const net::Partition& subnets) {
  const net::Partition by_tree = tree.subnets();
  if (by_tree == by_figure2) return "the subnets are those of the tree, and Figure 2 says the same";
  if (subnets != by_figure2) {
    return "the subnets are those of the tree, whose levels were all confirmed; Figure 2 would say " +
           sizes_of(by_figure2);
  }
  const std::string why = tree.is_sure() ? "which knows messages of more sizes"
                                         : "as checks do not confirm every level of the tree";
  return "the subnets are those of Figure 2, " + why + "; the tree says " + sizes_of(by_tree);
}

}  // namespace eco::measure
