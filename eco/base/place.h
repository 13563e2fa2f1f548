// A place among so many for a key, by Knuth's multiplicative hash (TAOCP 3, section 6.4): keys in a row, addresses and multiples of
// powers of two do not meet.
//
//   Slot& slot = slots[place_of(key, 4)];   // of 16
#pragma once

#include <cstddef>
#include <cstdint>

namespace eco::base {

// Below 2^bits; 1 <= bits <= 63.
constexpr std::size_t place_of(std::uint64_t key, int bits) {
  constexpr std::uint64_t kGoldenRatio = 0x9E3779B97F4A7C15U;
  return (key * kGoldenRatio) >> (64 - bits);
}

}  // namespace eco::base
