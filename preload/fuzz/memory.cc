#include "preload/fuzz/memory.h"

#include <algorithm>
#include <cstring>

#include "preload/fuzz/program.h"

namespace eco::fuzz {
namespace {

constexpr MPI_Aint kGuard = 64;
constexpr MPI_Aint kAligned = 16;  // as malloc is, for the program's elements

}  // namespace

Memory::Memory(Span span, std::uint64_t seed) : seed_(seed) {
  const MPI_Aint before = (kGuard - span.from + kAligned - 1) / kAligned * kAligned;
  at_ = static_cast<std::size_t>(before);
  bytes_.resize(static_cast<std::size_t>(before + span.to + kGuard));
  refill();
}

void Memory::refill() {
  for (std::size_t i = 0; i < bytes_.size(); i += sizeof(std::uint64_t)) {
    const std::uint64_t word = mixed(seed_, i);
    std::memcpy(bytes_.data() + i, &word, std::min(sizeof word, bytes_.size() - i));
  }
}

std::uint64_t digest(std::span<const std::byte> bytes, std::uint64_t before) {
  std::uint64_t seen = mixed(before, bytes.size());
  for (std::size_t i = 0; i < bytes.size(); i += sizeof seen) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, std::min(sizeof word, bytes.size() - i));
    seen = (seen ^ word) * 0x9e3779b97f4a7c15;
    seen ^= seen >> 29;
  }
  return seen;
}

}  // namespace eco::fuzz
