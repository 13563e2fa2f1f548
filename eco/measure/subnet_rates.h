// What subnets and the links between them carry, by streams alone and at once: rates, bus or switch, uplinks.
//
//   SubnetRates rates(conductor, {.rank_of_host = ranks, .in_time = ..., .say = ...});
//   rates.measure(network);              // or take_from_tree(), where the tree of levels has said most of it
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "eco/measure/conductor.h"
#include "eco/measure/sharing.h"
#include "eco/net/network.h"

namespace eco::measure {

struct SubnetRatesOptions {
  std::vector<int> rank_of_host;  // who measures for each
  double stream_s = 0.03;         // how long a stream lasts, about
  std::function<bool()> in_time;  // what does not start in time stays as the pair times have it
  std::function<void(const std::string& what, double fraction)> say;
};

// Rank 0's, on a network whose subnets and pair times are known. Throws TransportError like the conductor.
class SubnetRates {
 public:
  SubnetRates(Conductor& conductor, SubnetRatesOptions options)
      : conductor_(conductor), options_(std::move(options)) {}

  // Rates, kinds and uplinks, by tests with several pairs at once.
  void measure(net::Network& network);
  // The same from the tree; left to measure are rates between subnets, and what both directions cost each other.
  void take_from_tree(net::Network& network);

 private:
  struct StreamShape {
    std::size_t bytes;
    int count;
  };
  // Long enough that what all streams share (orders that arrive one after the other, latency) matters little, on slow
  // links of shorter messages.
  static StreamShape shape(double bytes_per_s, double stream_s);
  // The rate of one pair by streams, or `otherwise` if there is no time left or the times make no sense.
  double measured_rate(int a, int b, double otherwise);
  void measure_inside(net::Network& network);
  void measure_between(net::Network& network);
  // Each flow alone, all together, three times over; kept is the quietest of each. A test that the budget leaves no
  // room for is not made: the network then says `unknown`.
  void run_tests(net::Network& network, const std::vector<SharingTest>& tests);
  int rank_of(int host) const { return options_.rank_of_host[static_cast<std::size_t>(host)]; }

  Conductor& conductor_;
  SubnetRatesOptions options_;
};

}  // namespace eco::measure
