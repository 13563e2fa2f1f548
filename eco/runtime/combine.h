// What this room's own reductions combine: the doubles of trials, the tokens of barriers.
#pragma once

#include <cstddef>

#include "eco/coll/combine.h"

namespace eco::runtime {

// exec::Combine::function: inout[i] = in[i] + inout[i].
inline void sum_doubles(void*, const void* in, void* inout, std::size_t bytes) {
  const auto* left = static_cast<const double*>(in);
  auto* right = static_cast<double*>(inout);
  for (std::size_t i = 0; i < bytes / sizeof(double); ++i) right[i] = left[i] + right[i];
}

// exec::Combine::function: inout[i] = in[i] | inout[i].
inline void combine_tokens(void*, const void* in, void* inout, std::size_t bytes) {
  const auto* left = static_cast<const unsigned char*>(in);
  auto* right = static_cast<unsigned char*>(inout);
  for (std::size_t i = 0; i < bytes; ++i) right[i] = static_cast<unsigned char>(left[i] | right[i]);
}

inline coll::Combine sum_of_doubles() { return {.function = sum_doubles, .element_bytes = sizeof(double)}; }
inline coll::Combine or_of_bytes() { return {.function = combine_tokens}; }

}  // namespace eco::runtime
