// The tree of subnets between a job's hosts (eco/structure), and what of it enters a network.
//
//   const TreeFound found = find_tree(conductor, {.rank_of_host = ranks, .clock = clock});     // on rank 0
//   network.tree = found.tree;
//
// Where pairs were timed already, their samples of kProbeBytes are what latencies are made of, and only rates are
// measured. In a budget not even these: the tests that there were say what is shared (tree_of_samples).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "eco/measure/live_probe.h"
#include "eco/net/network.h"

namespace eco::measure {

struct TreeSearch {
  std::vector<int> rank_of_host;
  Clock clock;
  std::function<void()> asked = [] {};  // before every round; may throw to stop
  ProbeSamples known{};
};

struct TreeFound {
  net::Tree tree;
  ProbeSamples samples;  // that were measured for it
};

TreeFound find_tree(Conductor& conductor, const TreeSearch& search);

// The levels that a network's pairs show by themselves, and of those that are subnets what the network knows of them. Local.
net::Tree tree_of_samples(const net::Network& network);

// The samples of kProbeBytes that a network has of its pairs.
ProbeSamples probe_samples(const net::Network& network);

// Whether Figure 2 makes the tree's subnets of these samples. Where there are not samples of all pairs it cannot be asked, and
// contradicts nobody.
bool says_the_same(const ProbeSamples& samples, int n_hosts, const net::Tree& tree);

// Of subnets that are levels of the tree: what holds up pairs that leave them. What hangs on a level beside other levels is
// held up by its site's link.
std::vector<net::Uplink> uplinks_of(const net::Tree& tree, const std::vector<net::Subnet>& subnets);

// The sites that subnets form: of each sure link of the tree the side with fewer hosts, where that is several whole subnets.
// Their links carry what the tree says, 0 where it does not.
std::vector<net::Site> sites_of(const net::Tree& tree, const std::vector<net::Subnet>& subnets);

// The subnets where all pairs were timed: Figure 2's. But what it parts by small messages alone, and a sure tree of their samples
// does not, is noise: its 20 % are less than what a rank on a busy machine oversleeps. Then they are the tree's.
net::Partition settled_subnets(const net::Network& network, const net::Partition& by_figure2,
                               const net::Tree& of_samples);

// What these subnets are taken from, and why, in words: of the tree or of Figure 2.
std::string verdict(const net::Tree& tree, const net::Partition& by_figure2, const net::Partition& subnets);

}  // namespace eco::measure
