// What others send over the links of a known network just now: short streams and pings of a job that is in one call together.
//
//   const net::Ambient ambient = find_ambient(transport, native, network, {}, {.host_of_rank = hosts});    // collective
//
// Inside every subnet each host streams to the next (on a bus two do), and every subnet to another one, in both
// directions; streams that share no link go at once. A stream is 16 to 64 KiB, or what takes half a millisecond on fast
// links. A link bears at least what any stream over it has shown, so one is loaded if every stream that it should have
// been the limit of was slow; each slow one is asked twice more, alone, and its best counts; so are streams that tell
// which of its two hosts is busy. One ping
// for every two subnets, before them, says whether queues are long: the middle one of three trips, and of a slow one the
// least of three such. Behind a FIFO that others' windows fill a short stream comes in one burst, nearly at the full
// rate, so that pings alone tell of them.
#pragma once

#include <vector>

#include "eco/measure/characterize.h"
#include "eco/net/ambient.h"

namespace eco::measure {

// Only rank 0's values count, and only rank 0 needs to know the network.
struct AmbientOptions {
  std::vector<int> host_of_rank;  // hosts of the network
  Clock clock = monotonic_clock();
  unsigned turn = 0;  // of many looks: which hosts speak for their subnets
  double most_s = 1;  // no further round is begun after so long
};

// Below, a link is loaded. Between two loaded looks and a quiet one lies a gap, so that what is about there does not go to and
// fro: above kFree nothing is said of a link at all.
inline constexpr double kLoaded = 0.6;
inline constexpr double kFree = 0.75;

// Collective over the transport's group, the same on all ranks: links that bear less than kFree of what is known, and ways
// that take far longer. `was` is what a choice was made for: one stream over each of its links is asked first, and no more as
// long as one of them is loaded. Without it the network is quiet if no link bears less than kLoaded. Throws on every
// rank alike, as characterize() does.
net::Ambient find_ambient(transport::Transport& transport, transport::Native& native,
                          const net::Network& network, const net::Ambient& was,
                          const AmbientOptions& options);

}  // namespace eco::measure
