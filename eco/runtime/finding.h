// How a group comes to its network, in steps that all ranks take together: from a file, from the store, or measured now. Rank 0
// decides, all parse the same text. A remembered one is looked after first (measure/sentinels.h); of what is missing or has
// changed, only that is measured. Where the transport has several rails that are not known, they are measured too
// (measure/rails.h).
//
// What rank 0 makes of a network that needs no measuring goes to the others with it (SaidBeside): where ranks are far apart
// an exchange of its own would take tens of milliseconds.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "eco/net/group_view.h"
#include "eco/runtime/communicator.h"
#include "eco/runtime/steps.h"

namespace eco::runtime {

struct FoundView {
  net::GroupView view;
  std::string provenance;  // rank 0's: "network of 8 hosts measured 2026-11-21T02:00:00Z, remembered"
};

// Both local.
struct SaidBeside {
  // What rank 0 has to say of such a network, if anything; empty, or where it throws: nothing, so that it is asked again.
  // Not asked where something is to be measured before.
  std::function<std::string(const FoundView& seen)> on_rank_0;
  // Every rank gets that, if it is not empty; what it throws ends the finding on all.
  std::function<void(const std::string& text)> take;
  // The same on all ranks: what was said holds for the network that was found.
  bool holds = false;
};

// Collective. `hosts` are the ranks'. Adds the seconds that it measured to `measuring_s`. Throws StaysNative on all alike.
FoundView find_view(Steps& steps, transport::Transport& transport, transport::Native& native,
                    const Options& options, const std::vector<net::HostId>& hosts, const ArmRequest& request,
                    SaidBeside& beside, double& measuring_s);

// The same without a transport, where nothing is measured and nobody looks whether hosts have moved. No network in the view:
// none is remembered, and `found` says whether it may be measured.
struct RecalledView {
  Found found = Found::nothing;
  FoundView seen;
};
RecalledView recall_view(Steps& steps, transport::Native& native, const Options& options,
                         const std::vector<net::HostId>& hosts, SaidBeside& beside);

}  // namespace eco::runtime
