// Finds which unfinished operations a new operation must wait for, from the regions they read and write.
//
// A hash of cells, each as wide as a typical region; a cell lists the accesses that touch it, and the exact byte
// ranges are compared, so that neighbours in one cell do not wait for each other. Accesses of finished operations are
// dropped when met. Cost per region: the accesses alive in the few cells that it spans.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "eco/sched/schedule.h"

namespace eco::sched {

class Hazards {
 public:
  struct Access {
    std::uint32_t slot;
    bool write;
    Buffer buffer;
    std::uint64_t sequence;  // of the operation; tells a slot's present user from an earlier one
    std::size_t begin;
    std::size_t end;
  };

  // Adds one access; calls depend_on(slot) for every live access that it conflicts with, more than once if several
  // of its regions conflict. alive(slot, sequence) tells whether that operation is unfinished.
  template <class Alive, class DependOn>
  void add(const Access& access, Alive&& alive, DependOn&& depend_on) {
    if (access.begin == access.end) return;
    if (shift_ < 0)
      shift_ = std::countr_zero(std::bit_ceil(std::max(access.end - access.begin, kSmallestCell)));
    scan(wide_, access, alive, depend_on);
    const std::size_t first = access.begin >> shift_;
    const std::size_t last = (access.end - 1) >> shift_;
    if (last - first >= kCells / 4) {  // wider than the table is worth: it meets everything
      for (auto& cell : cells_) scan(cell, access, alive, depend_on);
      wide_.push_back(access);
      return;
    }
    for (std::size_t c = first; c <= last; ++c) {
      auto& cell = cells_[slot_of(access.buffer, c)];
      scan(cell, access, alive, depend_on);
      cell.push_back(access);
    }
  }

  void clear() {
    for (auto& cell : cells_) cell.clear();
    wide_.clear();
    shift_ = -1;
  }

 private:
  static constexpr std::size_t kCells = 256;  // power of two; a window's segments spread over about this many
  static constexpr std::size_t kSmallestCell = 64;

  static std::size_t slot_of(Buffer buffer, std::size_t cell) {
    return (cell + static_cast<std::size_t>(buffer) * (kCells / 3)) % kCells;
  }

  template <class Alive, class DependOn>
  static void scan(std::vector<Access>& cell, const Access& access, Alive&& alive, DependOn&& depend_on) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < cell.size(); ++i) {
      const Access other = cell[i];
      if (!alive(other.slot, other.sequence)) continue;
      cell[kept++] = other;
      const bool overlap =
          other.buffer == access.buffer && other.begin < access.end && access.begin < other.end;
      const bool itself = other.sequence == access.sequence;
      if (overlap && !itself && (other.write || access.write)) depend_on(other.slot);
    }
    cell.resize(kept);
  }

  std::vector<std::vector<Access>> cells_ = std::vector<std::vector<Access>>(kCells);
  std::vector<Access> wide_;
  int shift_ = -1;  // log2 of the cell's width, from the first region seen
};

}  // namespace eco::sched
