// Schedules as text and as drawings.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "eco/sched/text.h"
#include "python/src/bindings.h"
#include "python/src/question.h"

namespace eco::python {

void bind_sched(nb::module_& m) {
  m.def(
      "schedule_text",
      [](const std::string& network, const std::vector<int>& host_of_rank, const std::string& recipe,
         const std::string& collective, std::size_t bytes, int root, std::size_t max_ops) {
        const Question question(network, host_of_rank, collective, bytes, root);
        std::string text;
        for (const sched::Schedule& schedule : build(question, recipe))
          text += sched::to_text(schedule, max_ops);
        return text;
      },
      nb::arg("network"), nb::arg("host_of_rank"), nb::arg("recipe"), nb::arg("collective"), nb::arg("bytes"),
      nb::arg("root"), nb::arg("max_ops") = 0,
      "All ranks' schedules of a recipe, at most `max_ops` lines each. Local.");
  m.def(
      "schedule_dot",
      [](const std::string& network, const std::vector<int>& host_of_rank, const std::string& recipe,
         const std::string& collective, std::size_t bytes, int root) {
        const Question question(network, host_of_rank, collective, bytes, root);
        return sched::to_dot(build(question, recipe), recipe);
      },
      nb::arg("network"), nb::arg("host_of_rank"), nb::arg("recipe"), nb::arg("collective"), nb::arg("bytes"),
      nb::arg("root"), "Who sends how much to whom, for Graphviz. Local.");
}

}  // namespace eco::python
