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

// What each rail should carry, as small integers in proportion to the rates: of those that all hosts of the group have and,
// where some have more, of all that two of them have (their share goes over rail 0 where it has to). The latter
// pays where the hosts that lack a rail are faster on the others. None: they have one. For one rank to decide with: rates are
// floating-point numbers.
std::vector<std::vector<int>> shares_of_rails(const net::GroupView& view);

}  // namespace eco::algo
