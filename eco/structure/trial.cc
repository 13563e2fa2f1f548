#include "eco/structure/trial.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include "eco/net/partition.h"
#include "eco/structure/find.h"
#include "eco/structure/visible.h"

namespace eco::structure {
namespace {

using net::Level;
using net::Tree;
using net::without_first;

constexpr double kWithin = 0.15;
// An uplink that holds somebody up clearly, and one that clearly does not: what lies between depends on who sends to whom.
constexpr double kHoldsUp = 0.75;
// Figure 2's two reference sizes.
constexpr double kSmall = 1024;
constexpr double kLarge = 65536;
// Its samples are those of the finder's first visit of a pair.
constexpr int kSamples = 6;

net::Partition as_partition(const std::vector<int>& label_of_host) {
  std::map<int, std::vector<int>> hosts_of;
  for (int host = 0; host < static_cast<int>(label_of_host.size()); ++host) {
    hosts_of[label_of_host[host]].push_back(host);
  }
  net::Partition parts;
  for (auto& [label, hosts] : hosts_of) parts.push_back(std::move(hosts));
  std::sort(parts.begin(), parts.end());
  return parts;
}

// Figure 2 at two sizes, their refinement, on times with the noise that minima have left.
void try_figure2(const TrueNetwork& network, const SimulatedOptions& options, Trial& trial) {
  std::mt19937_64 random(options.seed);
  net::CostMatrix small(network.n_hosts());
  net::CostMatrix large(network.n_hosts());
  for (int a = 0; a < network.n_hosts(); ++a) {
    for (int b = a + 1; b < network.n_hosts(); ++b) {
      const double latency_s = network.latency_s(a, b);
      const double rate = network.shares({{a, b}}).front();
      const double noise = 1 + options.noise / kSamples * std::exponential_distribution<>(1)(random);
      small.set(a, b, noise * (latency_s + kSmall / rate));
      large.set(a, b, noise * (latency_s + kLarge / rate));
      trial.figure2_cost.network_s += 2 * kSamples * (2 * latency_s + (kSmall + kLarge) / rate);
      trial.figure2_cost.messages += 2 * (2 * kSamples + 4);
    }
  }
  const net::Partition parts =
      net::common_refinement({net::partition_figure2(small), net::partition_figure2(large)});
  trial.figure2_parts = parts.size();
  trial.figure2_right = parts == as_partition(visible_groups(network));
}

int depth_of_truth(const TrueNetwork& network) {
  int deepest = 0;
  for (const TrueHost& host : network.hosts) {
    int depth = 2;
    for (int level = host.level; network.levels[level].parent >= 0; level = network.levels[level].parent)
      ++depth;
    deepest = std::max(deepest, depth);
  }
  return deepest;
}

void compare_uplinks(const Tree& tree, const std::map<std::vector<int>, const TrueSplit*>& truth,
                     Trial& trial) {
  std::map<std::vector<int>, std::vector<const Level*>> levels_of;
  for (int level = 1; level < static_cast<int>(tree.levels.size()); ++level) {
    levels_of[without_first(tree.hosts_below(level), trial.n_hosts)].push_back(&tree.levels[level]);
  }
  for (const auto& [side, split] : truth) {
    const auto found = levels_of.find(side);
    if (found == levels_of.end()) continue;
    const bool is_said = std::any_of(found->second.begin(), found->second.end(), [](const Level* level) {
      return level->uplink_bytes_per_s.has_value();
    });
    if (split->bytes_per_s >= split->could_carry && is_said) ++trial.n_held_up_wrongly;
    if (split->bytes_per_s > kHoldsUp * split->could_carry) continue;
    ++trial.n_capacities;
    double error = 1;
    bool is_duplex_right = false;
    for (const Level* level : found->second) {
      if (!level->uplink_bytes_per_s) continue;
      const double of_level = std::abs(*level->uplink_bytes_per_s / split->bytes_per_s - 1);
      if (of_level < error) is_duplex_right = split->n_links > 1 || level->half_duplex == split->half_duplex;
      error = std::min(error, of_level);
    }
    trial.worst_capacity = std::max(trial.worst_capacity, error);
    trial.n_capacities_right += error <= kWithin ? 1 : 0;
    trial.n_duplex_right += is_duplex_right ? 1 : 0;
  }
}

void compare_media(const TrueNetwork& network, const Tree& tree, Trial& trial) {
  for (const Level& level : tree.levels) {
    if (level.hosts.size() < 2) continue;
    const bool is_bus = network.levels[network.hosts[level.hosts[0]].level].bus_bytes_per_s > 0;
    ++trial.n_media;
    trial.n_media_right += level.kind == (is_bus ? net::SubnetKind::bus : net::SubnetKind::switched) ? 1 : 0;
  }
}

}  // namespace

Trial try_structure(const TrueNetwork& network, const SimulatedOptions& options) {
  Trial trial;
  trial.n_hosts = network.n_hosts();
  SimulatedProbe probe(network, options);
  const Found found = find_structure(probe, options.seed);
  trial.pairs = found.pairs;
  trial.in_parallel = found.in_parallel;
  trial.cost = probe.cost();

  const std::vector<TrueSplit> all = true_splits(network);
  std::map<std::vector<int>, const TrueSplit*> truth;
  std::set<std::vector<int>> neither;  // right nor wrong to find
  for (const TrueSplit& split : all) {
    if (split.seen_by == SeenBy::nothing) continue;
    if (split.seen_by == SeenBy::sharing) {
      if (split.bytes_per_s > kHoldsUp * split.could_carry) {
        neither.insert(split.side);
        continue;
      }
      ++trial.n_only_shared;
    }
    truth[split.side] = &split;
  }
  trial.n_splits = static_cast<int>(truth.size());
  trial.depth = depth_of_truth(network);
  const std::set<std::vector<int>> splits = found.tree.splits();
  for (const auto& [side, split] : truth) trial.n_missed += splits.contains(side) ? 0 : 1;
  for (const auto& side : splits) trial.n_invented += truth.contains(side) || neither.contains(side) ? 0 : 1;
  compare_media(network, found.tree, trial);
  compare_uplinks(found.tree, truth, trial);
  try_figure2(network, options, trial);
  return trial;
}

}  // namespace eco::structure
