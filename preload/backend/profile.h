// Of every collective call: operation, ranks of its communicator, size, what became of it, and its time. What
// `eco profile` shows. Off unless all ranks of the job have ECO_PROFILE; then a call looks at one more null pointer.
//
//   Profile::Calls* calls = profile.of_size(n_ranks);                      // once per communicator
//   calls->note(Profile::number_of(Collective::scan), bytes, Fate::plan, nanoseconds);   // a few relaxed additions
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "eco/coll/problem.h"
#include "preload/backend/arrivals.h"

namespace eco::preload {

// Who served a call, and if the library did, what kept ECO from it.
enum class Fate : std::uint8_t {
  served,
  communicator,  // no call of this communicator is served; Group::why_native() says why
  waiting,       // it is not armed yet
  plan,          // the plan leaves it to the library
  late,          // the library is tried, or faster, where ranks come late (ECO_LATE=auto)
  unplanned,     // calls like it are not planned yet: there was no time, or measuring is not allowed
  empty,         // no bytes
  too_large,
  reduction,    // a datatype or operation
  arguments,    // that the library refuses, or that it alone understands
  uneven,       // blocks that would be padded too much
  nonblocking,  // of a communicator, or by a recipe, that serves only calls which the program waits in
  varying,      // one of those below
  graph,        // a topology whose graph ECO has nothing to do with
};
inline constexpr int kFates = 14;
std::string_view name(Fate fate);

// Operations that are the library's always, since no rank knows all counts: only noted here.
enum class Varying : std::uint8_t {
  gatherv,
  scatterv,
  alltoallv,
  alltoallw,
  neighbor_allgatherv,
  neighbor_alltoallv,
  neighbor_alltoallw,
};
inline constexpr int kVarying = 7;
std::string_view name(Varying operation);

// CLOCK_MONOTONIC, ns, at a few instants that are nearly the same on all ranks.
using ClockReadings = std::array<std::int64_t, 5>;

class Profile {
 public:
  // Sizes are told apart by powers of two: bracket 0 is no bytes, bracket k what has up to 2^(k-1), the last all that
  // is larger.
  static constexpr int kBrackets = 42;
  static constexpr int bracket_of(std::size_t bytes) {
    const int bits = bytes == 0 ? 0 : 1 + std::bit_width(bytes - 1);
    return bits < kBrackets ? bits : kBrackets - 1;
  }
  static constexpr std::size_t most_bytes(int bracket) {
    return bracket == 0 ? 0 : std::size_t{1} << (bracket - 1);
  }

  // Collectives, then varying operations.
  static constexpr int kOperations = coll::kCollectives + kVarying;
  static int number_of(coll::Collective collective) { return static_cast<int>(collective); }
  static int number_of(Varying operation) { return coll::kCollectives + static_cast<int>(operation); }
  static std::string_view name_of(int operation);

  // The calls of all communicators of one size.
  class Calls {
   public:
    Calls() = default;
    ~Calls();
    Calls(const Calls&) = delete;
    Calls& operator=(const Calls&) = delete;

    // Any thread. What finds no memory is not counted.
    void note(int operation, std::size_t bytes, Fate fate, std::uint64_t nanoseconds) noexcept;

   private:
    friend class Profile;
    struct Cell {
      std::atomic<std::uint64_t> calls{0}, bytes{0}, largest{0}, nanoseconds{0};
    };
    using Cells = std::array<std::array<Cell, kFates>, kBrackets>;
    Cells* cells_of(int operation) noexcept;

    std::array<std::atomic<Cells*>, kOperations> cells_{};
  };

  // Any thread. Lives as long as this.
  Calls* of_size(int n_ranks);

  // What was noted so far, a list.
  nlohmann::json to_json() const;

  Arrivals& arrivals() { return arrivals_; }
  const Arrivals& arrivals() const { return arrivals_; }

 private:
  mutable std::mutex mutex_;
  std::map<int, std::unique_ptr<Calls>> sizes_;  // by ranks of the communicator
  Arrivals arrivals_;
};

}  // namespace eco::preload
