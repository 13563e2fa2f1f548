// A Network from one line of text: for tests, for predictions of machines nobody has, for documentation.
//
//   Network network = synthetic_network("hosts=3+3+2 kind=switched rate_mbit=200 uplink_mbit=40
//   latency_us=50");
//
// Words, in any order, separated by spaces:
//   hosts=A+B+...      sizes of the subnets (needed)
//   kind=K             switched (default) or bus, of every subnet that has more than one host
//   rate_mbit=R        of a host's port, or of a bus: 10^6 bits of payload a second (default 1000)
//   uplink_mbit=R      of every subnet's uplink, both directions apart; left out, or none: the subnet's own rate
//   shared=yes|no      whether pairs divide an uplink (default yes)
//   latency_us=T       within a subnet (default 20)
//   between_us=T       between subnets (default twice the latency within)
//   sites=A+B+...      of each subnet the number of its site, from 1; sites of one subnet are none (default: no sites)
//   site_mbit=R        of each site's link, both directions apart (default none: holds nobody up)
//   far_us=T           between subnets of different sites (default between_us)
//   overhead_us=T      of sending, and of receiving, a message (default 2)
//   rail_mbit=R+S+...  one more rail for each word, like the first but at this rate (uplinks as of the first)
//   rail_hosts=N+M...  how many hosts have that rail: these, from the first on (default all)
// kind, rate_mbit and uplink_mbit may be one word for each subnet: uplink_mbit=10+20+40.
#pragma once

#include <string>

#include "eco/net/network.h"

namespace eco::net {

// Local. A finished network whose pair times follow from its own rates. Throws InvalidArgument naming the bad
// word.
Network synthetic_network(const std::string& description);

}  // namespace eco::net
