// When this rank came to its collective calls, for `eco profile`: side by side with the other ranks' it says who is late.
//
//   Arrivals::Of* of = arrivals.of_ranks({0, 2, 4});          // once per communicator
//   of->note(operation, bytes, began_ns, took_ns);            // every call
//
// Communicators of the same ranks are one: their calls come in one order on all of them. Every rank counts them, and keeps
// those whose number is a multiple of a power of two that grows when the room is full; so of two ranks' calls those in common
// are easily found, and they are from all of the run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace eco::preload {

class Arrivals {
 public:
  // Of all calls of a rank: 2,048 are some 100 KiB of the file, and more than tell who is late.
  static constexpr std::size_t kMost = 2048;
  // Of which first calls alone are multiples.
  static constexpr std::uint64_t kMostStride = std::uint64_t{1} << 63;

  class Of {
   public:
    Of(Arrivals& all, std::size_t group) : all_(all), group_(group) {}
    // Any thread. `operation` is Profile's number. What finds no memory is not kept.
    void note(int operation, std::size_t bytes, std::uint64_t began_ns, std::uint64_t took_ns) noexcept {
      all_.note(*this, operation, bytes, began_ns, took_ns);
    }

   private:
    friend class Arrivals;
    Arrivals& all_;
    std::size_t group_;
    std::uint64_t n_calls_ = 0;
  };

  // Any thread; lives as long as this. Ranks of MPI_COMM_WORLD.
  Of* of_ranks(const std::vector<int>& ranks);

  // {"stride": 4, "groups": [[0, 1, ...], ...], "calls": [[group, number, operation, bytes, began_ns, took_ns], ...]}
  nlohmann::json to_json() const;

 private:
  struct Call {
    std::size_t group;
    std::uint64_t number;
    int operation;
    std::size_t bytes;
    std::uint64_t began_ns, took_ns;
  };
  void note(Of& of, int operation, std::size_t bytes, std::uint64_t began_ns, std::uint64_t took_ns) noexcept;

  mutable std::mutex mutex_;
  std::map<std::vector<int>, std::unique_ptr<Of>> groups_;
  std::vector<Call> calls_;
  std::uint64_t stride_ = 1;
};

}  // namespace eco::preload
