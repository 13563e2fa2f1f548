// What ECO has to know of MPI's datatypes and operations.
//
// Data movement takes any datatype: ranks may legally differ in it, so whether it is packed is each rank's own business
// and changes nothing that others see. Reductions take types without gaps, with an operation that MPI predefines for
// them or one of the program's own; there all ranks have the same type and operation, so they agree without asking.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "eco/base/hot.h"
#include "eco/exec/executor.h"
#include "eco/transport/mpi/mpi_groups.h"

namespace eco::preload {

// Bytes of `count` elements of `type` without gaps; the largest number there is where that is no number. Local.
// `count` >= 0.
ECO_ON_EVERY_CALL std::size_t total_bytes(long long count, MPI_Datatype type);

// From one element in memory to the next. Local.
std::ptrdiff_t extent_bytes(MPI_Datatype type);

// Which of MPI's types the library has; before the program sets any error handler. Local.
void find_types();

// What is packed from then on is packed over this communicator of ECO's own, which returns errors; nothing over none. Local.
void pack_over(MPI_Comm comm);

// One of the library's own types that ECO knows by heart. Local.
bool is_predefined(MPI_Datatype type);

// Whether messages of it may be sent, as far as the library looks; true where nothing is packed. A handle that is no type's
// isn't. Local.
bool is_committed(MPI_Datatype type);

// True if the bytes in memory are the message: predefined types without gaps, contiguous and duplicated ones of such.
bool is_dense(MPI_Datatype type);

// Local: all bytes of the message between user memory and dense memory of exactly their number. False if MPI reports
// an error.
[[nodiscard]] bool pack(const void* user, int count, MPI_Datatype type, std::span<std::byte> dense);
[[nodiscard]] bool unpack(std::span<const std::byte> dense, void* user, int count, MPI_Datatype type);

// Combines dense elements of one type with one operation.
struct Reduction {
  transport::mpi::Operation by;
  std::size_t element_bytes = 0;
  bool commutative = true;
  bool exact = false;      // the same bytes in every order
  bool predefined = true;  // the operation

  // Refers to this object, which must outlive the call.
  exec::Combine combine();
};

// Nothing if ECO does not serve this pair or MPI does not define it: the library then does, or reports the error.
ECO_ON_EVERY_CALL std::optional<Reduction> find_reduction(MPI_Datatype type, MPI_Op op);

// What people call them: "MPI_SUM", "MPI_INT", "a derived type". Local.
const char* op_name(MPI_Op op);
std::string type_name(MPI_Datatype type);

}  // namespace eco::preload
