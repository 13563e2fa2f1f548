// Sentinels: a few pings that say whether a remembered network is still the one that the hosts are on.
//
//   const std::vector<int> moved = find_moved(transport, native, network, {.host_of_rank = hosts});    // collective
//
// Every host exchanges a small message with one host of its own subnet, and one pair of hosts joins every two subnets;
// of many such pairs a sample is taken, another one each time. Where some are far apart (long_ways.h), small messages of pairs
// that share no host go at the same time, and a round of those that join subnets is ordered with one inside them.
// A ping counts as off only if it stays off: messages are delayed all the time and
// by much, so a pair is slow if the lowest of several is far above what is remembered, and it
// is compared with what the other pairs are slowed down by just now: where all of them are slower alike, the hosts are
// busy, and the structure of the network is what it was. A pair that is off accuses its hosts; pings with other hosts
// of the same subnet say which of the two it is.
#pragma once

#include <vector>

#include "eco/measure/characterize.h"

namespace eco::measure {

// Only rank 0's values count, and only rank 0 needs to know the network.
struct SentinelOptions {
  std::vector<int> host_of_rank;  // hosts of the network
  Clock clock = monotonic_clock();
  unsigned seed = 1;  // of the sample
};

// Collective over the transport's group. The hosts, ascending, whose pairs are no longer as remembered, on every rank
// the same. On eight hosts that are where they were one ping a pair, eight in all; a second or so where hosts have moved, a few
// where all are busy.
// Throws on every rank alike, as characterize() does.
std::vector<int> find_moved(transport::Transport& transport, transport::Native& native,
                            const net::Network& network, const SentinelOptions& options);

}  // namespace eco::measure
