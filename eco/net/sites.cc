#include "eco/net/sites.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "eco/base/assert.h"
#include "eco/net/tour.h"

namespace eco::net {
namespace {

// Subnets are near by what a message of so many bytes takes.
constexpr std::size_t kTreeBytes = 65536;

// Of each subnet the network's sites that it is in, the outermost first.
std::vector<std::vector<int>> sites_around(const GroupView& view) {
  const std::vector<Site>& sites = view.network->sites;
  std::vector<std::vector<int>> around;
  for (const SubnetView& subnet : view.subnets) {
    const auto host = static_cast<std::size_t>(view.host_of(subnet.ranks.front()));
    const int in_network = view.network->subnet_of_host[host];
    std::vector<int>& of_subnet = around.emplace_back();
    for (std::size_t i = 0; i < sites.size(); ++i) {
      if (sites[i].has(in_network)) of_subnet.push_back(static_cast<int>(i));
    }
  }
  return around;
}

// Of each subnet: which speaks for the outermost site that it is in, for the one within that, ..., and itself; in every site
// the first in this order.
std::vector<std::vector<int>> speakers(const GroupView& view, const std::vector<int>& order) {
  const std::vector<std::vector<int>> around = sites_around(view);
  std::map<int, int> first_of_site;
  std::vector<std::vector<int>> speakers_of(order.size());
  for (const int s : order) {
    std::vector<int>& of_subnet = speakers_of[static_cast<std::size_t>(s)];
    for (const int site : around[static_cast<std::size_t>(s)])
      of_subnet.push_back(first_of_site.try_emplace(site, s).first->second);
    of_subnet.push_back(s);
  }
  return speakers_of;
}

// All subnets, those of one site after each other, at every depth; sites and what is in none in the view's order.
std::vector<int> site_by_site(const GroupView& view) {
  std::vector<int> order(view.subnets.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<std::vector<int>> places = speakers(view, order);
  std::sort(places.begin(), places.end());
  std::transform(places.begin(), places.end(), order.begin(), [](const auto& place) { return place.back(); });
  return order;
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
  const int n = view.n_subnets();
  std::vector<std::vector<int>> cuts;
  if (view.network->sites.empty() || n < 3) return cuts;
  const auto add = [&](const std::vector<int>& labels) {
    std::vector<int> cut = numbered(labels);
    const int n_sites = *std::max_element(cut.begin(), cut.end()) + 1;
    if (n_sites < 2 || n_sites == n || std::find(cuts.begin(), cuts.end(), cut) != cuts.end()) return;
    cuts.push_back(std::move(cut));
  };

  const std::vector<std::vector<int>> around = sites_around(view);
  std::size_t depth = 0;
  for (const std::vector<int>& of_subnet : around) depth = std::max(depth, of_subnet.size());
  if (depth == 0) return cuts;
  const int alone =
      static_cast<int>(view.network->sites.size());  // what is of no site is labelled from here on
  for (const std::size_t level : {std::size_t{0}, depth - 1}) {
    std::vector<int> labels;
    std::vector<int> together;
    for (int s = 0; s < n; ++s) {
      const std::vector<int>& of_subnet = around[static_cast<std::size_t>(s)];
      labels.push_back(level < of_subnet.size() ? of_subnet[level] : alone + 1 + s);
      together.push_back(of_subnet.empty() ? alone : labels.back());
    }
    add(labels);
    add(together);
  }
  return cuts;
}

std::vector<int> site_tree(const GroupView& view) {
  if (site_cuts(view).empty()) return {};
  const std::vector<int> order = nearest_first(view, Distances(view, kTreeBytes));
  const int top = order.front();
  std::vector<int> parents;
  for (const std::vector<int>& above : speakers(view, order)) {
    const int subnet = above.back();
    const auto parent =
        std::find_if(above.rbegin(), above.rend(), [&](int speaker) { return speaker != subnet; });
    parents.push_back(subnet == top ? -1 : (parent == above.rend() ? top : *parent));
  }
  return parents;
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
  for (const int s : site_by_site(view)) {
    SubnetView& site = joined.subnets[static_cast<std::size_t>(sites[static_cast<std::size_t>(s)])];
    const SubnetView& subnet = view.subnets[static_cast<std::size_t>(s)];
    site.kind = site.ranks.empty() ? subnet.kind : SubnetKind::unknown;
    site.ranks.insert(site.ranks.end(), subnet.ranks.begin(), subnet.ranks.end());
  }
  for (const int subnet : view.subnet_of_rank)
    joined.subnet_of_rank.push_back(sites[static_cast<std::size_t>(subnet)]);
  return joined;
}

}  // namespace eco::net
