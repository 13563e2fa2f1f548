#include "preload/backend/profile.h"

#include <new>
#include <nlohmann/json.hpp>
#include <string>

namespace eco::preload {

std::string_view name(Fate fate) {
  static constexpr std::array<std::string_view, kFates> kNames = {
      "served",    "communicator", "waiting",   "plan",   "late",        "unplanned", "empty",
      "too_large", "reduction",    "arguments", "uneven", "nonblocking", "varying",   "graph"};
  return kNames[static_cast<std::size_t>(fate)];
}

std::string_view name(Varying operation) {
  static constexpr std::array<std::string_view, kVarying> kNames = {
      "gatherv",           "scatterv", "alltoallv", "alltoallw", "neighbor_allgatherv", "neighbor_alltoallv",
      "neighbor_alltoallw"};
  return kNames[static_cast<std::size_t>(operation)];
}

std::string_view Profile::name_of(int operation) {
  if (operation < coll::kCollectives) return coll::name(static_cast<coll::Collective>(operation));
  return name(static_cast<Varying>(operation - coll::kCollectives));
}

Profile::Calls::~Calls() {
  for (const auto& cells : cells_) delete cells.load();
}

Profile::Calls::Cells* Profile::Calls::cells_of(int operation) noexcept {
  std::atomic<Cells*>& slot = cells_[static_cast<std::size_t>(operation)];
  Cells* there = slot.load(std::memory_order_acquire);
  if (there != nullptr) return there;
  auto* made = new (std::nothrow) Cells();
  if (made == nullptr || slot.compare_exchange_strong(there, made, std::memory_order_acq_rel)) return made;
  delete made;  // another thread was first
  return there;
}

void Profile::Calls::note(int operation, std::size_t bytes, Fate fate, std::uint64_t nanoseconds) noexcept {
  Cells* const cells = cells_of(operation);
  if (cells == nullptr) return;
  Cell& cell = (*cells)[static_cast<std::size_t>(bracket_of(bytes))][static_cast<std::size_t>(fate)];
  cell.calls.fetch_add(1, std::memory_order_relaxed);
  cell.bytes.fetch_add(bytes, std::memory_order_relaxed);
  std::uint64_t largest = cell.largest.load(std::memory_order_relaxed);
  while (largest < bytes && !cell.largest.compare_exchange_weak(largest, bytes, std::memory_order_relaxed)) {
  }
  cell.nanoseconds.fetch_add(nanoseconds, std::memory_order_relaxed);
}

Profile::Calls* Profile::of_size(int n_ranks) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Calls>& calls = sizes_[n_ranks];
  if (!calls) calls = std::make_unique<Calls>();
  return calls.get();
}

nlohmann::json Profile::to_json() const {
  nlohmann::json list = nlohmann::json::array();
  const std::lock_guard lock(mutex_);
  for (const auto& [n_ranks, calls] : sizes_) {
    for (int i = 0; i < kOperations; ++i) {
      const Calls::Cells* cells = calls->cells_[static_cast<std::size_t>(i)].load(std::memory_order_acquire);
      if (cells == nullptr) continue;
      for (int size = 0; size < kBrackets; ++size) {
        for (int fate = 0; fate < kFates; ++fate) {
          const Calls::Cell& cell = (*cells)[static_cast<std::size_t>(size)][static_cast<std::size_t>(fate)];
          if (cell.calls.load() == 0) continue;
          list.push_back({{"operation", std::string(name_of(i))},
                          {"communicator_ranks", n_ranks},
                          {"up_to_bytes", most_bytes(size)},
                          {"fate", std::string(name(static_cast<Fate>(fate)))},
                          {"calls", cell.calls.load()},
                          {"bytes", cell.bytes.load()},
                          {"largest_bytes", cell.largest.load()},
                          {"seconds", static_cast<double>(cell.nanoseconds.load()) * 1e-9}});
        }
      }
    }
  }
  return list;
}

}  // namespace eco::preload
