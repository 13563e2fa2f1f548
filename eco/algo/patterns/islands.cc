#include "eco/algo/patterns/islands.h"

#include <algorithm>

namespace eco::algo {

net::GroupView by_hosts(const net::GroupView& view) {
  net::GroupView hosts;
  hosts.network = view.network;
  hosts.host_of_rank = view.host_of_rank;
  hosts.subnet_of_rank = view.subnet_of_rank;
  for (const net::SubnetView& subnet : view.subnets) {
    int last = -1;
    for (const int rank : subnet.ranks) {
      const int host = view.host_of(rank);
      if (host != last) hosts.subnets.push_back({{}, net::SubnetKind::lone});
      last = host;
      hosts.subnets.back().ranks.push_back(rank);
      hosts.subnet_of_rank[static_cast<std::size_t>(rank)] = hosts.n_subnets() - 1;
    }
  }
  return hosts;
}

bool has_islands(const net::GroupView& view, Islands islands) {
  const Seen seen(view, islands);
  const auto& all = seen.view().subnets;
  if (all.size() < 2 || (islands == Islands::hosts && all.size() == view.subnets.size())) return false;
  return std::any_of(all.begin(), all.end(), [](const net::SubnetView& one) { return one.ranks.size() > 1; });
}

}  // namespace eco::algo
