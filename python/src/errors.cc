// Errors of the core become the classes of eco.errors, so that a caller catches one kind whichever side failed.
#include "eco/base/errors.h"

#include "python/src/bindings.h"

namespace eco::python {
namespace {

void raise_as(const char* class_name, const char* message) {
  nb::object type = nb::module_::import_("eco.errors").attr(class_name);
  PyErr_SetString(type.ptr(), message);
}

// nanobind asks the newest translator first and passes on what it does not catch; the base class is last here.
void translate(const std::exception_ptr& error, void*) {
  try {
    std::rethrow_exception(error);
  } catch (const InvalidArgument& e) {
    raise_as("InvalidArgument", e.what());
  } catch (const Unsupported& e) {
    raise_as("Unsupported", e.what());
  } catch (const Timeout& e) {
    raise_as("Timeout", e.what());
  } catch (const TransportError& e) {
    raise_as("TransportError", e.what());
  } catch (const CorruptFile& e) {
    raise_as("CorruptFile", e.what());
  } catch (const Error& e) {
    raise_as("EcoError", e.what());
  }
}

}  // namespace

void bind_errors(nb::module_&) { nb::register_exception_translator(translate, nullptr); }

}  // namespace eco::python
