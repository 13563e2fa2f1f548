// eco._core: the C++ core as Python sees it.
#include "python/src/bindings.h"

NB_MODULE(_core, m) {
  m.doc() = "The C++ core of ECO.";
  m.def("version", [] { return ECO_VERSION; }, "Which version this was built as; equal to eco.__version__.");
  eco::python::bind_errors(m);
  eco::python::bind_algo(m);
  eco::python::bind_late(m);
  eco::python::bind_map(m);
  eco::python::bind_net(m);
  eco::python::bind_options(m);
  eco::python::bind_plan(m);
  eco::python::bind_sched(m);
  eco::python::bind_structure(m);
  eco::python::bind_tune(m);
}
