// What a job's rails are worth beside each other: rate and latency of each, and which of them share a link.
//
//   MeasuredRails measured = measure_rails(transport, native, network, options);      // collective
//   add_rails(network, transport.rail_names(), measured);                             // pure
//
// A few pairs of hosts (offline every host of a subnet is in one, up to 64 pairs) stream over every rail that both have, and over two at
// once; each rail that two hosts have is of one pair at least. Rails are described by what sets them apart from
// rail 0, over the same transport: a rail that carries 0.4 times what rail 0 does has 0.4 times the network's rates,
// whatever transport those were measured over. So the shares of a message, which is what they are for, are right also
// where the library's own messages go another way.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "eco/measure/characterize.h"
#include "eco/net/network.h"
#include "eco/transport/native.h"
#include "eco/transport/transport.h"

namespace eco::measure {

// One pair of hosts on all rails that both have; 0 for the others.
struct RailTimes {
  std::vector<double> bytes_per_s;
  std::vector<double> latency_s;
  std::vector<double>
      slowdown;  // [rail * n_rails + other]: both at once against the slower of them alone; 0: not asked
  int a = 0;     // hosts
  int b = 0;
};

struct MeasuredRails {
  std::vector<RailTimes> inside;   // pairs of one subnet
  std::vector<RailTimes> between;  // pairs of two
  // By rail: the hosts of the network that are known to have it; nothing: all that were asked, and so all.
  std::vector<std::optional<std::vector<int>>> hosts{};
};

struct RailsOptions {
  std::vector<net::HostId> host_of_rank;  // the same on every rank
  bool in_job = false;                    // few pairs, short streams
  double give_up_s = 10;                  // a stream that takes longer shows that its rail carries nothing
  Clock clock = monotonic_clock();
};

// Collective: the same on every rank. Throws TransportError on every rank alike where a rail fails: nothing may be sent
// over the rails then any more. The network's subnets must be known.
MeasuredRails measure_rails(transport::Transport& transport, transport::Native& native,
                            const net::Network& network, const RailsOptions& options);

// Local, pure. Leaves the network finished; `names` are of the transport's rails. One that no pair has is not described.
void add_rails(net::Network& network, const std::vector<std::string>& names, const MeasuredRails& measured);

}  // namespace eco::measure
