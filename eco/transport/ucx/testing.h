// Ranks as threads of one process that speak UCX with each other over the loopback interface: for tests.
//
//   run_ucx_ranks(4, 2, {}, [&](RailTransport& transport) { ... });     // every rail is "lo", by a context of its own
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "eco/transport/tcp/testing.h"
#include "eco/transport/ucx/ucx.h"

namespace eco::transport::ucx {

// One thread per rank; the first exception is rethrown.
inline void run_ucx_ranks(int n_ranks, int n_rails, const UcxOptions& options,
                          const std::function<void(RailTransport&)>& body) {
  MemoryStore store;
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(n_ranks));
  std::vector<std::thread> threads;
  const std::vector<std::string> devices(static_cast<std::size_t>(n_rails), "lo");
  for (int rank = 0; rank < n_ranks; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        body(*meet(store, rank, n_ranks, devices, options));
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

// The same for groups on one transport (tcp/testing.h).
inline void run_ucx_shares(int n_ranks, int n_rails, const std::function<void(RailShare&)>& body) {
  const std::vector<std::string> devices(static_cast<std::size_t>(n_rails), "lo");
  const tcp::Open open = [&](KeyValue& store, int rank, int n_job) {
    return meet(store, rank, n_job, devices);
  };
  tcp::run_shares(n_ranks, devices, open, body);
}

}  // namespace eco::transport::ucx
