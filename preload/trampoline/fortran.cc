#include "preload/trampoline/fortran.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "preload/trampoline/loaded.h"
#include "preload/trampoline/resolve.h"
#include "preload/trampoline/spellings.h"

namespace eco::trampoline {
namespace {

struct Call {
  const char* lower;  // "bcast"
  const char* c;      // as its entry behind the profiling interface is called: "PMPI_Bcast"
  bool is_plain;
};
constexpr Call kCalls[] = {
#define ECO_FORTRAN(lower, upper, mixed, ...) {#lower, "PMPI_" #mixed, false},
#define ECO_FORTRAN_PLAIN(lower, upper, mixed, ...) {#lower, "PMPI_" #mixed, true},
#include "preload/fortran.def"
#undef ECO_FORTRAN
#undef ECO_FORTRAN_PLAIN
};

struct Spelling {
  const char* name;
  const char* lower;
};
constexpr Spelling kSpellings[] = {
#define ECO_SPELLING(name, lower) {#name, #lower},
#define ECO_FORTRAN(lower, upper, ...) ECO_FORTRAN_SPELLINGS(ECO_SPELLING, lower, upper)
#define ECO_FORTRAN_PLAIN(lower, upper, ...) ECO_FORTRAN_SPELLINGS(ECO_SPELLING, lower, upper)
#include "preload/fortran.def"
#undef ECO_FORTRAN
#undef ECO_FORTRAN_PLAIN
};

// A library that gives Fortran its MPI, by how its file's name begins; the first that fits counts.
enum class Entries {
  wrapped,   // each has a stub, so it does not matter what they call
  calling,   // they call wrapped ones, or C's
  unchecked  // nobody has looked
};
struct Binding {
  const char* begins;
  Entries entries;
};
constexpr Binding kBindings[] = {
    {"libmpi_mpifh", Entries::wrapped},              // Open MPI: mpif.h, and below the modules
    {"libmpi_usempif08", Entries::calling},          // Open MPI: mpi_f08
    {"libmpi_usempi_ignore_tkr", Entries::calling},  // Open MPI: use mpi, by compilers of today
    {"libmpifort.so", Entries::calling},             // MPICH, Intel MPI
    {"libmpichfort", Entries::calling},              // MPICH as Debian names it
    {"libmpi_usempi", Entries::unchecked},           // Open MPI: use mpi, by older ones
    {"libmpifort", Entries::unchecked},              // of the standard ABI
    {"libmpi_f77", Entries::unchecked},              // older releases
    {"libmpi_f90", Entries::unchecked},
    {"libfmpich", Entries::unchecked},
};

const char* file_name(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash != nullptr ? slash + 1 : path;
}

const Binding* find_binding(const char* path) {
  const char* name = file_name(path);
  for (const Binding& binding : kBindings) {
    if (strncmp(name, binding.begins, strlen(binding.begins)) == 0) return &binding;
  }
  return nullptr;
}

// The undefined symbols of a loaded object: the table of DT_GNU_HASH counts them, because it begins behind them.
struct Imports {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  unsigned n = 0;

  explicit Imports(const dl_phdr_info& object) {
    for (int i = 0; i < object.dlpi_phnum; ++i) {
      if (object.dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
      const auto* entry = reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + object.dlpi_phdr[i].p_vaddr);
      for (; entry->d_tag != DT_NULL; ++entry) {
        const auto* at = reinterpret_cast<const void*>(address_in(object, entry->d_un.d_ptr));
        if (entry->d_tag == DT_SYMTAB) symbols = static_cast<const ElfW(Sym)*>(at);
        if (entry->d_tag == DT_STRTAB) names = static_cast<const char*>(at);
        if (entry->d_tag == DT_HASH && n == 0) n = static_cast<const unsigned*>(at)[1];
        if (entry->d_tag == DT_GNU_HASH) n = static_cast<const unsigned*>(at)[1];
      }
    }
    if (symbols == nullptr || names == nullptr) n = 0;
  }

