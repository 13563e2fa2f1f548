// The wrappers for Fortran that this library needs, by name. Open MPI's bindings call PMPI_ names, so all of them;
// MPICH's call C's names, but for what its mpi_f08 has without buffers. The standard ABI's are not served.
#include "preload/backend/call.h"

#if !defined(MPI_ABI)
#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "preload/backend/fortran.h"

namespace eco::preload::fortran {
namespace {

#if defined(OPEN_MPI)
// Common blocks, which a program and each of its libraries may have a copy of; the loader makes all that were loaded
// together use one. Open MPI's own code compares with it alone, and any that a program can name is meant as it.
class CommonBlock {
 public:
  explicit CommonBlock(std::initializer_list<const char*> spellings) {
    std::vector<std::string> objects;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* result) {
          static_cast<std::vector<std::string>*>(result)->emplace_back(info->dlpi_name);
          return 0;
        },
        &objects);
    for (const std::string& object : objects) {
      // The program itself has no name, and its handle finds what the whole program sees.
      void* handle = dlopen(object.empty() ? nullptr : object.c_str(), RTLD_NOLOAD | RTLD_LAZY);
      if (handle == nullptr) continue;
      for (const char* spelling : spellings) {
        if (const void* address = dlsym(handle, spelling)) addresses_.push_back(address);
      }
      dlclose(handle);
    }
    std::sort(addresses_.begin(), addresses_.end());
    addresses_.erase(std::unique(addresses_.begin(), addresses_.end()), addresses_.end());
  }

  bool has(const void* address) const {
    return std::binary_search(addresses_.begin(), addresses_.end(), address);
  }

 private:
  std::vector<const void*> addresses_;
};
#endif

struct Row {
  std::string_view name;
  void* entry;
};

const Row kRows[] = {
#define ECO_FORTRAN_PLAIN(lower, upper, mixed, ...) \
  {#lower, reinterpret_cast<void*>(&Entry<&MPI_##mixed __VA_OPT__(, ) __VA_ARGS__>::call)},
#if defined(OPEN_MPI)
#define ECO_FORTRAN ECO_FORTRAN_PLAIN
#else
#define ECO_FORTRAN(...)
#endif
#include "preload/fortran.def"
};

}  // namespace

#if defined(OPEN_MPI)
void* to_c_buffer(void* buffer) {
  static const CommonBlock in_place(
      {"mpi_fortran_in_place_", "mpi_fortran_in_place__", "mpi_fortran_in_place", "MPI_FORTRAN_IN_PLACE"});
  static const CommonBlock bottom(
      {"mpi_fortran_bottom_", "mpi_fortran_bottom__", "mpi_fortran_bottom", "MPI_FORTRAN_BOTTOM"});
  if (in_place.has(buffer)) return MPI_IN_PLACE;
  return bottom.has(buffer) ? MPI_BOTTOM : buffer;
}
#endif

}  // namespace eco::preload::fortran

// What the trampoline asks for: see FindWrapper in preload/trampoline/fortran.h.
ECO_ENTRY void* eco_backend_fortran(const char* lower) noexcept {
  for (const auto& row : eco::preload::fortran::kRows) {
    if (row.name == lower) return row.entry;
  }
  return nullptr;
}
#endif
