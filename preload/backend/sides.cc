#include "preload/backend/sides.h"

#include <algorithm>
#include <climits>

#include "preload/backend/datatypes.h"

namespace eco::preload {
namespace {

// MPICH looks for the same memory given twice and says so. Of Open MPI's calls a reduction to a root alone does;
// under the others such programs work, so they must here.
#if defined(OPEN_MPI)
constexpr bool refuses_aliases(coll::Collective collective) { return collective == coll::Collective::reduce; }
#else
constexpr bool refuses_aliases(coll::Collective) { return true; }
#endif

// What is added to serve uneven blocks as even ones costs time that no plan knows of. An eighth covers blocks of N / P
// elements and one more from some eight elements on, and is less than what a plan asks an algorithm to gain.
constexpr long long kMostPadding = 8;

bool is_sound(const std::optional<Data>& data, std::size_t bytes) {
  if (!data) return true;
  if (!has_bytes(*data) || data->memory == MPI_IN_PLACE || total_bytes(data->count, data->type) != bytes ||
      !is_committed(data->type)) {
    return false;
  }
  // MPI_BOTTOM is a null pointer, and right where the type holds addresses.
  return bytes == 0 || data->memory != nullptr || !is_dense(data->type);
}

}  // namespace

bool has_bytes(const Data& data) { return data.count >= 0 && data.type != MPI_DATATYPE_NULL; }

std::byte* address(const Data& data) {
  auto* memory = static_cast<std::byte*>(const_cast<void*>(data.memory));
  if (data.skipped == 0) return memory;
  return memory + static_cast<std::ptrdiff_t>(data.skipped) * extent_bytes(data.type);
}

Data blocks(int n, const Data& block) {
  Data all = block;
  // A count that MPI has no int for makes too many bytes, or none at all; either way it passes.
  if (block.count <= INT_MAX) all.count = block.count * n;
  return all;
}

Data block_at(int index, const Data& block) {
  Data one = block;
  one.skipped = block.count * index;
  return one;
}

Pieces::Piece Pieces::of(int index) const {
  Piece found{};
  for_each([&](int i, const Piece& piece) {
    if (i == index) found = piece;
  });
  return found;
}

long long Pieces::total() const {
  long long sum = 0;
  for_each([&](int, const Piece& piece) { sum += std::min(piece.count, LLONG_MAX - sum); });
  return sum;
}

long long Pieces::longest() const {
  long long most = 0;
  bool below = false;
  for_each([&](int, const Piece& piece) {
    most = std::max(most, piece.count);
    below = below || piece.count < 0;
  });
  return below ? -1 : most;
}

bool Pieces::are_even() const {
  bool even = true;
  const long long first = empty() ? 0 : count_at_(counts_, 0);
  for_each(
      [&](int i, const Piece& piece) { even = even && piece.count == first && piece.skipped == first * i; });
  return even;
}

Pieces Pieces::kept_in(std::vector<long long>& numbers) const {
  const auto n = static_cast<std::size_t>(n_);
  numbers.resize(2 * n);  // counts, then places
  for_each([&](int i, const Piece& piece) {
    numbers[static_cast<std::size_t>(i)] = piece.count;
    numbers[n + static_cast<std::size_t>(i)] = piece.skipped;
  });
  return {n_, numbers.data(), numbers.data() + n};
}

bool pads_little(const Pieces& pieces) {
  const long long longest = pieces.longest();
  if (longest < 0 || longest > LLONG_MAX / pieces.n()) return false;
  const long long padded = longest * pieces.n();
  return padded - pieces.total() <= pieces.total() / kMostPadding;
}

bool are_sound(const Sides& sides, const coll::CommonProblem& problem, int rank) {
  std::size_t input = coll::input_bytes(problem, rank);
  std::size_t output = coll::output_bytes(problem, rank);
  if (!sides.pieces.empty()) {
    const std::size_t own = total_bytes(sides.pieces.of(rank).count, sides.whole.type);
    const std::size_t all = total_bytes(sides.pieces.total(), sides.whole.type);
    input = coll::is_reduction(problem.collective) ? all : own;
    output = coll::is_reduction(problem.collective) ? own : all;
  }
  return is_sound(sides.input, input) && is_sound(sides.output, output);
}

bool is_refused_alias(const Sides& sides, coll::Collective collective) {
  if (!refuses_aliases(collective) || sides.in_place || !sides.twins) return false;
  const auto& [one, other] = *sides.twins;
  return one.type == other.type && one.count == other.count && one.memory != nullptr &&
         address(one) == address(other);
}

}  // namespace eco::preload
