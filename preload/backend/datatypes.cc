#include "preload/backend/datatypes.h"

#include <array>
#include <climits>
#include <limits>

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
  kText = 128
};

struct TypeEntry {
  MPI_Datatype type;
  unsigned kind;
  std::size_t bytes = 0;
};

struct OpEntry {
  MPI_Op op;
  unsigned kinds;
};

// MPI_SHORT_INT, MPI_DOUBLE_INT and their like have gaps and are left to the library; so are Fortran's types, which
// some builds of a library lack.
//
// Sizes are asked for once: MPICH takes some 150 ns for the answer. That is sound for predefined types alone, whose
// handles are never freed and used again.
const auto& types() {
  static const auto kTypes = [] {
    std::array table = {
        TypeEntry{MPI_INT, kInteger},
        TypeEntry{MPI_DOUBLE, kFloat},
        TypeEntry{MPI_FLOAT, kFloat},
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
    };
    for (TypeEntry& entry : table) {
      MPI_Count size = 0;
      PMPI_Type_size_x(entry.type, &size);
      entry.bytes = static_cast<std::size_t>(size);
    }
    return table;
  }();
  return kTypes;
}

const TypeEntry* find_type(MPI_Datatype type) {
  for (const TypeEntry& entry : types()) {
    if (entry.type == type) return &entry;
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
      OpEntry{MPI_SUM, kArithmetic},  OpEntry{MPI_MAX, kOrdered},   OpEntry{MPI_MIN, kOrdered},
      OpEntry{MPI_PROD, kArithmetic}, OpEntry{MPI_LAND, kTruth},    OpEntry{MPI_LOR, kTruth},
      OpEntry{MPI_LXOR, kTruth},      OpEntry{MPI_BAND, kBits},     OpEntry{MPI_BOR, kBits},
      OpEntry{MPI_BXOR, kBits},       OpEntry{MPI_MAXLOC, kPair},   OpEntry{MPI_MINLOC, kPair},
      OpEntry{MPI_REPLACE, kNothing}, OpEntry{MPI_NO_OP, kNothing},
#if defined(MPIX_EQUAL)
      OpEntry{MPIX_EQUAL, kNothing},
#endif
  };
  return kOperations;
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
  return PMPI_Pack(user, count, type, dense.data(), bytes, &position, MPI_COMM_SELF) == MPI_SUCCESS &&
         position == bytes;
}

bool unpack(std::span<const std::byte> dense, void* user, int count, MPI_Datatype type) {
  int position = 0;
  const int bytes = static_cast<int>(dense.size());
  return PMPI_Unpack(dense.data(), bytes, &position, user, count, type, MPI_COMM_SELF) == MPI_SUCCESS &&
         position == bytes;
}

exec::Combine Reduction::combine() {
  return {.function = &combine_elements, .context = this, .element_bytes = element_bytes, .library = &by};
}

std::optional<Reduction> find_reduction(MPI_Datatype type, MPI_Op op) {
  if (op == MPI_OP_NULL) return std::nullopt;
  for (const OpEntry& operation : operations()) {
    if (operation.op != op) continue;
    const TypeEntry* known = find_type(type);
    if (known == nullptr || (known->kind & operation.kinds) == 0) return std::nullopt;
    return Reduction{.by = {type, op}, .element_bytes = known->bytes};
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
