// Several levels: the sites that subnets form, as one communicator sees them.
//
//   for (const std::vector<int>& sites : site_cuts(view))           // {0, 0, 1, 1, 2}: subnets 0 and 1 are one site, ...
//     const GroupView by_sites = join_subnets(view, sites);         // with three subnets
#pragma once

#include <vector>

#include "eco/net/group_view.h"

namespace eco::net {

// Local. The ways in which the network's sites make fewer subnets of the view's, two at least: by the outermost sites, and by
// the innermost; and, where several subnets are of no site, with all of them as one. Each gives the site of
// every subnet, numbered from 0 as they come up.
std::vector<std::vector<int>> site_cuts(const GroupView& view);

// Local. Whether it gives a site to every subnet, numbered so.
bool are_sites(const std::vector<int>& sites, const GroupView& view);

// Local. A tree over the subnets that crosses each site's link once: the parent of each, -1 for one of them. In a site the
// subnet that is nearest to all others is joined to the one of the site around, and all others of the site below it. Empty
// where site_cuts() gives none.
std::vector<int> site_tree(const GroupView& view);

// Local. The view with one subnet for each site, its ranks subnet by subnet, those of one site within it after each other:
// neighbours in this order are near.
GroupView join_subnets(const GroupView& view, const std::vector<int>& sites);

}  // namespace eco::net
