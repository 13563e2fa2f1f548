#include "eco/runtime/contents.h"

#include <algorithm>
#include <cstring>

#include "eco/coll/meaning.h"

namespace eco::runtime {
namespace {

using coll::Collective;

double value_at(int rank, std::size_t i) {
  return static_cast<double>((static_cast<std::size_t>(rank) + i) % 1021);
}

std::byte byte_at(int rank, std::size_t i) {
  return static_cast<std::byte>((i * 37 + static_cast<std::size_t>(rank) * 11 + 11) % 251);
}

}  // namespace

bool sums_doubles(const coll::CommonProblem& problem) {
  return coll::is_reduction(problem.collective) && problem.element_bytes == sizeof(double);
}

std::vector<std::byte> input_of(const coll::CommonProblem& problem, int rank) {
  const bool brings_message = problem.collective == Collective::broadcast && rank == problem.root;
  std::vector<std::byte> bytes(brings_message ? problem.bytes : coll::input_bytes(problem, rank));
  if (!sums_doubles(problem)) {
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = byte_at(rank, i);
    return bytes;
  }
  for (std::size_t i = 0; i < bytes.size() / sizeof(double); ++i) {
    const double value = value_at(rank, i);
    std::memcpy(bytes.data() + i * sizeof(double), &value, sizeof(double));
  }
  return bytes;
}

std::vector<std::byte> expected_of(const coll::CommonProblem& problem, int rank) {
  std::vector<std::byte> bytes(coll::output_bytes(problem, rank), kUntouched);
  for (const coll::Part& part : coll::meaning(problem, rank)) {
    std::byte* const target = bytes.data() + part.offset;
    std::fill(target, target + part.bytes, std::byte{0});
    if (!sums_doubles(problem)) {
      for (std::size_t i = 0; i < part.bytes; ++i) {
        for (int from = part.first; from <= part.last; ++from)
          target[i] |= byte_at(from, part.input_offset + i);
      }
      continue;
    }
    const std::size_t first_value = part.input_offset / sizeof(double);
    for (std::size_t i = 0; i < part.bytes / sizeof(double); ++i) {
      double sum = 0;
      for (int from = part.first; from <= part.last; ++from) sum += value_at(from, first_value + i);
      std::memcpy(target + i * sizeof(double), &sum, sizeof(double));
    }
  }
  return bytes;
}

}  // namespace eco::runtime
