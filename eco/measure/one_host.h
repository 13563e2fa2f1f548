// What the ranks of one host get of its memory and processors: a pair alone, and all of them when all talk.
//
//   measure_memory(conductor, network, {rank, its_neighbour});
//   measure_host(conductor, network, host, its_ranks, in_time);
#pragma once

#include <functional>
#include <vector>

#include "eco/measure/conductor.h"
#include "eco/net/network.h"

namespace eco::measure {

// Rank 0 only. memory_latency_s and memory_bytes_per_s, by pings between two ranks of one host; the overheads are known.
void measure_memory(Conductor& conductor, net::Network& network, const Flow& neighbours);

// Rank 0 only, after measure_memory(). Of one host, which tells for all, and its ranks, net::kFewestWhoShare or more: the
// memory's rate for all of them together, with that of a pair beside it, and what messages and waking take of the
// processors, which the latency then does without. Finishes the network.
void measure_host(Conductor& conductor, net::Network& network, int host, const std::vector<int>& ranks,
                  const std::function<bool()>& in_time);

}  // namespace eco::measure
