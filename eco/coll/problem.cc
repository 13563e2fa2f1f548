#include "eco/coll/problem.h"

#include <array>

namespace eco::coll {
namespace {

constexpr std::array<std::string_view, kCollectives> kNames = {"broadcast", "barrier", "allreduce"};

}  // namespace

std::string_view name(Collective collective) { return kNames[static_cast<std::size_t>(collective)]; }

std::optional<Collective> collective_from_name(std::string_view name) {
  for (int i = 0; i < kCollectives; ++i) {
    if (kNames[static_cast<std::size_t>(i)] == name) return static_cast<Collective>(i);
  }
  return std::nullopt;
}

}  // namespace eco::coll
