// Where an intercepted entry of Fortran's bindings leads, and whether ECO sees all calls that this process makes from
// Fortran. What each library's bindings call is in docs/fortran.md.
#pragma once

namespace eco::trampoline {

// What a backend exports: its wrapper of a call ("bcast") for Fortran's arguments, nullptr where its library needs none.
// A backend that knows nothing of Fortran has no such function.
using FindWrapper = void* (*)(const char* lower);
constexpr const char* kFindWrapper = "eco_backend_fortran";

// The target of `name` ("mpi_bcast_"): the backend's wrapper, else what the stub hides; nullptr if `name` is no entry of
// fortran.def. A library of another kind that has such entries (serial stand-ins do) keeps its own. Local, thread-safe.
void* find_fortran_target(const char* name);

// A loaded file by which Fortran would reach collectives of this process past ECO; nullptr if there is none. The text
// belongs to the loader. Local.
const char* fortran_bypass(FindWrapper wrapper);

}  // namespace eco::trampoline
