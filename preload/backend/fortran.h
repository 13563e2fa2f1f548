// Arguments of MPI calls as Fortran passes them, made into C's: one struct per kind of argument in preload/fortran.def.
//
//   Entry<&MPI_Bcast, Buffer, Count, Type, Rank, Comm>::call   is   void (void*, const MPI_Fint*, ..., MPI_Fint* error)
//
// An entry calls C's by its own name, so that it goes on where a program in C comes in.
#pragma once

#include <mpi.h>

namespace eco::preload::fortran {

// MPI_IN_PLACE and MPI_BOTTOM are variables there, known by their addresses. Local.
void* to_c_buffer(void* buffer);

struct Buffer {
  using Fortran = void*;
  static void* to_c(void* buffer) { return to_c_buffer(buffer); }
};
struct Count {
  using Fortran = const MPI_Fint*;
  static int to_c(const MPI_Fint* number) { return *number; }
};
using Rank = Count;
struct Counts {
  using Fortran = const MPI_Fint*;
  static const int* to_c(const MPI_Fint* numbers) { return numbers; }
};
static_assert(sizeof(MPI_Fint) == sizeof(int), "counts are handed on as they are");
struct Type {
  using Fortran = const MPI_Fint*;
  static MPI_Datatype to_c(const MPI_Fint* type) { return PMPI_Type_f2c(*type); }
};
struct Op {
  using Fortran = const MPI_Fint*;
  static MPI_Op to_c(const MPI_Fint* op) { return PMPI_Op_f2c(*op); }
};
struct Comm {
  using Fortran = const MPI_Fint*;
  static MPI_Comm to_c(const MPI_Fint* comm) { return PMPI_Comm_f2c(*comm); }
};

template <auto function, class... Kinds>
struct Entry {
  // mpi_f08 may leave the error code out.
  static void call(typename Kinds::Fortran... arguments, MPI_Fint* error) noexcept {
    const int code = function(Kinds::to_c(arguments)...);
    if (error != nullptr) *error = code;
  }
};

}  // namespace eco::preload::fortran
