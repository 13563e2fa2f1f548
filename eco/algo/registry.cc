#include <array>

#include "eco/algo/algorithms.h"

namespace eco::algo {

std::span<const Algorithm* const> registry() {
  static const std::array algorithms = {
      &broadcast_subnets(), &broadcast_binomial(), &broadcast_ring(),
      &allreduce_subnets(), &allreduce_binomial(), &allreduce_ring(),
      &barrier_subnets(),   &barrier_binomial(),   &barrier_ring(),
  };
  return algorithms;
}

const Algorithm* find(std::string_view name) {
  for (const Algorithm* algorithm : registry()) {
    if (algorithm->name() == name) return algorithm;
  }
  return nullptr;
}

}  // namespace eco::algo
