#include "eco/net/sites.h"

#include <algorithm>
#include <map>

#include "eco/base/assert.h"

namespace eco::net {
namespace {

// Of the network's subnets, those that the view shows.
std::vector<int> subnets_in_network(const GroupView& view) {
  std::vector<int> subnets;
  for (const SubnetView& subnet : view.subnets) {
    const auto host = static_cast<std::size_t>(view.host_of(subnet.ranks.front()));
    subnets.push_back(view.network->subnet_of_host[host]);
  }
  return subnets;
}

// Equal labels become one site.
std::vector<int> numbered(const std::vector<int>& labels) {
  std::map<int, int> number_of;
  std::vector<int> sites;
  for (const int label : labels)
    sites.push_back(number_of.try_emplace(label, static_cast<int>(number_of.size())).first->second);
  return sites;
}

}  // namespace

std::vector<std::vector<int>> site_cuts(const GroupView& view) {
  const std::vector<Site>& sites = view.network->sites;
  const int n = view.n_subnets();
  std::vector<std::vector<int>> cuts;
  if (sites.empty() || n < 3) return cuts;
  const auto add = [&](const std::vector<int>& labels) {
    std::vector<int> cut = numbered(labels);
    const int n_sites = *std::max_element(cut.begin(), cut.end()) + 1;
    if (n_sites < 2 || n_sites == n || std::find(cuts.begin(), cuts.end(), cut) != cuts.end()) return;
    cuts.push_back(std::move(cut));
  };

  // Sites that a subnet is in, the outermost first.
  std::vector<std::vector<int>> sites_of;
  std::size_t depth = 0;
  for (const int subnet : subnets_in_network(view)) {
    std::vector<int>& of_subnet = sites_of.emplace_back();
    for (std::size_t i = 0; i < sites.size(); ++i) {
      if (sites[i].has(subnet)) of_subnet.push_back(static_cast<int>(i));
    }
    depth = std::max(depth, of_subnet.size());
  }
  const int alone = static_cast<int>(sites.size());  // what is of no site is labelled from here on
  for (std::size_t level = 0; level < depth; ++level) {
    std::vector<int> labels;
    std::vector<int> together;
    for (int s = 0; s < n; ++s) {
      const std::vector<int>& of_subnet = sites_of[static_cast<std::size_t>(s)];
      labels.push_back(level < of_subnet.size() ? of_subnet[level] : alone + 1 + s);
      together.push_back(of_subnet.empty() ? alone : labels.back());
    }
    add(labels);
    add(together);
  }
  return cuts;
}

bool are_sites(const std::vector<int>& sites, const GroupView& view) {
  return static_cast<int>(sites.size()) == view.n_subnets() && sites == numbered(sites);
}

GroupView join_subnets(const GroupView& view, const std::vector<int>& sites) {
  ECO_ASSERT(light, are_sites(sites, view), "every subnet has a site");
  GroupView joined;
  joined.network = view.network;
  joined.host_of_rank = view.host_of_rank;
  joined.neighbors = view.neighbors;
  joined.subnets.resize(static_cast<std::size_t>(*std::max_element(sites.begin(), sites.end()) + 1));
  for (std::size_t s = 0; s < sites.size(); ++s) {
    SubnetView& site = joined.subnets[static_cast<std::size_t>(sites[s])];
    const SubnetView& subnet = view.subnets[s];
    site.kind = site.ranks.empty() ? subnet.kind : SubnetKind::unknown;
    site.ranks.insert(site.ranks.end(), subnet.ranks.begin(), subnet.ranks.end());
  }
  for (const int subnet : view.subnet_of_rank)
    joined.subnet_of_rank.push_back(sites[static_cast<std::size_t>(subnet)]);
  return joined;
}

}  // namespace eco::net
