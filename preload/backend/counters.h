// What was served and passed, and how long it took. Written by the program's threads, read at the end.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <iterator>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "eco/base/hot.h"
#include "eco/coll/problem.h"
#include "eco/plan/plan_table.h"
#include "eco/runtime/ambient_watch.h"
#include "eco/sched/traffic.h"
#include "preload/backend/profile.h"

namespace eco::preload {

struct Tally {
  std::uint64_t calls_served = 0;
  std::uint64_t calls_passed = 0;
  std::uint64_t bytes = 0;  // served and passed, as this rank's arguments say
  std::uint64_t nanoseconds_served = 0;
  std::uint64_t nanoseconds_passed = 0;
  // Sent by this rank to other subnets in served calls.
  std::uint64_t messages_between = 0;
  std::uint64_t bytes_between = 0;
  std::uint64_t calls_formed = 0;     // of those served: around late ranks (ECO_LATE)
  std::uint64_t calls_unplanned = 0;  // of those passed: Fate::unplanned
  std::uint64_t calls_left_late = 0;  // likewise: Fate::late
};
inline constexpr int kTallyNumbers = 10;
static_assert(sizeof(Tally) == kTallyNumbers * sizeof(std::uint64_t));

// Of all communicators, each in its own order (eco/runtime/account.h). Lost where there is no memory for it.
class Accounts {
 public:
  void add(std::vector<std::string> lines) {
    if (lines.empty()) return;
    try {
      const std::lock_guard<std::mutex> lock(mutex_);
      std::move(lines.begin(), lines.end(), std::back_inserter(lines_));
    } catch (const std::exception&) {
    }
  }
  std::vector<std::string> lines() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return lines_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

class Counters {
 public:
  ECO_ON_EVERY_CALL void served(coll::Collective collective, std::size_t bytes, std::uint64_t nanoseconds,
                                const plan::Gain& gain, const sched::Crossing& crossing,
                                bool formed = false) {
    Cell& cell = cells_[static_cast<std::size_t>(collective)];
    cell.calls_served.fetch_add(1, std::memory_order_relaxed);
    if (formed) cell.calls_formed.fetch_add(1, std::memory_order_relaxed);
    cell.bytes.fetch_add(bytes, std::memory_order_relaxed);
    cell.nanoseconds_served.fetch_add(nanoseconds, std::memory_order_relaxed);
    cell.messages_between.fetch_add(crossing.messages, std::memory_order_relaxed);
    cell.bytes_between.fetch_add(crossing.bytes, std::memory_order_relaxed);
    gain_nanoseconds_.fetch_add(static_cast<std::int64_t>(gain.seconds * 1e9), std::memory_order_relaxed);
    if (gain.is_least) gain_is_least_.store(true, std::memory_order_relaxed);
  }
  ECO_ON_EVERY_CALL void passed(coll::Collective collective, std::size_t bytes, std::uint64_t nanoseconds,
                                Fate fate) {
    Cell& cell = cells_[static_cast<std::size_t>(collective)];
    cell.calls_passed.fetch_add(1, std::memory_order_relaxed);
    if (fate == Fate::unplanned) cell.calls_unplanned.fetch_add(1, std::memory_order_relaxed);
    if (fate == Fate::late) cell.calls_left_late.fetch_add(1, std::memory_order_relaxed);
    cell.bytes.fetch_add(bytes, std::memory_order_relaxed);
    cell.nanoseconds_passed.fetch_add(nanoseconds, std::memory_order_relaxed);
  }

  void ambient(const runtime::AmbientWatch::Told& told) {
    ambient_looks_.fetch_add(told.looks, std::memory_order_relaxed);
    ambient_moves_.fetch_add(told.moves, std::memory_order_relaxed);
    ambient_moves_back_.fetch_add(told.moves_back, std::memory_order_relaxed);
    ambient_ns_.fetch_add(told.spent_ns, std::memory_order_relaxed);
  }
  // Of what looks found and what followed; of the ways that were tried around late ranks.
  Accounts& ambient_account() { return ambient_account_; }
  Accounts& late_account() { return late_account_; }
  runtime::AmbientWatch::Told ambient() const {
    return {.looks = ambient_looks_.load(),
            .moves = ambient_moves_.load(),
            .moves_back = ambient_moves_back_.load(),
            .spent_ns = ambient_ns_.load()};
  }

  // A topology whose ranks the program left to the library to order.
  void topology(bool reordered) {
    (reordered ? reordered_ : in_order_).fetch_add(1, std::memory_order_relaxed);
  }
  struct Topologies {
    std::uint64_t reordered = 0;
    std::uint64_t in_order = 0;
  };
  Topologies topologies() const { return {.reordered = reordered_.load(), .in_order = in_order_.load()}; }

  std::array<Tally, coll::kCollectives> tallies() const {
    std::array<Tally, coll::kCollectives> result;
    for (std::size_t i = 0; i < result.size(); ++i) {
      const Cell& cell = cells_[i];
      result[i] = {
          cell.calls_served.load(),       cell.calls_passed.load(),       cell.bytes.load(),
          cell.nanoseconds_served.load(), cell.nanoseconds_passed.load(), cell.messages_between.load(),
          cell.bytes_between.load(),      cell.calls_formed.load(),       cell.calls_unplanned.load(),
          cell.calls_left_late.load()};
    }
    return result;
  }
  // By the plan's own measurements: what the served calls would have taken natively less what they were planned for.
  plan::Gain gain() const {
    return {.seconds = static_cast<double>(gain_nanoseconds_.load()) * 1e-9,
            .is_least = gain_is_least_.load()};
  }

 private:
  struct Cell {
    std::atomic<std::uint64_t> calls_served{0}, calls_passed{0}, bytes{0}, nanoseconds_served{0},
        nanoseconds_passed{0}, messages_between{0}, bytes_between{0}, calls_formed{0}, calls_unplanned{0},
        calls_left_late{0};
  };
  std::array<Cell, coll::kCollectives> cells_;
  std::atomic<std::int64_t> gain_nanoseconds_{0};
  std::atomic<bool> gain_is_least_{false};
  std::atomic<std::uint64_t> reordered_{0}, in_order_{0};
  std::atomic<std::uint64_t> ambient_looks_{0}, ambient_moves_{0}, ambient_moves_back_{0};
  std::atomic<std::int64_t> ambient_ns_{0};
  Accounts ambient_account_;
  Accounts late_account_;
};

}  // namespace eco::preload
