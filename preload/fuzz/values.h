// Elements of reductions: which types there are, what is written into them, and which of their bytes mean something.
//
//   const Element element = element_of("double_int", types, 0);
//   fill(memory, n, element, Values{.seed = 7, .op = "minloc"});
//
// Values are such that every order of combining gives the same bytes: small whole numbers, also in floating point, where
// sums and products of them are exact. With `real` they are not, and a result is held against a bound instead.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "preload/fuzz/layouts.h"

namespace eco::fuzz {

struct Part {
  enum class Kind { whole, floating, truth } kind;
  int bytes;
  int offset;
  bool is_signed = true;
};

struct Element {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  std::size_t extent = 0;
  std::vector<Part> parts;
};

// By its name in a program, "double" or "short_int"; "pair" and "gapped" are the types of the program's own operations.
Element element_of(const std::string& name, Types& types);

// What one rank has. All others can tell it too.
struct Values {
  std::uint64_t seed = 0;
  int rank = 0;  // in the world
  std::string op;
  bool real = false;
};
void fill(std::byte* memory, std::size_t n, const Element& element, const Values& values);
// Of a real element: the value at that place.
double real_value(const Values& values, std::size_t index);

// Bytes of elements that mean nothing become zero, and so does a zero below zero, whose sign is that of an order.
void forget_what_is_open(std::byte* memory, std::size_t n, const Element& element);

// The operation of that name; the program's own, "compose" (in order) and "least" (in any), are made and have to be freed.
struct Operation {
  MPI_Op op = MPI_OP_NULL;
  bool is_own = false;
};
Operation operation_of(const std::string& name);

}  // namespace eco::fuzz
