// What others send over the same links just now, as their effect on a known network: links that bear less, ways that
// take longer.
//
//   const Network loaded = under(network, ambient);      // what a plan for this traffic is predicted on
//
// Whole numbers, so that one rank's findings are the same on all that are told of them. For prediction alone, on one rank: a
// loaded network has the structure, and so the schedules, of the known one, and is never remembered.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "eco/net/network.h"

namespace eco::net {

struct Ambient {
  struct Link {
    int resource = 0;       // of Network::resources
    int left_permille = 0;  // of its rate
    friend bool operator==(const Link&, const Link&) = default;
  };
  struct Way {
    int between = 0;    // of Network::between
    int longer_us = 0;  // than its latency
    friend bool operator==(const Way&, const Way&) = default;
  };
  std::vector<Link> links;  // ascending
  std::vector<Way> ways;    // ascending

  bool is_quiet() const { return links.empty() && ways.empty(); }
  // The same links and ways, whatever is left of them.
  bool is_where(const Ambient& other) const;
  // "uplink 0 out at 40 %, subnets 0 and 1 6.0 ms further apart".
  std::string describe(const Network& network) const;
  // As it is sent; parse throws InvalidArgument on what text() does not make.
  std::string text() const;
  static Ambient parse(std::string_view text);
};

// Local, pure. Throws InvalidArgument where a number is not of this network.
Network under(const Network& network, const Ambient& ambient);

}  // namespace eco::net
