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

// Variables by whose address a program names a constant: common blocks, which a program and each of its libraries may have
// a copy of (the loader makes all that were loaded together use one, Open MPI's own code compares with it alone, and any
// that a program can name is meant as it); a module's; or one that MPICH keeps the address of.
class Variable {
 public:
  explicit Variable(std::initializer_list<const char*> spellings, const char* kept_in = nullptr) {
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
      const void* kept = kept_in != nullptr ? dlsym(handle, kept_in) : nullptr;
      if (kept != nullptr) addresses_.push_back(*static_cast<void* const*>(kept));
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
  static const Variable in_place(
      {"mpi_fortran_in_place_", "mpi_fortran_in_place__", "mpi_fortran_in_place", "MPI_FORTRAN_IN_PLACE"});
  static const Variable bottom(
      {"mpi_fortran_bottom_", "mpi_fortran_bottom__", "mpi_fortran_bottom", "MPI_FORTRAN_BOTTOM"});
  if (in_place.has(buffer)) return MPI_IN_PLACE;
  return bottom.has(buffer) ? MPI_BOTTOM : buffer;
}
#endif

const int* to_c_weights(const MPI_Fint* weights) {
#if defined(OPEN_MPI)
  static const Variable unweighted({"mpi_fortran_unweighted_", "mpi_fortran_unweighted__",
                                    "mpi_fortran_unweighted", "MPI_FORTRAN_UNWEIGHTED"});
  static const Variable empty({"mpi_fortran_weights_empty_", "mpi_fortran_weights_empty__",
                               "mpi_fortran_weights_empty", "MPI_FORTRAN_WEIGHTS_EMPTY"});
#else
  // The module's as gfortran calls it; of mpif.h MPICH knows itself since its initialisation.
  static const Variable unweighted({"__mpi_f08_link_constants_MOD_mpi_unweighted"}, "MPIR_F_MPI_UNWEIGHTED");
  static const Variable empty({"__mpi_f08_link_constants_MOD_mpi_weights_empty"}, "MPIR_F_MPI_WEIGHTS_EMPTY");
#endif
  if (unweighted.has(weights)) return MPI_UNWEIGHTED;
  return empty.has(weights) ? MPI_WEIGHTS_EMPTY : weights;
}

}  // namespace eco::preload::fortran

// What the trampoline asks for: see FindWrapper in preload/trampoline/fortran.h.
ECO_ENTRY void* eco_backend_fortran(const char* lower) noexcept {
  for (const auto& row : eco::preload::fortran::kRows) {
    if (row.name == lower) return row.entry;
  }
  return nullptr;
}
#endif
