// The structure of a network from few probes: levels of any depth, what they share, and how sure that is.
//
//   const Found found = find_structure(probe);
//   found.tree.levels[0].children           // structure; none: the network is one level
//
// First latencies (placing.h), then what only rates show (rate_levels.h), then what is shared (capacities.h). A level stands
// if most of a few fresh checks agree: two hosts in different branches below it and two outside, six ways between them, and
// the two that cross its link are longer than the two that do not.
#pragma once

#include "eco/net/tree.h"
#include "eco/structure/probe.h"

namespace eco::structure {

struct Found {
  net::Tree tree;
  std::size_t pairs = 0;    // whose latency was measured
  bool in_parallel = true;  // pairs measured at the same time did not disturb each other
};

// Local to the probe. `seed` chooses the landmarks.
Found find_structure(Probe& probe, unsigned long seed = 1);
// The levels that latencies show, and nothing of what is shared: asks for no rates.
Found find_latency_levels(Probe& probe, unsigned long seed = 1);

}  // namespace eco::structure
