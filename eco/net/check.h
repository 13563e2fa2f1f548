// Whether the parts of a Network agree with each other. Local, pure.
#pragma once

#include <optional>
#include <string>

#include "eco/net/network.h"

namespace eco::net {

// The first contradiction found ("subnet 1: host 9 is out of range, there are 8 hosts"), or nothing. Looks at
// what is measured or loaded, not at what finish() derives.
std::optional<std::string> contradiction(const Network& network);

}  // namespace eco::net
