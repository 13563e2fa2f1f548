// Of pairs that are alike, those that are measured for all of them: what makes many hosts cheap once the tree is known.
//
//   const std::vector<bool> chosen = representatives(level_of_host);    // by pair, (0, 1), (0, 2), ..., (1, 2), ...
//
// Pairs are alike if their hosts hang on the same two levels. Of hosts on one level each is measured with the next, the last
// with the first, so that each is in two pairs and a host that is slow itself shows; of two levels two pairs of four hosts.
//
// Before there is a tree, but sites are known (visits.h): all pairs inside a site, and of two sites as many as the larger has hosts, each host in one at least.
#pragma once

#include <vector>

#include "eco/net/network.h"

namespace eco::measure {

// Local, pure.
std::vector<bool> representatives(const std::vector<int>& level_of_host);
std::vector<bool> representatives_of_sites(const std::vector<int>& site_of_host);

// Pairs without samples at a size get the median label of those like them that have; labels of all sizes there already. `pairs`
// are all, in order.
void stand_in(std::vector<net::PairTimes>& pairs, const std::vector<int>& level_of_host);

}  // namespace eco::measure
