// One network found again: what the finder says beside the truth, and Figure 2 of the ECO paper beside both.
//
//   const Trial trial = try_structure(generate_network(7, 0), {.noise = 0.02, .seed = 7});
#pragma once

#include "eco/structure/simulated.h"
#include "eco/structure/true_network.h"

namespace eco::structure {

struct Trial {
  int n_hosts = 0;
  int depth = 0;               // levels of the true tree, hosts among them
  int n_splits = 0;            // of the truth, that are told apart
  int n_missed = 0;            // of these
  int n_invented = 0;          // found, and not there
  int n_only_shared = 0;       // of these, that only many pairs at once show
  int n_media = 0;             // with two hosts or more
  int n_media_right = 0;       // bus or switch
  int n_capacities = 0;        // of uplinks that hold somebody up
  int n_capacities_right = 0;  // within 15 %
  double worst_capacity = 0;   // error of the worst of these, as a share
  int n_duplex_right = 0;      // of these
  int n_held_up_wrongly = 0;   // uplinks said to hold somebody up that hold up nobody
  bool in_parallel = true;
  std::size_t pairs = 0;
  Cost cost{};
  bool figure2_right = false;  // its partition is that of the truth's lowest levels
  std::size_t figure2_parts = 0;
  Cost figure2_cost{};  // all pairs, one after the other, samples as ours
  bool is_right() const { return n_missed == 0 && n_invented == 0; }
};

Trial try_structure(const TrueNetwork& network, const SimulatedOptions& options);

}  // namespace eco::structure
