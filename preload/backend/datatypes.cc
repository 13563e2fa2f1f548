#include "preload/backend/datatypes.h"

#include <array>
#include <climits>
#include <limits>

#include "preload/backend/errors_return.h"

namespace eco::preload {
namespace {

// The kinds of type that MPI's table of predefined operations knows (MPI-4.1, section 6.9.2), as bits.
enum Kind : unsigned {
  kInteger = 1,
  kFloat = 2,
  kLogical = 4,
  kComplex = 8,
  kByte = 16,
  kMulti = 32,
  kPair = 64,
  kText = 128,
  kRealPair = 256  // beside kPair
};

struct TypeEntry {
  MPI_Datatype type;
  unsigned kind;
  std::size_t bytes = 0;
};

struct OpEntry {
  MPI_Op op;
  unsigned kinds;
  const char* name;
};
#define ECO_OPERATION(op, kinds) \
  OpEntry { op, kinds, #op }

#if defined(OPEN_MPI)
// As mpi.h would, had it been made with a Fortran compiler; a library that was has them.
#define ECO_SIZED(open_mpi, mixed) reinterpret_cast<MPI_Datatype>(&ompi_mpi_##open_mpi)
#else
#define ECO_SIZED(open_mpi, mixed) mixed
#endif

// MPI_SHORT_INT, MPI_DOUBLE_INT and their like have gaps and are left to the library. Of Fortran's types those that the
// library was built without have no bytes there.
//
// Sizes are asked for once: MPICH takes some 150 ns for the answer. That is sound for predefined types alone, whose
// handles are never freed and used again.
ECO_ON_EVERY_CALL const auto& types() {
  static const auto kTypes = [] {
    std::array table = {
        TypeEntry{MPI_INT, kInteger},
        TypeEntry{MPI_DOUBLE, kFloat},
        TypeEntry{MPI_FLOAT, kFloat},
        TypeEntry{MPI_DOUBLE_PRECISION, kFloat},
        TypeEntry{MPI_INTEGER, kInteger},
        TypeEntry{MPI_DOUBLE_COMPLEX, kComplex},
        TypeEntry{MPI_REAL, kFloat},
        TypeEntry{MPI_LOGICAL, kLogical},
        TypeEntry{MPI_LONG, kInteger},
        TypeEntry{MPI_UNSIGNED, kInteger},
        TypeEntry{MPI_UNSIGNED_LONG, kInteger},
        TypeEntry{MPI_LONG_LONG, kInteger},
        TypeEntry{MPI_UNSIGNED_LONG_LONG, kInteger},
        TypeEntry{MPI_SHORT, kInteger},
        TypeEntry{MPI_UNSIGNED_SHORT, kInteger},
        TypeEntry{MPI_SIGNED_CHAR, kInteger},
        TypeEntry{MPI_UNSIGNED_CHAR, kInteger},
        TypeEntry{MPI_INT8_T, kInteger},
        TypeEntry{MPI_INT16_T, kInteger},
        TypeEntry{MPI_INT32_T, kInteger},
        TypeEntry{MPI_INT64_T, kInteger},
        TypeEntry{MPI_UINT8_T, kInteger},
        TypeEntry{MPI_UINT16_T, kInteger},
        TypeEntry{MPI_UINT32_T, kInteger},
        TypeEntry{MPI_UINT64_T, kInteger},
        TypeEntry{MPI_LONG_DOUBLE, kFloat},
        TypeEntry{MPI_C_BOOL, kLogical},
        TypeEntry{MPI_C_FLOAT_COMPLEX, kComplex},
        TypeEntry{MPI_C_DOUBLE_COMPLEX, kComplex},
        TypeEntry{MPI_BYTE, kByte},
        TypeEntry{MPI_AINT, kMulti},
        TypeEntry{MPI_OFFSET, kMulti},
        TypeEntry{MPI_COUNT, kMulti},
        TypeEntry{MPI_2INT, kPair},
        TypeEntry{MPI_CHAR, kText},
        TypeEntry{MPI_COMPLEX, kComplex},
        TypeEntry{MPI_2INTEGER, kPair},
        TypeEntry{MPI_2REAL, kPair | kRealPair},
        TypeEntry{MPI_2DOUBLE_PRECISION, kPair | kRealPair},
        TypeEntry{MPI_CHARACTER, kText},
        TypeEntry{ECO_SIZED(integer1, MPI_INTEGER1), kInteger},
        TypeEntry{ECO_SIZED(integer2, MPI_INTEGER2), kInteger},
        TypeEntry{ECO_SIZED(integer4, MPI_INTEGER4), kInteger},
        TypeEntry{ECO_SIZED(integer8, MPI_INTEGER8), kInteger},
        TypeEntry{ECO_SIZED(real4, MPI_REAL4), kFloat},
        TypeEntry{ECO_SIZED(real8, MPI_REAL8), kFloat},
        TypeEntry{ECO_SIZED(real16, MPI_REAL16), kFloat},
        TypeEntry{ECO_SIZED(complex8, MPI_COMPLEX8), kComplex},
        TypeEntry{ECO_SIZED(complex16, MPI_COMPLEX16), kComplex},
        TypeEntry{ECO_SIZED(complex32, MPI_COMPLEX32), kComplex},
    };
    // Open MPI's MPI_COMM_SELF hears of a type that the library doesn't have. MPICH's too once it has a handler, which
    // it could not lose again: later errors without a communicator would be its and not MPI_COMM_WORLD's.
#if defined(OPEN_MPI)
    const ErrorsReturn of_self(MPI_COMM_SELF);
#endif
    const ErrorsReturn of_world(MPI_COMM_WORLD);
    for (TypeEntry& entry : table) {
      MPI_Count size = 0;
      const bool is_known =
          entry.type != MPI_DATATYPE_NULL && PMPI_Type_size_x(entry.type, &size) == MPI_SUCCESS && size > 0;
      if (is_known)
        entry.bytes = static_cast<std::size_t>(size);
      else
        entry.type = MPI_DATATYPE_NULL;
    }
    return table;
  }();
  return kTypes;
}

const TypeEntry* find_type(MPI_Datatype type) {
  for (const TypeEntry& entry : types()) {
    if (entry.type == type && entry.bytes > 0) return &entry;
  }
  return nullptr;
}

const auto& operations() {
  constexpr unsigned kOrdered = kInteger | kFloat | kMulti;
  constexpr unsigned kArithmetic = kOrdered | kComplex;
  constexpr unsigned kTruth = kInteger | kLogical;
  constexpr unsigned kBits = kInteger | kByte | kMulti;
  constexpr unsigned kNothing = 0;  // of one-sided calls: predefined, but no reduction's
  static const std::array kOperations = {
      ECO_OPERATION(MPI_SUM, kArithmetic),  ECO_OPERATION(MPI_MAX, kOrdered),
      ECO_OPERATION(MPI_MIN, kOrdered),     ECO_OPERATION(MPI_PROD, kArithmetic),
      ECO_OPERATION(MPI_LAND, kTruth),      ECO_OPERATION(MPI_LOR, kTruth),
      ECO_OPERATION(MPI_LXOR, kTruth),      ECO_OPERATION(MPI_BAND, kBits),
      ECO_OPERATION(MPI_BOR, kBits),        ECO_OPERATION(MPI_BXOR, kBits),
      ECO_OPERATION(MPI_MAXLOC, kPair),     ECO_OPERATION(MPI_MINLOC, kPair),
      ECO_OPERATION(MPI_REPLACE, kNothing), ECO_OPERATION(MPI_NO_OP, kNothing),
#if defined(MPIX_EQUAL)
      ECO_OPERATION(MPIX_EQUAL, kNothing),
#endif
  };
  return kOperations;
}

// MPI_BOTTOM is a null pointer, which MPICH 4.0 takes for a mistake in packing. So what lies at the addresses that the
// type holds is described from another place.
template <class Run>
int with_an_address(void* user, int count, MPI_Datatype type, const Run& run) {
  if (user != nullptr) return run(user, count, type);
  std::byte place{};
  MPI_Aint address = 0;
  MPI_Datatype moved = MPI_DATATYPE_NULL;
  PMPI_Get_address(&place, &address);
  const MPI_Aint back = -address;
  const int code = PMPI_Type_create_hindexed(1, &count, &back, type, &moved);
  if (code != MPI_SUCCESS) return code;
  PMPI_Type_commit(&moved);
  const int result = run(&place, 1, moved);
  PMPI_Type_free(&moved);
  return result;
}

MPI_Comm& packing_comm() {
  static MPI_Comm comm = MPI_COMM_NULL;
  return comm;
}

void combine_elements(void* context, const void* in, void* inout, std::size_t bytes) {
  const auto* reduction = static_cast<const Reduction*>(context);
  // Cannot fail: the table lists only what MPI defines, and the messages are below INT_MAX bytes. `in` is the left
  // operand, as MPI has it.
  PMPI_Reduce_local(in, inout, static_cast<int>(bytes / reduction->element_bytes), reduction->by.type,
                    reduction->by.op);
}

}  // namespace

std::size_t total_bytes(long long count, MPI_Datatype type) {
  std::size_t size = 0;
  if (const TypeEntry* known = find_type(type)) {
    size = known->bytes;
  } else {
    MPI_Count asked = 0;
    PMPI_Type_size_x(type, &asked);
    size = asked > 0 ? static_cast<std::size_t>(asked) : 0;
  }
  std::size_t total = 0;
  const bool too_many = __builtin_mul_overflow(static_cast<std::size_t>(count), size, &total);
  return too_many ? std::numeric_limits<std::size_t>::max() : total;
}

void find_types() { types(); }

void pack_over(MPI_Comm comm) { packing_comm() = comm; }

bool is_committed(MPI_Datatype type) {
  if (find_type(type) != nullptr || packing_comm() == MPI_COMM_NULL) return true;
  std::byte none{};
  std::byte nothing{};
  int position = 0;
  return PMPI_Pack(&none, 0, type, &nothing, 1, &position, packing_comm()) == MPI_SUCCESS;
}

bool is_predefined(MPI_Datatype type) { return find_type(type) != nullptr; }

std::ptrdiff_t extent_bytes(MPI_Datatype type) {
  MPI_Count lower = 0, extent = 0;
  PMPI_Type_get_extent_x(type, &lower, &extent);
  return static_cast<std::ptrdiff_t>(extent);
}

bool is_dense(MPI_Datatype type) {
  if (find_type(type) != nullptr) return true;
  int n_integers = 0, n_addresses = 0, n_types = 0, combiner = 0;
  if (PMPI_Type_get_envelope(type, &n_integers, &n_addresses, &n_types, &combiner) != MPI_SUCCESS)
    return false;
  if (combiner == MPI_COMBINER_NAMED) {
    MPI_Count lower = 0, extent = 0, size = 0;
    PMPI_Type_get_extent_x(type, &lower, &extent);
    PMPI_Type_size_x(type, &size);
    return lower == 0 && extent == size;
  }
  // size == extent proves nothing for other types: an indexed type may hold its elements in another order.
  if (combiner != MPI_COMBINER_DUP && combiner != MPI_COMBINER_CONTIGUOUS) return false;
  if (n_integers > 1 || n_addresses != 0 || n_types != 1) return false;
  int integer = 0;
  MPI_Aint address = 0;
  MPI_Datatype inner = MPI_DATATYPE_NULL;
  if (PMPI_Type_get_contents(type, n_integers, 0, 1, &integer, &address, &inner) != MPI_SUCCESS) return false;
  const bool dense = is_dense(inner);
  PMPI_Type_get_envelope(inner, &n_integers, &n_addresses, &n_types, &combiner);
  if (combiner != MPI_COMBINER_NAMED) PMPI_Type_free(&inner);  // the call above made a new handle
  return dense;
}

bool pack(const void* user, int count, MPI_Datatype type, std::span<std::byte> dense) {
  int position = 0;
  const int bytes = static_cast<int>(dense.size());
  const auto run = [&](const void* memory, int n, MPI_Datatype laid_out) {
    return PMPI_Pack(memory, n, laid_out, dense.data(), bytes, &position, packing_comm());
  };
  return with_an_address(const_cast<void*>(user), count, type, run) == MPI_SUCCESS && position == bytes;
}

bool unpack(std::span<const std::byte> dense, void* user, int count, MPI_Datatype type) {
  int position = 0;
  const int bytes = static_cast<int>(dense.size());
  const auto run = [&](void* memory, int n, MPI_Datatype laid_out) {
    return PMPI_Unpack(dense.data(), bytes, &position, memory, n, laid_out, packing_comm());
  };
  return with_an_address(user, count, type, run) == MPI_SUCCESS && position == bytes;
}

exec::Combine Reduction::combine() {
  return {.function = &combine_elements, .context = this, .element_bytes = element_bytes, .library = &by};
}

const char* op_name(MPI_Op op) {
  if (op == MPI_OP_NULL) return "MPI_OP_NULL";
  for (const OpEntry& operation : operations()) {
    if (operation.op == op) return operation.name;
  }
  int commutative = 0;
  PMPI_Op_commutative(op, &commutative);
  return commutative != 0 ? "an own operation" : "an own, ordered operation";
}

std::string type_name(MPI_Datatype type) {
  int n_integers = 0, n_addresses = 0, n_types = 0, combiner = 0, length = 0;
  PMPI_Type_get_envelope(type, &n_integers, &n_addresses, &n_types, &combiner);
  if (combiner != MPI_COMBINER_NAMED) return "a derived type";
  char name[MPI_MAX_OBJECT_NAME] = "";
  PMPI_Type_get_name(type, name, &length);
  return name;
}

std::optional<Reduction> find_reduction(MPI_Datatype type, MPI_Op op) {
  if (op == MPI_OP_NULL) return std::nullopt;
  for (const OpEntry& operation : operations()) {
    if (operation.op != op) continue;
    const TypeEntry* known = find_type(type);
    if (known == nullptr || (known->kind & operation.kinds) == 0) return std::nullopt;
    // Equal numbers may have other bytes (0 and -0), and what is no number equals none.
    constexpr unsigned kRounds = kFloat | kComplex | kRealPair;
    return Reduction{.by = {type, op}, .element_bytes = known->bytes, .exact = (known->kind & kRounds) == 0};
  }
  // The program's own. What its function reads and writes of an element lies within the extent.
  if (!is_dense(type)) return std::nullopt;
  int commutative = 0;
  if (PMPI_Op_commutative(op, &commutative) != MPI_SUCCESS) return std::nullopt;
  return Reduction{.by = {type, op},
                   .element_bytes = total_bytes(1, type),
                   .commutative = commutative != 0,
                   .predefined = false};
}

}  // namespace eco::preload
