#include "eco/map/strategies.h"

namespace eco::map {

std::vector<Mapping> scotch(const Graph&, const net::GroupView&) { return {}; }

}  // namespace eco::map
