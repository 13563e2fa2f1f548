// Which hosts form a subnet, decided from the costs between them alone.
//
//   Partition small = partition_figure2(cost_at_1_kib);
//   Partition large = partition_figure2(cost_at_64_kib);
//   Partition subnets = common_refinement({small, large});
//
// Local, pure, deterministic: equal costs are taken in the order of the lower host indices.
#pragma once

#include <cstddef>
#include <vector>

namespace eco::net {

// Symmetric costs between hosts 0 .. n-1; the diagonal is not looked at.
class CostMatrix {
 public:
  explicit CostMatrix(int n_hosts);
  int n_hosts() const { return n_hosts_; }
  double operator()(int a, int b) const { return costs_[index(a, b)]; }
  void set(int a, int b, double cost);

 private:
  std::size_t index(int a, int b) const {
    return static_cast<std::size_t>(a) * static_cast<std::size_t>(n_hosts_) + static_cast<std::size_t>(b);
  }
  int n_hosts_;
  std::vector<double> costs_;
};

// Every host in exactly one part; hosts ascending in a part, parts ordered by their lowest host.
using Partition = std::vector<std::vector<int>>;

// By host, the number of its part.
std::vector<int> part_of_host(const Partition& partition);

// The algorithm of Figure 2 in Lowekamp and Beguelin, "ECO", CMU-CS-95-191 (1995), to the letter. Two hosts
// become neighbours if the edge between them costs at most `tolerance` times the cheapest edge of each of
// them, and at most `tolerance` times the cheapest edge inside the subnet that either is in already. What it
// does not check, on purpose: the other edges between the two subnets that merge. So one edge measured too
// dear changes nothing (unless it is the only one that joins its hosts); one measured too cheap does, because
// it lowers its hosts' cheapest edge.
Partition partition_figure2(const CostMatrix& costs, double tolerance = 1.20);

// Hosts are together if they are together in every one of the partitions (all of the same hosts).
Partition common_refinement(const std::vector<Partition>& partitions);

}  // namespace eco::net
