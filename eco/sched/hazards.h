// Finds which unfinished operations a new operation must wait for, from the regions they read and write.
//
// A hash of cells, each as wide as a typical region; a cell lists the accesses that touch it, and the exact byte
// ranges are compared, so that neighbours in one cell do not wait for each other. Accesses of finished operations are
// dropped when met, and those that a later write covers: that write waits for them. Cost per region: the accesses alive in
// the few cells that it spans; cells that turn out too wide (a whole block was copied before its segments came) are made
// narrower.
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
#include <tuple>
#include <vector>

#include "eco/base/place.h"
#include "eco/sched/schedule.h"

namespace eco::sched {

class Hazards {
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

 public:
  // 32 bytes, of which two fit a line of the cache.
  struct Access {
    std::size_t begin;
    std::size_t end;
    std::uint64_t sequence : 61;  // of the operation; tells a slot's present user from an earlier one
    Buffer buffer : 2;
    bool write : 1;
    std::uint32_t slot;
    std::uint32_t next = kNone;  // in its cell
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
    if (is_wide(access)) {  // than the table is worth: it meets everything
      for (std::uint32_t& head : heads_) scan(head, access, alive, depend_on);
      insert(wide_, access);
      return;
    }
    std::size_t most_met = 0;
    for_each_cell(access, [&](std::uint32_t& head) {
      most_met = std::max(most_met, scan(head, access, alive, depend_on));
      insert(head, access);
    });
    const std::size_t narrower = std::max(access.end - access.begin, kSmallestCell);
    if (most_met > kCrowd && narrower <= (std::size_t{1} << shift_) / 4) narrow_to(narrower, alive);
  }

  void clear() {
    heads_.fill(kNone);
    wide_ = free_ = kNone;
    links_.clear();
    shift_ = -1;
  }

 private:
  static_assert(sizeof(Access) == 32);
  static constexpr int kCellBits = 9;
  static constexpr std::size_t kCells = std::size_t{1} << kCellBits;  // as many as a window has operations
  static constexpr std::size_t kSmallestCell = 64;
  // Accesses alive in one cell from which on narrower cells are worth sorting them anew.
  static constexpr std::size_t kCrowd = 16;

  // Blocks of all ranks are apart by powers of two, and would meet in few cells.
  static std::size_t slot_of(Buffer buffer, std::size_t cell) {
    return base::place_of(cell * 3 + static_cast<std::size_t>(buffer), kCellBits);
  }

  bool is_wide(const Access& access) const {
    return ((access.end - 1) >> shift_) - (access.begin >> shift_) >= kCells / 4;
  }

  template <class Use>
  void for_each_cell(const Access& access, Use&& use) {
    const std::size_t last = (access.end - 1) >> shift_;
    for (std::size_t c = access.begin >> shift_; c <= last; ++c) use(heads_[slot_of(access.buffer, c)]);
  }

  // At most some ten times a schedule: cells become four times narrower at least.
  template <class Alive>
  void narrow_to(std::size_t bytes, Alive&& alive) {
    kept_.clear();
    const auto take_all = [&](std::uint32_t head) {
      for (; head != kNone; head = links_[head].next) {
        const Access& access = links_[head];
        if (alive(access.slot, access.sequence)) kept_.push_back(access);
      }
    };
    take_all(wide_);
    for (const std::uint32_t head : heads_) take_all(head);
    // One that spanned several cells stands in each of them.
    const auto key = [](const Access& a) {
      return std::tuple(std::uint64_t{a.sequence}, bool{a.write}, a.begin, a.end, Buffer{a.buffer});
    };
    std::sort(kept_.begin(), kept_.end(), [&](const Access& a, const Access& b) { return key(a) < key(b); });
    kept_.erase(std::unique(kept_.begin(), kept_.end(),
                            [&](const Access& a, const Access& b) { return key(a) == key(b); }),
                kept_.end());
    clear();
    shift_ = std::countr_zero(std::bit_ceil(bytes));
    for (const Access& access : kept_) {
      if (is_wide(access)) {
        insert(wide_, access);
      } else {
        for_each_cell(access, [&](std::uint32_t& head) { insert(head, access); });
      }
    }
  }

  void insert(std::uint32_t& head, const Access& access) {
    std::uint32_t link = free_;
    if (link != kNone) {
      free_ = links_[link].next;
      links_[link] = access;
    } else {
      link = static_cast<std::uint32_t>(links_.size());
      links_.push_back(access);
    }
    links_[link].next = head;
    head = link;
  }

  // The link that `at` leads to; afterwards that is the next one.
  void drop(std::uint32_t* at) {
    const std::uint32_t dropped = *at;
    *at = links_[dropped].next;
    links_[dropped].next = free_;
    free_ = dropped;
  }

  // The number of accesses alive there that still count.
  template <class Alive, class DependOn>
  std::size_t scan(std::uint32_t& head, const Access& access, Alive&& alive, DependOn&& depend_on) {
    std::size_t n_alive = 0;
    for (std::uint32_t* at = &head; *at != kNone;) {
      Access& other = links_[*at];
      if (!alive(other.slot, other.sequence)) {
        drop(at);
        continue;
      }
      const bool overlap =
          other.buffer == access.buffer && other.begin < access.end && access.begin < other.end;
      const bool itself = other.sequence == access.sequence;
      const bool conflict = overlap && !itself && (other.write || access.write);
      if (conflict) depend_on(other.slot);
      if (conflict && access.write && access.begin <= other.begin && other.end <= access.end) {
        drop(at);  // whoever would have to wait for it has to wait for this write, which waits for it
        continue;
      }
      at = &other.next;
      ++n_alive;
    }
    return n_alive;
  }

  std::array<std::uint32_t, kCells> heads_;  // a cell's first link
  std::uint32_t wide_ = kNone;
  std::uint32_t free_ = kNone;
  std::vector<Access> links_;
  std::vector<Access> kept_;  // narrow_to()'s, for its memory
  int shift_ = -1;            // log2 of the cell's width, from the first region seen
};

}  // namespace eco::sched
