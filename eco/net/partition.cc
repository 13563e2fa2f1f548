#include "eco/net/partition.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "eco/base/errors.h"

namespace eco::net {
namespace {

struct Edge {
  double weight;
  int a;
  int b;
};

// Hosts with equal labels, as a Partition. Labels are visited by host, so parts come out by their lowest
// host.
template <class Label>
Partition group_by(const std::vector<Label>& label_of_host) {
  std::map<Label, std::size_t> part_of_label;
  Partition parts;
  for (std::size_t host = 0; host < label_of_host.size(); ++host) {
    const auto [place, is_new] = part_of_label.try_emplace(label_of_host[host], parts.size());
    if (is_new) parts.emplace_back();
    parts[place->second].push_back(static_cast<int>(host));
  }
  return parts;
}

}  // namespace

CostMatrix::CostMatrix(int n_hosts)
    : n_hosts_(n_hosts), costs_(static_cast<std::size_t>(n_hosts) * static_cast<std::size_t>(n_hosts), 0.0) {}

void CostMatrix::set(int a, int b, double cost) {
  costs_[index(a, b)] = cost;
  costs_[index(b, a)] = cost;
}

std::vector<int> part_of_host(const Partition& partition) {
  std::size_t n_hosts = 0;
  for (const std::vector<int>& part : partition) n_hosts += part.size();
  std::vector<int> part_of(n_hosts);
  for (std::size_t part = 0; part < partition.size(); ++part) {
    for (const int host : partition[part])
      part_of.at(static_cast<std::size_t>(host)) = static_cast<int>(part);
  }
  return part_of;
}

Partition partition_figure2(const CostMatrix& costs, double tolerance) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const int n = costs.n_hosts();
  const auto count = static_cast<std::size_t>(n);

  std::vector<double> node_min_edge(count, kInfinity);
  std::vector<Edge> edges;
  for (int a = 0; a < n; ++a) {
    for (int b = a + 1; b < n; ++b) {
      const double weight = costs(a, b);
      edges.push_back({weight, a, b});
      for (const int node : {a, b}) {
        double& lowest = node_min_edge[static_cast<std::size_t>(node)];
        lowest = std::min(lowest, weight);
      }
    }
  }
  std::sort(edges.begin(), edges.end(), [](const Edge& x, const Edge& y) {
    return std::tie(x.weight, x.a, x.b) < std::tie(y.weight, y.a, y.b);
  });

  // "Subnets empty" are hosts each with a label of its own and no cheapest edge yet, which forbids nothing.
  std::vector<int> subnet(count);
  for (int host = 0; host < n; ++host) subnet[static_cast<std::size_t>(host)] = host;
  std::vector<double> subnet_min_edge(count, kInfinity);

  for (const Edge& edge : edges) {
    const int of_a = subnet[static_cast<std::size_t>(edge.a)];
    const int of_b = subnet[static_cast<std::size_t>(edge.b)];
    if (of_a == of_b) continue;
    double& min_a = subnet_min_edge[static_cast<std::size_t>(of_a)];
    const double min_b = subnet_min_edge[static_cast<std::size_t>(of_b)];
    if (edge.weight > tolerance * node_min_edge[static_cast<std::size_t>(edge.a)]) continue;
    if (edge.weight > tolerance * node_min_edge[static_cast<std::size_t>(edge.b)]) continue;
    if (edge.weight > tolerance * min_a) continue;
    if (edge.weight > tolerance * min_b) continue;
    std::replace(subnet.begin(), subnet.end(), of_b, of_a);
    min_a = std::min({edge.weight, min_a, min_b});
  }
  return group_by(subnet);
}

Partition common_refinement(const std::vector<Partition>& partitions) {
  if (partitions.empty()) throw InvalidArgument("common_refinement: no partition given");
  std::vector<std::vector<int>> labels(part_of_host(partitions.front()).size());
  for (const Partition& partition : partitions) {
    const std::vector<int> part_of = part_of_host(partition);
    for (std::size_t host = 0; host < part_of.size(); ++host) labels.at(host).push_back(part_of[host]);
  }
  return group_by(labels);
}

}  // namespace eco::net
