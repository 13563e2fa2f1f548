// Programs' topologies on networks. The result is JSON text, which Python reads anyway.
#include "eco/map/map.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "eco/net/io.h"
#include "python/src/bindings.h"

namespace eco::python {
namespace {

using nlohmann::ordered_json;

std::string map_graph(const std::string& network, std::vector<int> host_of_rank, const map::Graph& graph,
                      const std::vector<std::size_t>& sizes) {
  const net::GroupView view = net::make_view(
      std::make_shared<const net::Network>(net::parse_network(network, "network")), std::move(host_of_rank));
  map::MapOptions options;
  if (!sizes.empty()) options.sizes = sizes;
  const map::Choice choice = map::choose_mapping(graph, view, options);
  ordered_json record = {{"sizes", choice.sizes}, {"chosen", choice.chosen}};
  record["candidates"] = ordered_json::array();
  for (const map::Candidate& candidate : choice.candidates) {
    record["candidates"].push_back({{"strategy", candidate.strategy},
                                    {"predicted_s", candidate.seconds},
                                    {"rank_of_node", candidate.rank_of_node}});
  }
  return record.dump();
}

}  // namespace

void bind_map(nb::module_& m) {
  m.def(
      "map_grid",
      [](const std::string& network, std::vector<int> host_of_rank, std::vector<int> dims,
         const std::vector<bool>& periodic, const std::vector<std::size_t>& sizes) {
        return map_graph(network, std::move(host_of_rank), map::grid(std::move(dims), periodic), sizes);
      },
      nb::arg("network"), nb::arg("host_of_rank"), nb::arg("dims"), nb::arg("periodic"),
      nb::arg("sizes") = std::vector<std::size_t>(), nb::call_guard<nb::gil_scoped_release>(),
      "Which rank is to play which node of a grid (row by row, as MPI numbers them), with what each strategy "
      "is predicted to take, as JSON. Local.");
  m.def(
      "map_graph",
      [](const std::string& network, std::vector<int> host_of_rank, int n_nodes,
         const std::vector<std::tuple<int, int, double>>& messages, const std::vector<std::size_t>& sizes) {
        std::vector<map::Message> all;
        for (const auto& [from, to, weight] : messages) all.push_back({from, to, weight});
        return map_graph(network, std::move(host_of_rank), map::graph(n_nodes, std::move(all)), sizes);
      },
      nb::arg("network"), nb::arg("host_of_rank"), nb::arg("n_nodes"), nb::arg("messages"),
      nb::arg("sizes") = std::vector<std::size_t>(), nb::call_guard<nb::gil_scoped_release>(),
      "The same for a graph of messages (from, to, weight). Local.");
}

}  // namespace eco::python
