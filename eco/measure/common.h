// What all hosts have in common: the processors of one machine that plays many hosts, a switch that works packet by packet.
// And what the ranks of one host have: its processors, where they are fewer.
//
//   const Common common = measure_common(conductor, network, rank_of_host, in_time);
//   network.common_message_s = common.message_s;
//   const Common processors = measure_processors(conductor, network, host, its_ranks, in_time);
//
// Each sends a small message to every other at once. Where that takes longer than links and overheads explain, each
// message holds something that all share. Who waits for one message after the other, as in a ring, holds it longer
// still: it has to be woken each time, while of many messages at once one wakes it for all.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "eco/measure/conductor.h"
#include "eco/net/network.h"

namespace eco::measure {

struct Common {
  double message_s = 0;  // as Network::common_message_s
  double wake_s = 0;     // as Network::common_wake_s
};

// Seconds of a round of small messages among some ranks, of as many hosts or of one, one value a repetition.
struct CommonTimes {
  std::vector<double> two_s;         // the slowest pair, both ways
  std::vector<double> all_s;         // each to each
  std::vector<double> ring_s;        // each to the next one; empty: nobody looked
  std::vector<double> short_ring_s;  // of n_in_short_ring() of them
};

// What an exchange of all takes more than one of two by the links and processors of these ranks' hosts. `network` is finished,
// without latencies.
double explained_s(const net::Network& network, const std::vector<int>& host_of_rank);
// Whether the quickest exchange of all takes longer than that beyond one of two.
bool has_common(const CommonTimes& times, double beyond_two_s);

// A ring of fewer ranks, by which the others' part in a ring of all shows.
std::size_t n_in_short_ring(std::size_t n_ranks);

// What the times in the middle say of so many ranks, 3 or more, that have something in common.
Common common_from(std::size_t n_ranks, const CommonTimes& times);

// Rank 0 only. Of all hosts or as many of them, evenly chosen; nothing of less than three hosts or out of time. Finishes the
// network.
Common measure_common(Conductor& conductor, net::Network& network, const std::vector<int>& rank_of_host,
                      const std::function<bool()>& in_time);

// Rank 0 only. Of the ranks of this host, or as many of them; nothing of less than three or out of time. Finishes the network.
Common measure_processors(Conductor& conductor, net::Network& network, int host,
                          const std::vector<int>& ranks, const std::function<bool()>& in_time);

}  // namespace eco::measure
