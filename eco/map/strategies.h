// Ways to come to a mapping, one per file, each a pure function that proposes some; map.h judges them all by the same
// predicted time. A strategy that has nothing to say of a graph proposes nothing.
#pragma once

#include <string_view>
#include <vector>

#include "eco/map/graph.h"
#include "eco/map/mapping.h"

namespace eco::map {

// rows.cc: nodes in a row, along each dimension of a grid in turn, on ranks in a row along the ring of fastest links. A
// ring's nodes so enter and leave every subnet once.
std::vector<Mapping> rows(const Graph& graph, const net::GroupView& view);
// blocks.cc: the grid is cut in two where fewest messages cross, one part for the first subnets and one for the others;
// and so on down to hosts.
std::vector<Mapping> blocks(const Graph& graph, const net::GroupView& view);
// growth.cc: subnets are filled one after another with the node that talks most with what is there already.
std::vector<Mapping> growth(const Graph& graph, const net::GroupView& view);
// scotch.cc, or no_scotch.cc where the library is missing: the graph's static mapping by Scotch onto the subnets, then
// onto their hosts.
std::vector<Mapping> scotch(const Graph& graph, const net::GroupView& view);

struct Strategy {
  std::string_view name;
  std::vector<Mapping> (*propose)(const Graph& graph, const net::GroupView& view);
};
inline constexpr Strategy kStrategies[] = {
    {"rows", &rows}, {"blocks", &blocks}, {"growth", &growth}, {"scotch", &scotch}};

}  // namespace eco::map
