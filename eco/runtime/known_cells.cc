#include "eco/runtime/known_cells.h"

#include <algorithm>

#include "eco/base/assert.h"
#include "eco/plan/planner.h"

namespace eco::runtime {
namespace {

constexpr std::uint32_t kAllSizes = ~std::uint32_t{0};

std::uint32_t size_of(std::size_t bytes) {
  ECO_ASSERT(light, plan::sizes_in_job().size() < 32, "a bit for each size, and one for larger ones");
  return std::uint32_t{1} << plan::size_class(bytes);
}

}  // namespace

KnownCells::KnownCells(int n_subnets)
    : n_subnets_(static_cast<std::size_t>(std::max(1, n_subnets))),
      sizes_(n_subnets_ * static_cast<std::size_t>(coll::kCollectives), 0) {}

std::size_t KnownCells::place(coll::Collective collective, int root_subnet) const {
  return static_cast<std::size_t>(collective) * n_subnets_ + static_cast<std::size_t>(root_subnet);
}

bool KnownCells::knows(const coll::CommonProblem& call, int root_subnet) const {
  return (sizes_[place(call.collective, root_subnet)] & size_of(call.bytes)) != 0;
}

bool KnownCells::knows_all(coll::Collective collective) const {
  const auto first = sizes_.begin() + static_cast<std::ptrdiff_t>(place(collective, 0));
  return std::all_of(first, first + static_cast<std::ptrdiff_t>(n_subnets_),
                     [](Sizes sizes) { return sizes == kAllSizes; });
}

void KnownCells::add(const coll::CommonProblem& call, int root_subnet) {
  sizes_[place(call.collective, root_subnet)] |= size_of(call.bytes);
}

void KnownCells::add_all(coll::Collective collective) {
  std::fill_n(sizes_.begin() + static_cast<std::ptrdiff_t>(place(collective, 0)), n_subnets_, kAllSizes);
}

void KnownCells::forget(coll::Collective collective) {
  std::fill_n(sizes_.begin() + static_cast<std::ptrdiff_t>(place(collective, 0)), n_subnets_, Sizes{0});
}

std::string KnownCells::text() const {
  std::string text;
  for (const Sizes sizes : sizes_) text += std::to_string(sizes) + ",";
  return text;
}

}  // namespace eco::runtime
