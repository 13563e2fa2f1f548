// pLogP over each rail of hosts that have several, beside that of the library's own messages (plogp.h).
//
//   network.rail_plogp = measure_plogp_on_rails(transport, native, network, rails->kind(), options);    // collective
//
// The same procedure for the same classes, less pairs of one host, with what is measured on that rail and orders on rail 0. What
// differs from the library's curves is the transport: its overheads, and where it asks for its receiver's consent.
#pragma once

#include <string>
#include <vector>

#include "eco/measure/characterize.h"
#include "eco/net/network.h"
#include "eco/transport/native.h"
#include "eco/transport/transport.h"

namespace eco::measure {

// Collective, after rails were measured and added to the network (rails.h), all of whose hosts have ranks. `kind`: what
// carries the rails' messages ("TCP"). Rank 0's result counts, the others' is empty; so do its options: of a budget the rails
// have equal shares. Throws TransportError on those ranks that a lost peer holds up, and rank 0. A rail that the transport
// gave up while it was measured is not told from the one that its messages took instead: ask the transport.
std::vector<net::RailPLogP> measure_plogp_on_rails(transport::Transport& transport, transport::Native& native,
                                                   const net::Network& network, const std::string& kind,
                                                   const CharacterizeOptions& options);

}  // namespace eco::measure
