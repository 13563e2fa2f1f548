// Where an intercepted MPI call leads in this process. Sees no mpi.h: one build serves every MPI library.
#pragma once

namespace eco::trampoline {

// The address that a call of `name` ("MPI_Bcast") goes to from now on: the backend's wrapper, else the library's own
// P-function, else nullptr. Local, thread-safe. Ends the process with exit code 127 and a message where going on
// would make this rank differ from its peers (see preload/README.md, "What can fail").
void* find_target(const char* name);

// The backend's `symbol`, or nullptr where no backend is loaded.
void* find_in_backend(const char* symbol);

[[noreturn]] void give_up(const char* what, const char* detail);

}  // namespace eco::trampoline
