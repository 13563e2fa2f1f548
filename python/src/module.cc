// eco._core: the C++ core as Python sees it.
#include "python/src/bindings.h"

NB_MODULE(_core, m) {
  m.doc() = "The C++ core of ECO.";
  m.attr("__version__") = ECO_VERSION;
  eco::python::bind_errors(m);
  eco::python::bind_options(m);
}
