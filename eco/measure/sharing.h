// What pairs share: tests with several pairs at once, against the same pairs alone.
//
// A test compares streams of one direction, not round trips: two ping-pongs can take turns on a shared link and hide
// that they share it. Which pairs, and what a slowdown means:
//
//   bus 0, 4 hosts or more     a->b with c->d            a switch carries both, a bus takes twice as long
//          3 hosts             a->b, b->c, c->a          each port once in each direction: 1x on a switch, 3x on a bus
//          2 hosts             a->b, b->a                1x if full duplex, 2x on a bus
//   uplink 0                   a->x with b->y            x and y in two other subnets where there are two, so that only
//                                                        subnet 0's own uplink is common: 2x if it is shared
//   duplex 0                   a->x with y->b            2x if both directions share
//   both ways 0                a->b, b->c, c->a          what acknowledgements cost the other direction of a switch's
//                                                        ports (asked where `bus` had no flows of opposite directions)
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "eco/net/network.h"
#include "eco/net/partition.h"

namespace eco::measure {

enum class Question { bus, uplink, duplex, both_ways };

struct HostFlow {
  int from = 0;
  int to = 0;
};

struct SharingTest {
  Question question = Question::bus;
  int subnet = 0;
  std::vector<HostFlow> flows;
  std::string what() const;  // "bus 0"
};

// How much longer all flows together took than the slowest of them alone. A perfect share of n equal flows gives n:
// whoever came last saw all the others' bytes pass, however unfairly they were served.
double slowdown(const net::ConcurrentTest& test);

// The tests inside subnets, and those across their borders, which need what is known by then of the network: its sites, rates
// between subnets, and the kinds found inside (a bus explains a slowdown at its border by itself).
std::vector<SharingTest> tests_inside(const net::Partition& subnets);
std::vector<SharingTest> tests_across(const net::Network& network);

// What a stream's acknowledgements take of the other direction, as a share of its bytes: by how much flows of opposite
// directions disturb each other on links that carry both. The middle of the tests that tell; 0 if none does.
double reverse_share(const std::vector<net::ConcurrentTest>& tests);

// The kind that the test of a subnet shows; `test` is null if there was none.
net::SubnetKind kind_from(std::size_t n_hosts, const net::ConcurrentTest* test);

}  // namespace eco::measure
