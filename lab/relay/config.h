// The relay's orders as text, one line per thing, written by `eco lab` from a description:
//
//   eco-relay 1
//   server NAME fifo|bus BITS_PER_S DELAY_NS QUEUE_BYTES STATIONS
//   port   INTERFACE MAC                          ports are numbered in order of appearance
//   path   FROM_PORT TO_PORT SERVER[.STATION] ... servers likewise
//   traffic FROM_PORT TO_PORT BITS_PER_S FRAME_BYTES cbr|poisson|on-off ON_NS OFF_NS SEED
//
// Everything after '#' is a comment. A line that cannot be meant is refused with its number and reason.
#pragma once

#include <array>
#include <cstdint>
#include <istream>
#include <stdexcept>
#include <string>
#include <vector>

#include "lab/relay/network.h"

namespace eco::lab {

using Mac = std::array<std::uint8_t, 6>;

struct Port {
  std::string interface;
  Mac mac{};
};

struct Config {
  std::vector<ServerSpec> servers;
  std::vector<Port> ports;
  std::vector<Path> paths;
  std::vector<TrafficSpec> traffic;
};

class ConfigError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

[[nodiscard]] Config parse_config(std::istream& in);  // throws ConfigError

}  // namespace eco::lab
