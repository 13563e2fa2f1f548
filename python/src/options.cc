// The options, as `eco doctor` prints them and the commands check them.
#include "eco/runtime/options.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "eco/transport/tcp/rails.h"
#include "eco/transport/ucx/ucx.h"
#include "python/src/bindings.h"

namespace eco::python {
namespace {

using Doc = std::tuple<std::string_view, std::string_view, std::string_view>;

std::vector<Doc> option_docs() {
  std::vector<Doc> docs;
  for (const runtime::OptionDoc& doc : runtime::option_docs()) {
    docs.emplace_back(doc.variable, doc.values, doc.meaning);
  }
  return docs;
}

void check_options(const std::map<std::string, std::string>& variables) {
  runtime::parse_options([&](std::string_view name) -> std::optional<std::string> {
    const auto found = variables.find(std::string(name));
    if (found == variables.end()) return std::nullopt;
    return found->second;
  });
}

std::vector<std::tuple<std::string, std::string>> nics() {
  std::vector<std::tuple<std::string, std::string>> found;
  for (const transport::tcp::Nic& nic : transport::tcp::nics({})) found.emplace_back(nic.rail, nic.address);
  return found;
}

std::tuple<std::string, std::string, std::string> ucx() {
  const transport::ucx::Usable found = transport::ucx::usable();
  return {found.version, found.path, found.reason};
}

}  // namespace

void bind_options(nb::module_& m) {
  m.def("option_docs", option_docs, "Every ECO_* variable: its name, its values, what it means.");
  m.def("unknown_variables", runtime::unknown_variables, nb::arg("names"),
        "Of these names of variables, those that look like options (ECO_...) and are none. Local.");
  m.def("check_options", check_options, nb::arg("variables"),
        "Raises InvalidArgument for the first variable whose value is not allowed. Local.");
  m.def("nics", nics,
        "This host's NICs that could be rails of a job: the network of each, and its address there. Local.");
  m.def(
      "ucx", ucx,
      "The UCX that a process without one would use: its version, its file, else why there is none. Local.");
}

}  // namespace eco::python
