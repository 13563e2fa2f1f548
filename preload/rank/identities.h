// Who sits where, told to everybody.
#pragma once

#include <string>
#include <vector>

#include "eco/net/network.h"
#include "eco/transport/native.h"

namespace eco::rank {

// Collective: every rank's text, in rank order.
std::vector<std::string> gather_texts(transport::Native& native, int n_ranks, const std::string& mine);
std::vector<net::HostId> gather_identities(transport::Native& native, int n_ranks, const net::HostId& mine);

}  // namespace eco::rank
