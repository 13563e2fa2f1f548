// MPI_Init as Fortran calls it. Nothing of Fortran is served, but in a job of several programs the ranks in C agree in
// MPI_Init on what they do, and would wait for those that do not take part. Some libraries' Fortran entries call the C
// entries by their PMPI_ names, past the stubs: so these go between, and have the whole job run natively.
#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "preload/trampoline/resolve.h"

namespace eco::trampoline {
namespace {

// The loaded libraries that may have the function, where they are not in the global scope: a Python module brings its
// own.
struct Libraries {
  static constexpr int kMost = 8;
  char paths[kMost][4096];
  int n = 0;
};

int note_fortran_library(dl_phdr_info* info, size_t, void* result) {
  auto* libraries = static_cast<Libraries*>(result);
  const char* slash = strrchr(info->dlpi_name, '/');
  const bool may_have_it = slash != nullptr && strncmp(slash, "/libmpi", strlen("/libmpi")) == 0;
  if (!may_have_it || libraries->n == Libraries::kMost ||
      strlen(info->dlpi_name) >= sizeof libraries->paths[0])
    return 0;
  strcpy(libraries->paths[libraries->n++], info->dlpi_name);
  return 0;
}

void* find_behind_this(const char* name) {
  if (void* function = dlsym(RTLD_NEXT, name)) return function;
  static Libraries libraries;  // too large for a stack; MPI is initialised once
  dl_iterate_phdr(&note_fortran_library, &libraries);
  for (int i = 0; i < libraries.n; ++i) {
    void* library = dlopen(libraries.paths[i], RTLD_NOLOAD | RTLD_LAZY);
    if (library == nullptr) continue;
    if (void* function = dlsym(library, name)) return function;
  }
  return nullptr;
}

void call_backend(const char* symbol) {
  using Function = void (*)();
  if (const auto function = reinterpret_cast<Function>(find_in_backend(symbol))) function();
}

// Fortran wants the error code in the last argument; the newest binding (f08) may leave it out, and then an error
// has ended the program.
template <class... Arguments>
void initialize(const char* name, int* error, Arguments... arguments) {
  using Function = void (*)(Arguments..., int*);
  const auto function = reinterpret_cast<Function>(find_behind_this(name));
  if (function == nullptr) give_up("found no Fortran MPI library that has this function", name);
  call_backend("eco_backend_switch_off");
  function(arguments..., error);
  if (error == nullptr || *error == 0) call_backend("eco_backend_initialized");
}

}  // namespace
}  // namespace eco::trampoline

// As compilers spell them in the old bindings, and the names below the newest ones in Open MPI and in MPICH.
#define ECO_FORTRAN_NAMES(apply, lower, upper) apply(lower) apply(lower##_) apply(lower##__) apply(upper)
#define ECO_FORTRAN_INIT(name)                                              \
  extern "C" __attribute__((visibility("default"))) void name(int* error) { \
    eco::trampoline::initialize(#name, error);                              \
  }
#define ECO_FORTRAN_INIT_THREAD(name)                                                                     \
  extern "C" __attribute__((visibility("default"))) void name(int* required, int* provided, int* error) { \
    eco::trampoline::initialize(#name, error, required, provided);                                        \
  }
ECO_FORTRAN_NAMES(ECO_FORTRAN_INIT, mpi_init, MPI_INIT)
ECO_FORTRAN_NAMES(ECO_FORTRAN_INIT_THREAD, mpi_init_thread, MPI_INIT_THREAD)
ECO_FORTRAN_INIT(ompi_init_f)
ECO_FORTRAN_INIT(mpi_init_f08_)
ECO_FORTRAN_INIT_THREAD(ompi_init_thread_f)
ECO_FORTRAN_INIT_THREAD(mpi_init_thread_f08_)
