// The Network as one communicator sees it. Algorithms and recipes speak in its labels, never in host names.
//
//   GroupView view = make_view(network, host_of_rank);
//   view.subnets[view.subnet_of_rank[root]].ranks          // the root's neighbours
//
// Built from integers alone (partition, kinds, host of each rank): equal on every rank.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "eco/coll/neighborhood.h"
#include "eco/net/network.h"

namespace eco::net {

struct SubnetView {
  std::vector<int>
      ranks;  // grouped by host, hosts ascending, ranks ascending: neighbours in this order are near
  SubnetKind kind = SubnetKind::unknown;
};

struct GroupView {
  std::shared_ptr<const Network> network;  // never null
  std::vector<int> host_of_rank;
  std::vector<SubnetView> subnets;  // those with ranks only, in the network's order
  std::vector<int> subnet_of_rank;  // index into subnets
  // Of a communicator with a topology, once it is known: the graph of problems that follow one.
  std::shared_ptr<const coll::Neighborhood> neighbors{};

  int n_ranks() const { return static_cast<int>(host_of_rank.size()); }
  int host_of(int rank) const { return host_of_rank[static_cast<std::size_t>(rank)]; }
  // How many of its hosts have that rail; of rail 0 all.
  int n_hosts_on(int rail) const;
  int n_subnets() const { return static_cast<int>(subnets.size()); }
  // "3+3+2 switched": for tables and explanations.
  std::string describe() const;
};

// Local. Throws InvalidArgument if a rank's host is not in the network.
GroupView make_view(std::shared_ptr<const Network> network, std::vector<int> host_of_rank);

// Local. The network's host index of every rank, found by identity alone (the file's order of hosts need not
// be the job's). Throws InvalidArgument naming the first rank whose host the network does not know.
std::vector<int> locate_hosts(const Network& network, const std::vector<HostId>& host_of_each_rank);

}  // namespace eco::net
