// SipHash-2-4: whoever knows the key can make the number for some bytes, nobody else can.
//
//   fill_randomly(key);
//   keyed_hash(key, bytes) == what_the_other_side_sent
//
// Aumasson and Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012. Local, pure but for fill_randomly(). Why not a
// library's: docs/adr/0018.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace eco::transport::tcp {

using Key = std::array<std::byte, 16>;
using Nonce = std::array<std::byte, 16>;

std::uint64_t keyed_hash(const Key& key, std::span<const std::byte> bytes);

// From the kernel, good enough for keys. Throws TransportError where it has none.
void fill_randomly(std::span<std::byte> bytes);

}  // namespace eco::transport::tcp
