// Memory of one side of a call, with guards around it and random bytes everywhere: in what is sent, in the gaps between, in
// what is to be overwritten.
//
//   Memory out(span_of(layout, n), seed);
//   MPI_Recv(out.at(), ...);
//   const std::uint64_t seen = out.digest();          // guards and gaps too
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "preload/fuzz/layouts.h"

namespace eco::fuzz {

class Memory {
 public:
  Memory() = default;
  Memory(Span span, std::uint64_t seed);

  // The address that MPI is given: `span.from` bytes behind it the memory that it may touch begins.
  std::byte* at() { return bytes_.data() + at_; }
  // As in the beginning.
  void refill();
  std::span<const std::byte> all() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
  std::size_t at_ = 0;
  std::uint64_t seed_ = 0;
};

std::uint64_t digest(std::span<const std::byte> bytes, std::uint64_t before = 0);

}  // namespace eco::fuzz
