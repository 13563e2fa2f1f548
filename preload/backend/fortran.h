// Arguments of MPI calls as Fortran passes them, made into C's: one struct per kind of argument in preload/fortran.def.
//
//   Entry<&MPI_Bcast, Buffer, Count, Type, Rank, Comm>::call   is   void (void*, const MPI_Fint*, ..., MPI_Fint* error)
//
// An entry calls C's by its own name, so that it goes on where a program in C comes in.
#pragma once

#include <mpi.h>

#include <tuple>
#include <vector>

namespace eco::preload::fortran {

// MPI_IN_PLACE and MPI_BOTTOM are variables there, known by their addresses. Local.
void* to_c_buffer(void* buffer);

// MPI_UNWEIGHTED and MPI_WEIGHTS_EMPTY are variables there too. Local.
const int* to_c_weights(const MPI_Fint* weights);

// What only goes in; `Fortran` is its type in the entry.
template <class Passed>
struct In {
  using Fortran = Passed;
  Passed passed;
  void give_back() const {}
};
using Integer = In<const MPI_Fint*>;

struct Buffer : In<void*> {
  void* to_c() const { return to_c_buffer(passed); }
};
struct Count : Integer {
  int to_c() const { return *passed; }
};
using Rank = Count;
// One for each rank.
struct Counts : Integer {
  static_assert(sizeof(MPI_Fint) == sizeof(int), "they are handed on as they are");
  const int* to_c() const { return passed; }
};
struct Type : Integer {
  MPI_Datatype to_c() const { return PMPI_Type_f2c(*passed); }
};
struct Op : Integer {
  MPI_Op to_c() const { return PMPI_Op_f2c(*passed); }
};
struct Comm : Integer {
  MPI_Comm to_c() const { return PMPI_Comm_f2c(*passed); }
};
struct Info : Integer {
  MPI_Info to_c() const { return PMPI_Info_f2c(*passed); }
};
// Compilers have 1 or -1 for .true. and all have 0 for .false.
struct Flag : Integer {
  static int to_c(MPI_Fint logical) { return logical != 0 ? 1 : 0; }
  int to_c() const { return to_c(*passed); }
};
// As many as another argument says: C's are made where that is known (CallC).
struct Flags : Integer {
  Flags to_c() const { return *this; }
};
struct Weights : Integer {
  const int* to_c() const { return to_c_weights(passed); }
};
// What comes out, if the call succeeds.
struct NewComm {
  using Fortran = MPI_Fint*;
  MPI_Fint* passed;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm* to_c() { return &comm; }
  void give_back() const { *passed = PMPI_Comm_c2f(comm); }
};
struct Request {
  using Fortran = MPI_Fint*;
  MPI_Fint* passed;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Request* to_c() { return &request; }
  void give_back() const { *passed = PMPI_Request_c2f(request); }
};

template <auto function>
struct CallC {
  template <class... Arguments>
  static int call(Arguments... arguments) {
    return function(arguments...);
  }
};
template <>
struct CallC<&MPI_Cart_create> {
  static int call(MPI_Comm comm, int n_dims, const int* dims, Flags periodic, int reorder, MPI_Comm* made) {
    std::vector<int> closed;
    for (int d = 0; d < n_dims; ++d) closed.push_back(Flag::to_c(periodic.passed[d]));
    return MPI_Cart_create(comm, n_dims, dims, closed.data(), reorder, made);
  }
};

template <auto function, class... Kinds>
struct Entry {
  // mpi_f08 may leave the error code out.
  static void call(typename Kinds::Fortran... arguments, MPI_Fint* error) noexcept {
    std::tuple<Kinds...> kinds{Kinds{arguments}...};
    const int code = std::apply([](Kinds&... kind) { return CallC<function>::call(kind.to_c()...); }, kinds);
    if (code == MPI_SUCCESS) std::apply([](const Kinds&... kind) { (kind.give_back(), ...); }, kinds);
    if (error != nullptr) *error = code;
  }
};

}  // namespace eco::preload::fortran
