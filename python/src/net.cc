// Network files, read by the same code that the ranks use: Python gets what that code accepted, as JSON text.
#include <nanobind/stl/string.h>

#include "eco/net/io.h"
#include "eco/net/network.h"
#include "eco/net/synthetic.h"
#include "python/src/bindings.h"

namespace eco::python {

void bind_net(nb::module_& m) {
  m.def(
      "check_network",
      [](const std::string& text, const std::string& where) {
        return net::to_json(net::parse_network(text, where));
      },
      nb::arg("text"), nb::arg("where"),
      "The text of a network file, checked and written out again; raises CorruptFile, its message beginning "
      "with "
      "`where`. Local.");
  m.def(
      "network_fingerprint",
      [](const std::string& text) { return net::parse_network(text, "network").fingerprint(); },
      nb::arg("text"),
      "Short digest of structure, rates and latencies, quantised: plans belong to it. Local.");
  m.def(
      "synthetic_network",
      [](const std::string& description) { return net::to_json(net::synthetic_network(description)); },
      nb::arg("description"),
      "A network file's text from a line like \"hosts=3+3+2 uplink_mbit=40\". Local.");
}

}  // namespace eco::python
