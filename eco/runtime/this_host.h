// Who this process's host is: how a remembered network recognises it again.
#pragma once

#include "eco/net/network.h"
#include "eco/runtime/options.h"

namespace eco::runtime {

// Local. Host name, first address that is not the loopback's, boot id and network namespace; Options::host_id stands
// for the last two where it is set.
net::HostId this_host(const Options& options);

}  // namespace eco::runtime
