// Finds the MPI library that the process really loaded and opens the matching backend beside this file.
//
// Uses nothing but libc: this library enters every process that the program starts, and the program may have its own
// C++ runtime.
#include "preload/trampoline/resolve.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace eco::trampoline {
namespace {

constexpr int kExitCode = 127;  // eco-exec's too: "ECO could not be started here"

struct Library {
  char path[4096];
  bool standard_abi;
};

struct State {
  pthread_once_t once = PTHREAD_ONCE_INIT;
  void* mpi = nullptr;
  void* backend = nullptr;  // null with `mpi` set: the standard ABI, which is not served
};
State state;

bool starts_with(const char* text, const char* prefix) { return strncmp(text, prefix, strlen(prefix)) == 0; }

// dl_iterate_phdr callback: remembers the first loaded MPI library, by file name.
int note_library(dl_phdr_info* info, size_t, void* result) {
  auto* library = static_cast<Library*>(result);
  const char* slash = strrchr(info->dlpi_name, '/');
  const char* file = slash != nullptr ? slash + 1 : info->dlpi_name;
  const bool standard_abi = starts_with(file, "libmpi_abi.so");
  if (!standard_abi && !starts_with(file, "libmpi.so") && !starts_with(file, "libmpich.so")) return 0;
  if (strlen(info->dlpi_name) >= sizeof library->path) return 0;
  strcpy(library->path, info->dlpi_name);
  library->standard_abi = standard_abi;
  return 1;
}

// Handles differ between ABIs, and a backend of the wrong one ends in "invalid communicator": the library itself is
// asked. All libraries without Open MPI's predefined objects that use these names have the MPICH ABI.
const char* abi_of(void* mpi) { return dlsym(mpi, "ompi_mpi_comm_world") != nullptr ? "openmpi" : "mpich"; }

// The path of `file` in the directory of this library.
void path_beside_this(const char* file, char* path, size_t size) {
  Dl_info self;
  if (dladdr(reinterpret_cast<void*>(&path_beside_this), &self) == 0)
    give_up("cannot find its own file", "dladdr");
  const char* slash = strrchr(self.dli_fname, '/');
  const int directory = slash != nullptr ? static_cast<int>(slash - self.dli_fname) : 1;
  const char* start = slash != nullptr ? self.dli_fname : ".";
  if (snprintf(path, size, "%.*s/%s", directory, start, file) >= static_cast<int>(size)) {
    give_up("the path of its backend is too long", file);
  }
}

void open_libraries() {
  Library library = {};
  if (dl_iterate_phdr(&note_library, &library) == 0) return;
  // Promoted to global scope: mpi4py loads its MPI library RTLD_LOCAL, where a backend would not find it.
  state.mpi = dlopen(library.path, RTLD_NOLOAD | RTLD_LAZY | RTLD_GLOBAL);
  if (state.mpi == nullptr) give_up("cannot reopen the MPI library", dlerror());
  if (library.standard_abi) return;

  char file[64];
  snprintf(file, sizeof file, "libeco-%s.so", abi_of(state.mpi));
  char path[4096];
  path_beside_this(file, path, sizeof path);
  // RTLD_NOW: a function that this MPI library lacks is reported here, not in the middle of a collective. Not
  // RTLD_DEEPBIND: it would hide the program's copies of Open MPI's predefined objects.
  state.backend = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (state.backend == nullptr) give_up("cannot load its backend", dlerror());
}

}  // namespace

void give_up(const char* what, const char* detail) {
  fprintf(stderr,
          "eco: ECO %s (%s). This rank would differ from the others, so it ends here; eco-exec --set ECO=off "
          "runs the program without ECO\n",
          what, detail != nullptr ? detail : "no reason given");
  fflush(stderr);
  // As in eco-exec: Hydra ends a job whose process dies by a signal before it spoke PMI, not one that exits.
  if (getenv("PMI_RANK") != nullptr) {
    sleep(1);
    raise(SIGTERM);
  }
  _exit(kExitCode);
}

void* find_in_backend(const char* symbol) {
  pthread_once(&state.once, &open_libraries);
  return state.backend != nullptr ? dlsym(state.backend, symbol) : nullptr;
}

void* find_target(const char* name) {
  char symbol[128];
  snprintf(symbol, sizeof symbol, "eco_wrap_%s", name);
  if (void* wrapper = find_in_backend(symbol)) return wrapper;
  snprintf(symbol, sizeof symbol, "P%s", name);
  // Without a library of a known name MPI may still be there under another: then this process stays native, as do
  // all processes of that library.
  return state.mpi != nullptr ? dlsym(state.mpi, symbol) : dlsym(RTLD_DEFAULT, symbol);
}

}  // namespace eco::trampoline
