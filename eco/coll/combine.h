// How the elements of a reduction are combined: known to the caller alone, bound when a schedule starts.
#pragma once

#include <cstddef>

namespace eco::coll {

struct Combine {
  // inout[i] = in[i] op inout[i] over `bytes` bytes, a whole number of elements.
  void (*function)(void* context, const void* in, void* inout, std::size_t bytes) = nullptr;
  void* context = nullptr;
  // The same for a transport whose library combines by itself (Transport::start_group): the length of an element, and
  // what the library calls type and operation. Null: one of ECO's own, whose doubles are summed and bytes or-ed, as
  // transport/native.h has it.
  std::size_t element_bytes = 1;
  const void* library = nullptr;
};

}  // namespace eco::coll
