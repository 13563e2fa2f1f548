// Improves a mapping by exchanging the ranks of two nodes at a time, as long as that is predicted to help.
//
//   const Mapping better = refine(exchange, mapping, 50'000'000);
//
// Local and pure: bounded by the numbers it looks at and not by a clock, so the same everywhere.
#pragma once

#include <cstddef>

#include "eco/map/exchange.h"

namespace eco::map {

// `most_work`: in the unit of Loads::work(). Settled; never of a higher cost than `mapping`.
Mapping refine(const Exchange& exchange, const Mapping& mapping, std::size_t most_work);

}  // namespace eco::map