  bool has(const char* name) const {
    for (unsigned i = 1; i < n; ++i) {
      if (symbols[i].st_shndx == SHN_UNDEF && strcmp(names + symbols[i].st_name, name) == 0) return true;
    }
    return false;
  }
};

struct Bypass {
  FindWrapper wrapper;
  bool has_binding;     // is Fortran's MPI loaded at all?
  const char* library;  // the answer
};

// dl_iterate_phdr callback: bindings that lead past the stubs.
int note_bypass(dl_phdr_info* info, size_t, void* result) {
  auto* bypass = static_cast<Bypass*>(result);
  const Binding* binding = find_binding(info->dlpi_name);
  if (binding == nullptr) return 0;
  bypass->has_binding = true;
  const Imports imports(*info);
  bool passes_by = bypass->wrapper == nullptr || binding->entries == Entries::unchecked || imports.n == 0;
  for (const Call& call : kCalls) {
    if (passes_by) break;
    const bool is_wrapped = bypass->wrapper(call.lower) != nullptr;
    // Of plain calls even MPICH's spelling for mpi_f08 has a stub.
    if (is_wrapped && (call.is_plain || binding->entries == Entries::wrapped)) continue;
    passes_by = imports.has(call.c);
  }
  if (!passes_by) return 0;
  bypass->library = file_name(info->dlpi_name);
  return 1;
}

// The loaded libraries that may have the function, where they are not in the global scope: a Python module brings its
// own.
struct Libraries {
  static constexpr int kMost = 8;
  char paths[kMost][4096];
  int n = 0;
};

int note_fortran_library(dl_phdr_info* info, size_t, void* result) {
  auto* libraries = static_cast<Libraries*>(result);
  if (find_binding(info->dlpi_name) == nullptr || libraries->n == Libraries::kMost ||
      strlen(info->dlpi_name) >= sizeof libraries->paths[0])
    return 0;
  strcpy(libraries->paths[libraries->n++], info->dlpi_name);
  return 0;
}

void* find_in_local_scopes(const char* name) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static Libraries libraries;  // too large for a stack
  void* function = nullptr;
  pthread_mutex_lock(&mutex);
  libraries.n = 0;
  dl_iterate_phdr(&note_fortran_library, &libraries);
  for (int i = 0; i < libraries.n && function == nullptr; ++i) {
    void* library = dlopen(libraries.paths[i], RTLD_NOLOAD | RTLD_LAZY);
    if (library != nullptr) function = dlsym(library, name);
  }
  pthread_mutex_unlock(&mutex);
  return function;
}

// What the program would call if this library were not there.
void* find_behind_this(const char* name) {
  void* function = dlsym(RTLD_NEXT, name);
  if (function == nullptr) function = find_in_local_scopes(name);
  if (function == nullptr) give_up("found no Fortran MPI library that has this function", name);
  return function;
}

const char* file_of(const void* function) {
  Dl_info info;
  return dladdr(function, &info) != 0 ? info.dli_fname : "";
}

bool is_of_a_binding(const void* function) { return find_binding(file_of(function)) != nullptr; }

// Who else has such entries: the program itself, a profiler, a serial stand-in. Some ranks' calls would be theirs.
const char* find_rival() {
  for (const Spelling& spelling : kSpellings) {
    const void* first = dlsym(RTLD_DEFAULT, spelling.name);
    const void* behind = dlsym(RTLD_NEXT, spelling.name);
    if (strcmp(file_of(first), file_of(reinterpret_cast<void*>(&find_rival))) != 0) return file_of(first);
    if (behind != nullptr && !is_of_a_binding(behind)) return file_of(behind);
  }
  return nullptr;
}

// Libraries do more in these than C's entries do, so theirs are called; some by PMPI_Init, past C's stub. Fortran wants
// the error code in the last argument; mpi_f08 may leave it out, and then an error has ended the program.
template <class... Arguments>
void initialize(const char* name, int* error, Arguments... arguments) {
  using Function = void (*)(Arguments..., int*);
  reinterpret_cast<Function>(find_behind_this(name))(arguments..., error);
  if (error != nullptr && *error != 0) return;
  using Initialized = void (*)();
  if (const auto initialized = reinterpret_cast<Initialized>(find_in_backend("eco_backend_initialized"))) {
    initialized();
  }
}

}  // namespace

void* find_fortran_target(const char* name) {
  for (const Spelling& spelling : kSpellings) {
    if (strcmp(spelling.name, name) != 0) continue;
    void* behind = find_behind_this(name);
    const auto find =
        is_of_a_binding(behind) ? reinterpret_cast<FindWrapper>(find_in_backend(kFindWrapper)) : nullptr;
    void* wrapper = find != nullptr ? find(spelling.lower) : nullptr;
    return wrapper != nullptr ? wrapper : behind;
  }
  return nullptr;
}

const char* fortran_bypass(FindWrapper wrapper) {
  Bypass bypass{.wrapper = wrapper, .has_binding = false, .library = nullptr};
  dl_iterate_phdr(&note_bypass, &bypass);
  return bypass.library == nullptr && bypass.has_binding ? find_rival() : bypass.library;
}

}  // namespace eco::trampoline

#define ECO_FORTRAN_INIT(name, lower)                                       \
  extern "C" __attribute__((visibility("default"))) void name(int* error) { \
    eco::trampoline::initialize(#name, error);                              \
  }
#define ECO_FORTRAN_INIT_THREAD(name, lower)                                                              \
  extern "C" __attribute__((visibility("default"))) void name(int* required, int* provided, int* error) { \
    eco::trampoline::initialize(#name, error, required, provided);                                        \
  }
ECO_FORTRAN_SPELLINGS(ECO_FORTRAN_INIT, init, INIT)
ECO_FORTRAN_SPELLINGS(ECO_FORTRAN_INIT_THREAD, init_thread, INIT_THREAD)
