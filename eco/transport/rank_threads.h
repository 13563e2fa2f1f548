// Ranks as threads of one process: what the loopback transport runs on, and tests of every other one.
//
//   run_rank_threads(4, [&](int rank) { ... });        // returns when all have ended
#pragma once

#include <exception>
#include <functional>
#include <thread>
#include <vector>

namespace eco::transport {

// Runs `body` on a thread for each rank. The lowest rank's exception, if there was one, is thrown again when all have ended.
inline void run_rank_threads(int n_ranks, const std::function<void(int rank)>& body) {
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(n_ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < n_ranks; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        body(rank);
      } catch (...) {
        errors[static_cast<std::size_t>(rank)] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace eco::transport
