// The large-count entries, for libraries that have none. mpi4py asks for them with weak symbols, finds our stubs under
// every library and then calls them alone.
#pragma once

namespace eco::trampoline {

// What stands in for `large` ("MPI_Bcast_c"): a function that narrows the counts and calls the ordinary entry; nullptr if
// wrappers.def has no such line. Local.
void* find_stand_in(const char* large);

}  // namespace eco::trampoline
