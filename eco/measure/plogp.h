// The pLogP parameters of every class of pairs: L, os(m), or(m), g(m), and where the library changes its protocol.
//
//   network.plogp = measure_plogp(network, conductor, {.ranks_of_host = ranks, .clock = clock});     // on rank 0
//
// After Kielmann, Bal and Verstoep (2000), per class (two ranks of a host, two hosts of a subnet, of two subnets) between
// one pair of it, in both directions:
//
//   g(m)    streams of n = 4, 8, 16, ... messages one way with one acknowledgement, until twice as many change the gap
//           by no more than 5 %. g = (T(2n) - T(n)) / n, so that latency and acknowledgement cancel. (They take g(m) from
//           round trips beyond g(0); a stream also sees protocols that keep messages from overlapping.)
//   os(m)   what posting a message takes its sender.
//   or(m)   what a receive takes that is posted only when the message must have arrived: after a pause of two one-way
//           times and 10 ms, outside the library.
//   L       a round trip of the smallest message is 2 (L + g), so L = RTT / 2 - g.
//
// Sizes are 8 B and powers of four; where a straight line through the last two sizes misses the next by more than 15 %,
// in g or in the one-way time, the middle is measured too, and so on. Sizes whose message would take longer than 0.1 s
// are left out.
//
// The eager limit shows in the same delayed messages: a send that is complete before the receiver looks needs nobody's
// consent, one that is complete only afterwards is a rendezvous. It is found by halving to 16 bytes. os and or are known
// for eager messages only (of a rendezvous the receiver's time is the transfer), and go on in a straight line.
//
// Beside: how much longer a stream takes with 2, 4, 8, ... disjoint pairs of the class at once, as long as there are so
// many, and gamma of all-to-all by exchanges among up to 16 ranks of a host or hosts of a subnet.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "eco/measure/characterize.h"
#include "eco/measure/conductor.h"
#include "eco/net/network.h"

namespace eco::measure {

struct PlogpOptions {
  std::vector<std::vector<int>> ranks_of_host;  // by host, the one that measures first
  double budget_s = 0;                          // 0: as long as it takes
  Clock clock = monotonic_clock();
  std::function<void(const std::string& what, double fraction)> progress;  // may throw to stop
};

// Runs on rank 0, all others follow. The network is finished. Classes that the budget leaves no room for are absent.
std::vector<net::ClassPLogP> measure_plogp(const net::Network& network, Conductor& conductor,
                                           const PlogpOptions& options);

}  // namespace eco::measure
