// Finds which unfinished operations a new operation must wait for, from the regions they read and write.
//
// A hash of cells, each as wide as a typical region; a cell lists the accesses that touch it, and the exact byte
// ranges are compared, so that neighbours in one cell do not wait for each other. Accesses of finished operations are
// dropped when met. Cost per region: the accesses alive in the few cells that it spans.
//
// The lists' links lie in one pool that is used again: a window is walked at every operation, and what it touches has
// to stay in the processor's cache for hundreds of ranks at a time.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
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

  Hazards() { heads_.fill(kNone); }

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
      for (std::uint32_t& head : heads_) scan(head, access, alive, depend_on);
      insert(wide_, access);
      return;
    }
    for (std::size_t c = first; c <= last; ++c) {
      std::uint32_t& head = heads_[slot_of(access.buffer, c)];
      scan(head, access, alive, depend_on);
      insert(head, access);
    }
  }

  void clear() {
    heads_.fill(kNone);
    wide_ = free_ = kNone;
    links_.clear();
    shift_ = -1;
  }

 private:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  static constexpr int kCellBits = 9;
  static constexpr std::size_t kCells = std::size_t{1} << kCellBits;  // as many as a window has operations
  static constexpr std::size_t kSmallestCell = 64;

  struct Link {
    Access access;
    std::uint32_t next;
  };

  // Spread by a multiplicative hash: blocks of all ranks are apart by powers of two, and would meet in few cells.
  static std::size_t slot_of(Buffer buffer, std::size_t cell) {
    constexpr std::uint64_t kGoldenRatio = 0x9E3779B97F4A7C15U;
    return ((cell * 3 + static_cast<std::size_t>(buffer)) * kGoldenRatio) >> (64 - kCellBits);
  }

  void insert(std::uint32_t& head, const Access& access) {
    std::uint32_t link = free_;
    if (link != kNone) {
      free_ = links_[link].next;
      links_[link] = {access, head};
    } else {
      link = static_cast<std::uint32_t>(links_.size());
      links_.push_back({access, head});
    }
    head = link;
  }

  template <class Alive, class DependOn>
  void scan(std::uint32_t& head, const Access& access, Alive&& alive, DependOn&& depend_on) {
    for (std::uint32_t* at = &head; *at != kNone;) {
      Link& link = links_[*at];
      const Access& other = link.access;
      if (!alive(other.slot, other.sequence)) {
        const std::uint32_t dropped = *at;
        *at = link.next;
        link.next = free_;
        free_ = dropped;
        continue;
      }
      const bool overlap =
          other.buffer == access.buffer && other.begin < access.end && access.begin < other.end;
      const bool itself = other.sequence == access.sequence;
      if (overlap && !itself && (other.write || access.write)) depend_on(other.slot);
      at = &link.next;
    }
  }

  std::array<std::uint32_t, kCells> heads_;  // a cell's first link
  std::uint32_t wide_ = kNone;
  std::uint32_t free_ = kNone;
  std::vector<Link> links_;
  int shift_ = -1;  // log2 of the cell's width, from the first region seen
};

}  // namespace eco::sched
