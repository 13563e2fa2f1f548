// How a group comes to its network, in steps that all ranks take together: from a file, from the store, or measured now. Rank 0
// decides, all parse the same text. A remembered one is looked after first (measure/sentinels.h); of what is missing or has
// changed, only that is measured. Where the transport has several rails that are not known, they are measured too
// (measure/rails.h).
#pragma once

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

// Collective. `hosts` are the ranks'. Adds the seconds that it measured to `measuring_s`. Throws StaysNative on all alike.
FoundView find_view(Steps& steps, transport::Transport& transport, transport::Native& native,
                    const Options& options, const std::vector<net::HostId>& hosts, const ArmRequest& request,
                    double& measuring_s);

}  // namespace eco::runtime
