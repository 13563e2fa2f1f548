#include "preload/fuzz/values.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "preload/fuzz/program.h"

namespace eco::fuzz {
namespace {

using Kind = Part::Kind;

struct Named {
  const char* name;
  MPI_Datatype type;
  std::vector<Part> parts;
};

constexpr int kIndexAt16 = 16;  // of a pair whose value has as many bytes

const std::vector<Named>& named() {
  static const std::vector<Named> table = {
      {"int", MPI_INT, {{Kind::whole, 4, 0}}},
      {"unsigned", MPI_UNSIGNED, {{Kind::whole, 4, 0, false}}},
      {"long", MPI_LONG, {{Kind::whole, 8, 0}}},
      {"unsigned_long", MPI_UNSIGNED_LONG, {{Kind::whole, 8, 0, false}}},
      {"short", MPI_SHORT, {{Kind::whole, 2, 0}}},
      {"signed_char", MPI_SIGNED_CHAR, {{Kind::whole, 1, 0}}},
      {"unsigned_char", MPI_UNSIGNED_CHAR, {{Kind::whole, 1, 0, false}}},
      {"int8", MPI_INT8_T, {{Kind::whole, 1, 0}}},
      {"uint16", MPI_UINT16_T, {{Kind::whole, 2, 0, false}}},
      {"int32", MPI_INT32_T, {{Kind::whole, 4, 0}}},
      {"uint64", MPI_UINT64_T, {{Kind::whole, 8, 0, false}}},
      {"aint", MPI_AINT, {{Kind::whole, 8, 0}}},
      {"byte", MPI_BYTE, {{Kind::whole, 1, 0, false}}},
      {"float", MPI_FLOAT, {{Kind::floating, 4, 0}}},
      {"double", MPI_DOUBLE, {{Kind::floating, 8, 0}}},
      {"long_double", MPI_LONG_DOUBLE, {{Kind::floating, 10, 0}}},
      {"complex", MPI_C_DOUBLE_COMPLEX, {{Kind::floating, 8, 0}, {Kind::floating, 8, 8}}},
      {"bool", MPI_C_BOOL, {{Kind::truth, 1, 0}}},
      {"2int", MPI_2INT, {{Kind::whole, 4, 0}, {Kind::whole, 4, 4}}},
      {"float_int", MPI_FLOAT_INT, {{Kind::floating, 4, 0}, {Kind::whole, 4, 4}}},
      {"double_int", MPI_DOUBLE_INT, {{Kind::floating, 8, 0}, {Kind::whole, 4, 8}}},
      {"long_int", MPI_LONG_INT, {{Kind::whole, 8, 0}, {Kind::whole, 4, 8}}},
      {"short_int", MPI_SHORT_INT, {{Kind::whole, 2, 0}, {Kind::whole, 4, 4}}},
      {"long_double_int", MPI_LONG_DOUBLE_INT, {{Kind::floating, 10, 0}, {Kind::whole, 4, kIndexAt16}}},
  };
  return table;
}

template <class Number>
void put(std::byte* at, Number number) {
  std::memcpy(at, &number, sizeof number);
}

void put_whole(std::byte* at, const Part& part, long long value) {
  if (part.bytes == 1) put(at, static_cast<std::int8_t>(value));
  if (part.bytes == 2) put(at, static_cast<std::int16_t>(value));
  if (part.bytes == 4) put(at, static_cast<std::int32_t>(value));
  if (part.bytes == 8) put(at, static_cast<std::int64_t>(value));
}

void put_floating(std::byte* at, const Part& part, long double value) {
  if (part.bytes == 4) put(at, static_cast<float>(value));
  if (part.bytes == 8) put(at, static_cast<double>(value));
  if (part.bytes == 10) std::memcpy(at, &value, 10);
}

// For products 1, 2 and -1; for places of the extreme few values, so that many are equal; else up to 100.
// Sums of them over eight ranks fit into an element: what a library does beyond is its own affair, and Open MPI's sum of
// int8 stops at the ends in some orders.
long long small_value(const std::string& op, std::uint64_t dice, const Part& part) {
  if (op == "prod") return dice % 3 == 0 ? 2 : dice % 3 == 1 && part.is_signed ? -1 : 1;
  if (op == "minloc" || op == "maxloc") return static_cast<long long>(dice % 4);
  const std::uint64_t most = part.bytes == 1 ? 15 : 50;
  return static_cast<long long>(dice % (2 * most)) - static_cast<long long>(part.is_signed ? most : 0);
}

// x -> a x + b modulo a prime, one after the other: associative, and does not commute.
void compose(const int* f, int* g) {
  g[1] = (g[0] * f[1] + g[1]) % 1009;
  g[0] = f[0] * g[0] % 1009;
}
void least(const int* f, int* g) {
  for (int k = 0; k < 2; ++k) g[k] = f[k] < g[k] ? f[k] : g[k];
}

template <void (*combine)(const int*, int*)>
void each(void* left, void* right, int* count, MPI_Datatype* type) {
  const MPI_Aint extent = extent_of(*type);
  for (MPI_Aint i = 0; i < *count; ++i)
    combine(reinterpret_cast<int*>(static_cast<char*>(left) + i * extent),
            reinterpret_cast<int*>(static_cast<char*>(right) + i * extent));
}

}  // namespace

Element element_of(const std::string& name, Types& types) {
  if (name == "pair" || name == "gapped") {
    Element own{types.pair(name == "gapped"), 0, {{Kind::whole, 4, 0, false}, {Kind::whole, 4, 4, false}}};
    own.extent = static_cast<std::size_t>(extent_of(own.type));
    return own;
  }
  for (const Named& each : named()) {
    if (name == each.name) return {each.type, static_cast<std::size_t>(extent_of(each.type)), each.parts};
  }
  throw std::runtime_error("element type '" + name + "' is none that is known");
}

void fill(std::byte* memory, std::size_t n, const Element& element, const Values& values) {
  const auto rank = static_cast<std::uint64_t>(values.rank);
  std::memset(memory, 0, n * element.extent);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < element.parts.size(); ++k) {
      const Part& part = element.parts[k];
      std::byte* at = memory + i * element.extent + part.offset;
      const std::uint64_t dice = mixed(values.seed, rank, i * 2 + k);
      const bool is_place = k == 1 && (values.op == "minloc" || values.op == "maxloc");
      const long long value =
          is_place ? static_cast<long long>(dice % 1000) : small_value(values.op, dice, part);
      if (part.kind == Kind::truth)
        put(at, static_cast<std::uint8_t>(dice % 2));
      else if (part.kind == Kind::whole)
        put_whole(at, part, value);
      else
        put_floating(at, part, values.real ? real_value(values, i) : static_cast<double>(value));
    }
  }
}

