// Structure found again in simulated networks, for bench/structure.py; Figure 2 of a network's pairs.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <nlohmann/json.hpp>

#include "eco/measure/derive.h"
#include "eco/net/io.h"
#include "eco/structure/generate.h"
#include "eco/structure/trial.h"
#include "python/src/bindings.h"

namespace eco::python {
namespace {

std::string structure_trial(unsigned long seed, int index, double noise, double spoilt) {
  const structure::TrueNetwork network = structure::generate_network(seed, index);
  const structure::Trial trial = structure::try_structure(
      network, {.noise = noise, .spoilt = spoilt, .seed = 31 * seed + static_cast<unsigned long>(index)});
  const nlohmann::ordered_json result = {
      {"hosts", trial.n_hosts},
      {"depth", trial.depth},
      {"splits", trial.n_splits},
      {"missed", trial.n_missed},
      {"invented", trial.n_invented},
      {"only_shared", trial.n_only_shared},
      {"media", trial.n_media},
      {"media_right", trial.n_media_right},
      {"capacities", trial.n_capacities},
      {"capacities_right", trial.n_capacities_right},
      {"worst_capacity", trial.worst_capacity},
      {"duplex_right", trial.n_duplex_right},
      {"held_up_wrongly", trial.n_held_up_wrongly},
      {"in_parallel", trial.in_parallel},
      {"pairs", trial.pairs},
      {"messages", trial.cost.messages},
      {"network_s", trial.cost.network_s},
      {"figure2_right", trial.figure2_right},
      {"figure2_parts", trial.figure2_parts},
      {"figure2_messages", trial.figure2_cost.messages},
      {"figure2_network_s", trial.figure2_cost.network_s},
  };
  return result.dump();
}

net::Partition network_figure2(const std::string& text) {
  const net::Network network = net::parse_network(text, "network");
  return measure::find_subnets(network.n_hosts(), network.sizes, network.pairs);
}

}  // namespace

void bind_structure(nb::module_& m) {
  m.def(
      "structure_trial", &structure_trial, nb::arg("seed"), nb::arg("index"), nb::arg("noise"),
      nb::arg("spoilt"), nb::call_guard<nb::gil_scoped_release>(),
      "The structure of a generated network found by simulated probes, held against the truth: JSON. Local.");
  m.def("network_figure2", &network_figure2, nb::arg("text"), nb::call_guard<nb::gil_scoped_release>(),
        "The subnets that Figure 2 of the ECO paper makes of the pair times in a network file. Local.");
}

}  // namespace eco::python
