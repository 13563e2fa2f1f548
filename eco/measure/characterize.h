// Measures the network between the ranks that were started, and nothing else: no names, no descriptions, no topology
// files. What comes out is a Network: pair times, subnets, their kinds, what they share, rates and latencies.
//
//   CharacterizeOptions options;
//   options.host_of_rank = identities;                       // allgathered by the caller
//   options.transport = "openmpi 5.0.11 point-to-point";
//   net::Network network = characterize(transport, native, options);    // collective; samples on rank 0 alone
//
// One rank of each host measures, the others wait. Pairs are timed by round trips, one at a time unless they are far apart:
// several trips, total over twice their number; all pairs make a sweep, sweeps are repeated, and the lowest confirmed sweep labels the pair
// (sweeps.h). Subnets follow by Figure 2 at a small and a large size (net/partition.h), kinds and uplinks by tests with
// several pairs at once (sharing.h), rates and latencies by derive.h. Rank 0 conducts (conductor.h) and sends the result.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "eco/net/network.h"
#include "eco/net/store.h"
#include "eco/transport/native.h"
#include "eco/transport/transport.h"

namespace eco::measure {

using Clock = std::function<double()>;  // seconds, never going back

Clock monotonic_clock();

// Lets so many seconds pass outside the transport: nothing that arrives meanwhile is looked at.
using Pause = std::function<void(double seconds)>;

Pause sleeping_pause();

struct CharacterizeOptions {
  std::vector<net::HostId> host_of_rank;  // by rank, the same on every rank
  std::string transport;                  // written into the network, and a key of the store
  std::string measured_at;                // ISO 8601, now
  // 0: offline, as long as it takes. Else seconds: sizes shrink until two sweeps fit. Only rank 0's value counts.
  double budget_s = 0;
  // With a budget: the seconds that pair times may take where there is no network without them (0: their share of the budget).
  double most_s = 0;
  // Pairs that need no measuring, of these hosts or others; only rank 0's count. Their samples enter the network at the
  // sizes they have, what is shared and the rates are measured anew, and the network's note says how many were measured.
  std::vector<net::KnownPair> known;
  // With a budget: called on rank 0 with pairs, known ones among them, that a later call need not measure again, where this
  // one had no time for all of them or for the tests of what they share (then `all_were_known`: it measured none). With it
  // more is begun than fits.
  std::function<void(const std::vector<net::KnownPair>&, bool all_were_known)> keep;
  // Headers of one packet, and of one message: those of TCP over Ethernet and of an MPI library, unless one knows better.
  // Where links are so fast that they matter little, it matters little whether they are right. Only rank 0's count.
  double frame_bytes = 66;
  double envelope_bytes = 40;
  int sweeps = 4;  // offline; the small sizes get more until they settle
  // Measure the pLogP parameters of every class of pairs too (plogp.h). Only rank 0's value counts; within budget_s
  // seconds more, if there is a budget.
  bool plogp = false;
  Clock clock = monotonic_clock();
  Pause pause = sleeping_pause();
  // Called on rank 0: what is being measured, and the fraction done. May throw to stop; every rank then throws.
  std::function<void(const std::string& what, double fraction)> progress;
};

// Collective over the transport's group. The network is the same on every rank, but only rank 0's has what it was derived
// from (net::Network::without_samples()): that grows with the pairs, and slow links would carry it. Throws on every rank
// alike: InvalidArgument if host_of_rank has not one entry per rank, Unsupported if the budget is too short for two sweeps
// of the smallest sizes, or where pairs are kept for a few calls more. Throws TransportError where the transport reports a lost peer (under MPI the launcher ends the
// job instead).
net::Network characterize(transport::Transport& transport, transport::Native& native,
                          const CharacterizeOptions& options);

}  // namespace eco::measure
