// The rails that a network knows, and those that a group's transport has: only what both have is used.
//
//   if (!knows_rails(network, transport)) ... measure::measure_rails() ...
//   provenance += fit_rails(network, transport);
#pragma once

#include <string>
#include <vector>

#include "eco/net/network.h"
#include "eco/runtime/options.h"
#include "eco/transport/tcp/rails.h"
#include "eco/transport/transport.h"

namespace eco::runtime {

// Local, the same on all ranks, which are on these hosts of the network: its rails were measured over these of the transport and
// are of the hosts that have them, or there are none to measure.
bool knows_rails(const net::Network& network, const transport::Transport& transport,
                 const std::vector<int>& host_of_rank);

// Local, the same on all ranks. The network keeps the rails that the transport has, by name (those of a file without
// names by number), and the transport is told which these are. What there is to say of it; empty: nothing.
std::string fit_rails(net::Network& network, transport::Transport& transport);

// Local, the same on all ranks: the transport is told which of its rails these of the network are; false where it lacks
// one, and then nothing that was planned for this network fits it.
bool choose_rails(const net::Network& network, transport::Transport& transport);

// Local: what to look for, as the options have it and `host` is this one.
transport::tcp::WantedRails wanted_rails(const Options& options, const net::HostId& host);

}  // namespace eco::runtime