double real_value(const Values& values, std::size_t index) {
  const std::uint64_t dice = mixed(values.seed, static_cast<std::uint64_t>(values.rank), index);
  const double size = std::ldexp(1.0, static_cast<int>(dice % 41) - 20);
  // A float's worth of digits, so that floats have these very values too.
  return size * (static_cast<double>(dice >> 41) / (1 << 22) - 1.0);
}

void forget_what_is_open(std::byte* memory, std::size_t n, const Element& element) {
  std::vector<bool> means(element.extent, false);
  for (const Part& part : element.parts) {
    for (int b = 0; b < part.bytes; ++b) means[static_cast<std::size_t>(part.offset + b)] = true;
  }
  for (std::size_t b = 0; b < element.extent; ++b) {
    if (means[b]) continue;
    for (std::size_t i = 0; i < n; ++i) memory[i * element.extent + b] = std::byte{0};
  }
  for (const Part& part : element.parts) {
    if (part.kind != Kind::floating) continue;
    for (std::size_t i = 0; i < n; ++i) {
      std::byte* const first = memory + i * element.extent + part.offset;
      std::byte* const last = first + part.bytes - 1;
      const bool is_zero = std::all_of(first, last, [](std::byte b) { return b == std::byte{0}; });
      if (is_zero && *last == std::byte{0x80}) *last = std::byte{0};
    }
  }
}

Operation operation_of(const std::string& name) {
  static const std::vector<std::pair<const char*, MPI_Op>> table = {
      {"sum", MPI_SUM},   {"prod", MPI_PROD}, {"max", MPI_MAX},       {"min", MPI_MIN},
      {"band", MPI_BAND}, {"bor", MPI_BOR},   {"bxor", MPI_BXOR},     {"land", MPI_LAND},
      {"lor", MPI_LOR},   {"lxor", MPI_LXOR}, {"maxloc", MPI_MAXLOC}, {"minloc", MPI_MINLOC}};
  for (const auto& [known, op] : table) {
    if (name == known) return {op, false};
  }
  Operation own{MPI_OP_NULL, true};
  if (name == "compose") {
    MPI_Op_create(each<compose>, 0, &own.op);
  } else if (name == "least") {
    MPI_Op_create(each<least>, 1, &own.op);
  } else {
    throw std::runtime_error("operation '" + name + "' is none that is known");
  }
  return own;
}

}  // namespace eco::fuzz
