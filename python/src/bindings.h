// One binder per core module, each in a file of its own: bind_net in net.cc, and so on. To add a module, write
// its file, declare it here and call it in module.cc.
#pragma once

#include <nanobind/nanobind.h>

namespace eco::python {

namespace nb = nanobind;

void bind_algo(nb::module_& m);
void bind_errors(nb::module_& m);
void bind_late(nb::module_& m);
void bind_map(nb::module_& m);
void bind_net(nb::module_& m);
void bind_options(nb::module_& m);
void bind_plan(nb::module_& m);
void bind_sched(nb::module_& m);
void bind_structure(nb::module_& m);
void bind_tune(nb::module_& m);

}  // namespace eco::python
