// Ranks as threads of one process that speak UCX with each other over one interface of this host: for tests.
//
//   if (!why_no_ucx().empty()) skip
//   run_ucx_ranks(4, 2, {}, [&](RailTransport& transport) { ... });     // every rail is device(), by a context of its own
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "eco/base/errors.h"
#include "eco/transport/rank_threads.h"
#include "eco/transport/tcp/rails.h"
#include "eco/transport/tcp/testing.h"
#include "eco/transport/ucx/ucx.h"

namespace eco::transport::ucx {

// On a thread for each rank.
inline void run_ucx_ranks(int n_ranks, const std::vector<std::string>& devices, const UcxOptions& options,
                          const std::function<void(RailTransport&)>& body) {
  MemoryStore store;
  run_rank_threads(n_ranks, [&](int rank) { body(*meet(store, rank, n_ranks, devices, options)); });
}

// An interface over which UCX reaches this host itself; empty: none. (1.20 does not over the loopback: it takes what
// its address there has in place of an IP address for one.)
inline const std::string& device() {
  static const std::string found = [] {
    std::vector<std::string> candidates;
    for (const tcp::Nic& nic : tcp::nics({})) candidates.push_back(nic.device);
    candidates.emplace_back("lo");
    for (const std::string& each : candidates) {
      try {
        run_ucx_ranks(2, {each}, {}, [](RailTransport& transport) {
          std::array<std::byte, 1> out{}, in{};
          if (transport.post_send(1 - transport.rank(), 0, out, SendMode::eager, 0) != Status::ok)
            throw TransportError("no way");
          static_cast<void>(transport.post_recv(1 - transport.rank(), 0, in, 1));
          std::size_t n = 0;
          for (std::size_t left = 2; left > 0; left -= n) {
            std::array<Ticket, 2> room{};
            if (transport.wait_some(room, n) != Status::ok) throw TransportError("no way");
          }
        });
        return each;
      } catch (const Error&) {  // the next one, then
      }
    }
    return std::string();
  }();
  return found;
}

inline std::string why_no_ucx() {
  if (const Usable ucx = usable(); !ucx.reason.empty()) return ucx.reason;
  return device().empty() ? "no interface over which UCX reaches this host itself" : "";
}

inline std::vector<std::string> devices(int n_rails) {
  return std::vector<std::string>(static_cast<std::size_t>(n_rails), device());
}

inline void run_ucx_ranks(int n_ranks, int n_rails, const UcxOptions& options,
                          const std::function<void(RailTransport&)>& body) {
  run_ucx_ranks(n_ranks, devices(n_rails), options, body);
}

// The same for groups on one transport (tcp/testing.h).
inline void run_ucx_shares(int n_ranks, int n_rails, const std::function<void(RailShare&)>& body) {
  const std::vector<std::string> all = devices(n_rails);
  const tcp::Open open = [&](KeyValue& store, int rank, int n_job) { return meet(store, rank, n_job, all); };
  tcp::run_shares(n_ranks, all, open, body);
}

}  // namespace eco::transport::ucx
