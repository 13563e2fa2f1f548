// The registry's rows that stripe other algorithms over the rails of hosts with several NICs.
#pragma once

#include <string>
#include <vector>

#include "eco/algo/algorithm.h"
#include "eco/algo/builders.h"
#include "eco/algo/objections.h"

namespace eco::algo {

// `choices`: algorithms of the collective whose regions of input and output lie inside one block each, where there are
// blocks.
Algorithm striped(coll::Collective collective, std::vector<std::string> choices);

// What each rail should carry, as small integers in proportion to the rates. For one rank to decide with: rates are
// floating-point numbers.
std::vector<int> shares_of_rails(const net::Network& network);

}  // namespace eco::algo
