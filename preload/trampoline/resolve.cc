// Finds the MPI library that the process really loaded and opens the matching backend beside this file.
//
// Uses nothing but libc: this library enters every process that the program starts, and the program may have its own
// C++ runtime.
#include "preload/trampoline/resolve.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "preload/job.h"
#include "preload/trampoline/fortran.h"
#include "preload/trampoline/loaded.h"

namespace eco::trampoline {
namespace {

// A binary interface of MPI, by which a loaded library is recognised. Handles differ between ABIs, and a backend of the
// wrong one ends in "invalid communicator".
struct Abi {
  const char* name;     // libeco-<name>.so serves it
  const char* soname;   // what its libraries are called, wherever they lie and whatever the file is called
  const char* exports;  // and what they export: names have been used twice
};
constexpr Abi kAbis[] = {
#define ECO_ABI(name, soname, exports) {name, soname, exports},
#include "eco_abis.inc"  // CMake writes it from data/abis.json
#undef ECO_ABI
};

struct Library {
  char path[4096];
  const Abi* abi;  // null: an MPI library that kAbis does not have
};

struct State {
  pthread_once_t once = PTHREAD_ONCE_INIT;
  void* mpi = nullptr;
  void* backend = nullptr;  // null with `mpi` set: a library that is not known
};
State state;

bool starts_with(const char* text, const char* prefix) { return strncmp(text, prefix, strlen(prefix)) == 0; }

// What a loaded object calls itself; its file's name where it says nothing.
const char* soname_of(const dl_phdr_info& object) {
  const char* slash = strrchr(object.dlpi_name, '/');
  const char* file = slash != nullptr ? slash + 1 : object.dlpi_name;
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    if (object.dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    ElfW(Addr) strings = 0;
    ElfW(Xword) name = 0;
    for (auto* entry = reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + object.dlpi_phdr[i].p_vaddr);
         entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag == DT_STRTAB) strings = entry->d_un.d_ptr;
      if (entry->d_tag == DT_SONAME) name = entry->d_un.d_val;
    }
    if (strings == 0 || name == 0) return file;
    return reinterpret_cast<const char*>(address_in(object, strings) + name);
  }
  return file;
}

// dl_iterate_phdr callback: remembers the first loaded library whose name is in the table; until there is one, the first
// that is called like an MPI library.
int note_library(dl_phdr_info* info, size_t, void* result) {
  auto* library = static_cast<Library*>(result);
  if (strlen(info->dlpi_name) >= sizeof library->path) return 0;
  const char* soname = soname_of(*info);
  for (const Abi& abi : kAbis) {
    if (strcmp(soname, abi.soname) != 0) continue;
    strcpy(library->path, info->dlpi_name);
    library->abi = &abi;
    return 1;
  }
  const bool is_mpi = starts_with(soname, "libmpi.so") || starts_with(soname, "libmpi_abi.so") ||
                      starts_with(soname, "libmpich.so");
  if (is_mpi && library->path[0] == '\0') strcpy(library->path, info->dlpi_name);
  return 0;
}

// Of one rank; "ECO=off" on this rank says that nobody asked for ECO.
bool may_speak() {
  const char* mode = getenv("ECO");
  return preload::is_rank_0() && (mode == nullptr || strcmp(mode, "off") != 0);
}

void say_unknown(const char* path) {
  if (!may_speak()) return;
  fprintf(stderr,
          "eco: the program runs without ECO: its MPI library '%s' is none of those that ECO serves (%s)\n",
          path, ECO_ABIS_SERVED);
}

// A call that one rank makes past ECO would leave the others waiting: where that may be, this rank says so to the others
// in MPI_Init, and the job is native.
void look_at_fortran() {
  const char* library = fortran_bypass(reinterpret_cast<FindWrapper>(dlsym(state.backend, kFindWrapper)));
  if (library == nullptr) return;
  using SwitchOff = void (*)();
  if (const auto switch_off = reinterpret_cast<SwitchOff>(dlsym(state.backend, "eco_backend_switch_off"))) {
    switch_off();
  }
  if (!may_speak()) return;
  fprintf(
      stderr,
      "eco: the program runs without ECO: through '%s' its Fortran may call MPI where ECO does not see it\n",
      library);
}

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
  dl_iterate_phdr(&note_library, &library);
  if (library.path[0] == '\0') {
    // Linked under some other name, perhaps: then its entries are where the program finds them.
    Dl_info info;
    void* entry = dlsym(RTLD_DEFAULT, "PMPI_Init");
    if (entry != nullptr && dladdr(entry, &info) != 0) say_unknown(info.dli_fname);
    return;
  }
  // Promoted to global scope: mpi4py loads its MPI library RTLD_LOCAL, where a backend would not find it.
  state.mpi = dlopen(library.path, RTLD_NOLOAD | RTLD_LAZY | RTLD_GLOBAL);
  if (state.mpi == nullptr) give_up("cannot reopen the MPI library", dlerror());
  if (library.abi == nullptr || dlsym(state.mpi, library.abi->exports) == nullptr) {
    return say_unknown(library.path);
  }

  char file[64];
  snprintf(file, sizeof file, "libeco-%s.so", library.abi->name);
  char path[4096];
  path_beside_this(file, path, sizeof path);
  // RTLD_NOW: a function that this MPI library lacks is reported here, not in the middle of a collective. Not
  // RTLD_DEEPBIND: it would hide the program's copies of Open MPI's predefined objects.
  state.backend = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (state.backend == nullptr) give_up("cannot load its backend", dlerror());
  look_at_fortran();
}

}  // namespace

void give_up(const char* what, const char* detail) {
  fprintf(stderr,
          "eco: ECO %s (%s). This rank would differ from the others, so it ends here; eco-exec --bare "
          "before all of the job's programs runs it without ECO\n",
          what, detail != nullptr ? detail : "no reason given");
  fflush(stderr);
  preload::leave_job();
}

void* find_in_backend(const char* symbol) {
  pthread_once(&state.once, &open_libraries);
  return state.backend != nullptr ? dlsym(state.backend, symbol) : nullptr;
}

void* find_target(const char* name) {
  if (void* target = find_fortran_target(name)) return target;
  char symbol[128];
  snprintf(symbol, sizeof symbol, "eco_wrap_%s", name);
  if (void* wrapper = find_in_backend(symbol)) return wrapper;
  snprintf(symbol, sizeof symbol, "P%s", name);
  // A library that is not known: this process stays native, as do all processes of that library.
  return state.mpi != nullptr ? dlsym(state.mpi, symbol) : dlsym(RTLD_DEFAULT, symbol);
}

}  // namespace eco::trampoline
