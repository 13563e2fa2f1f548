#include "eco/net/group_view.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "eco/base/errors.h"

namespace eco::net {

GroupView make_view(std::shared_ptr<const Network> network, std::vector<int> host_of_rank) {
  if (network == nullptr) throw InvalidArgument("make_view: no network given");
  for (std::size_t rank = 0; rank < host_of_rank.size(); ++rank) {
    if (host_of_rank[rank] < 0 || host_of_rank[rank] >= network->n_hosts()) {
      throw InvalidArgument("make_view: rank " + std::to_string(rank) + " is on host " +
                            std::to_string(host_of_rank[rank]) + ", but the network has hosts 0 to " +
                            std::to_string(network->n_hosts() - 1));
    }
  }
  GroupView view;
  view.subnet_of_rank.assign(host_of_rank.size(), -1);
  std::vector<std::vector<int>> ranks_of_host(network->hosts.size());
  for (std::size_t rank = 0; rank < host_of_rank.size(); ++rank) {
    ranks_of_host[static_cast<std::size_t>(host_of_rank[rank])].push_back(static_cast<int>(rank));
  }
  for (const Subnet& subnet : network->subnets) {
    SubnetView seen{{}, subnet.kind};
    int hosts_with_ranks = 0;
    for (const int host : subnet.hosts) {
      const std::vector<int>& ranks = ranks_of_host[static_cast<std::size_t>(host)];
      seen.ranks.insert(seen.ranks.end(), ranks.begin(), ranks.end());
      if (!ranks.empty()) ++hosts_with_ranks;
    }
    if (seen.ranks.empty()) continue;
    if (hosts_with_ranks == 1) seen.kind = SubnetKind::lone;
    for (const int rank : seen.ranks) {
      view.subnet_of_rank[static_cast<std::size_t>(rank)] = static_cast<int>(view.subnets.size());
    }
    view.subnets.push_back(std::move(seen));
  }
  view.network = std::move(network);
  view.host_of_rank = std::move(host_of_rank);
  return view;
}

std::vector<int> locate_hosts(const Network& network, const std::vector<HostId>& host_of_each_rank) {
  std::vector<int> sorted(network.hosts.size());
  std::iota(sorted.begin(), sorted.end(), 0);
  const auto host = [&](int index) -> const HostId& {
    return network.hosts[static_cast<std::size_t>(index)];
  };
  std::sort(sorted.begin(), sorted.end(), [&](int a, int b) { return host(a) < host(b); });
  const auto find = [&](const HostId& wanted) {
    const auto at = std::lower_bound(sorted.begin(), sorted.end(), wanted,
                                     [&](int index, const HostId& id) { return host(index) < id; });
    return at != sorted.end() && host(*at) == wanted ? *at : -1;
  };
  std::vector<int> located;
  located.reserve(host_of_each_rank.size());
  for (std::size_t rank = 0; rank < host_of_each_rank.size(); ++rank) {
    const HostId& wanted = host_of_each_rank[rank];
    // Ranks often stand in the order of their hosts: where the one before is, or on the next.
    const int last = located.empty() ? -1 : located.back();
    int found = -1;
    for (const int guess : {last, last + 1}) {
      if (found < 0 && guess >= 0 && guess < network.n_hosts() && host(guess) == wanted) found = guess;
    }
    if (found < 0) found = find(wanted);
    if (found < 0) {
      throw InvalidArgument("rank " + std::to_string(rank) + " runs on host '" + wanted.name + "' (" +
                            wanted.address +
                            "), which this network does not know; measure again with eco characterize");
    }
    located.push_back(found);
  }
  return located;
}

int GroupView::n_hosts_on(int rail) const {
  std::vector<bool> seen(network->hosts.size(), false);
  for (const int host : host_of_rank) seen[static_cast<std::size_t>(host)] = network->has_rail(host, rail);
  return static_cast<int>(std::count(seen.begin(), seen.end(), true));
}

std::string GroupView::describe() const {
  std::string sizes;
  bool mixed = false;
  for (const SubnetView& subnet : subnets) {
    if (!sizes.empty()) sizes += "+";
    sizes += std::to_string(subnet.ranks.size());
    mixed = mixed || subnet.kind != subnets.front().kind;
  }
  if (subnets.empty()) return "no ranks";
  if (!mixed) return sizes + " " + std::string(name(subnets.front().kind));
  std::string kinds;
  for (const SubnetView& subnet : subnets) {
    if (!kinds.empty()) kinds += ", ";
    kinds += name(subnet.kind);
  }
  return sizes + " (" + kinds + ")";
}

}  // namespace eco::net
