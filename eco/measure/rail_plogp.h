// pLogP over each rail of hosts that have several, beside that of the library's own messages (plogp.h).
//
//   network.rail_plogp = measure_plogp_on_rails(transport, native, network, rails->kind(), options);    // collective
//
// The same procedure for the same classes, less pairs of one host, with the probes' tags on that rail (Transport::set_rails).
// What differs from the library's curves is the transport: its overheads, and where it asks for its receiver's consent.
#pragma once

#include <string>
#include <vector>

#include "eco/measure/characterize.h"
#include "eco/net/network.h"
#include "eco/transport/native.h"
#include "eco/transport/transport.h"

namespace eco::measure {

// Collective, after rails were measured and added to the network (rails.h). `kind`: what carries the rails' messages ("TCP").
// Rank 0's result counts, the others' is empty; so do its options: of a budget the rails have equal shares. Throws
// TransportError where a rail fails.
std::vector<net::RailPLogP> measure_plogp_on_rails(transport::Transport& transport, transport::Native& native,
                                                   const net::Network& network, const std::string& kind,
                                                   const CharacterizeOptions& options);

}  // namespace eco::measure
