// Integers in bytes that travel between hosts: least significant byte first, whatever the host has.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace eco::transport::tcp {

template <std::unsigned_integral T>
T load(const std::byte* from) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    value = static_cast<T>(value | (std::to_integer<T>(from[i]) << (8 * i)));
  return value;
}

template <std::unsigned_integral T>
void store(T value, std::byte* to) {
  for (std::size_t i = 0; i < sizeof(T); ++i) to[i] = static_cast<std::byte>((value >> (8 * i)) & 0xff);
}

}  // namespace eco::transport::tcp
