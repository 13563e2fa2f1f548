// Ranks as threads of one process that speak TCP with each other over the loopback interface: for tests.
//
//   run_tcp_ranks(4, 2, {}, [&](TcpTransport& transport) { ... });     // rail r is 127.0.0.(1 + r)
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "eco/transport/rank_threads.h"
#include "eco/transport/shared_rails.h"
#include "eco/transport/tcp/bootstrap.h"

namespace eco::transport::tcp {

inline std::vector<std::string> loopback_addresses(int n_rails) {
  std::vector<std::string> addresses;
  for (int rail = 0; rail < n_rails; ++rail) addresses.push_back("127.0.0." + std::to_string(1 + rail));
  return addresses;
}

// Of hosts with different numbers of rails: each third has all, the next ones lack the first or the second beyond rail 0.
inline std::vector<std::string> mixed_addresses(int rank) {
  std::vector<std::string> addresses = loopback_addresses(3);
  if (rank % 3 > 0) addresses[static_cast<std::size_t>(rank % 3)].clear();
  return addresses;
}

// Waits until one ticket, or nothing more, comes.
inline Status wait(TcpTransport& transport, std::size_t n_tickets = 1) {
  std::array<Ticket, 8> room{};
  for (std::size_t done = 0; done < n_tickets;) {
    std::size_t n = 0;
    const Status status = transport.wait_some(room, n);
    if (status != Status::ok) return status;
    done += n;
  }
  return Status::ok;
}

// On a thread for each rank.
using AddressesOf = std::function<std::vector<std::string>(int rank)>;
inline void run_tcp_ranks(int n_ranks, const AddressesOf& addresses_of, const TcpOptions& options,
                          const std::function<void(TcpTransport&)>& body) {
  MemoryStore store;
  run_rank_threads(n_ranks,
                   [&](int rank) { body(*meet(store, rank, n_ranks, addresses_of(rank), options)); });
}
inline void run_tcp_ranks(int n_ranks, int n_rails, const TcpOptions& options,
                          const std::function<void(TcpTransport&)>& body) {
  run_tcp_ranks(n_ranks, [n_rails](int) { return loopback_addresses(n_rails); }, options, body);
}

// The same for groups on one transport of any kind: the body's ranks are every second one of a job, the last first.
using Open = std::function<std::unique_ptr<RailTransport>(KeyValue& store, int rank, int n_ranks)>;

inline void run_shares(
    int n_ranks, const std::vector<std::string>& rails, const Open& open,
    const std::function<void(RailShare&)>& body, const std::function<void()>& meanwhile = [] {},
    const std::function<void()>& leave = [] {}) {
  constexpr int kTags = 1024;
  MemoryStore store;
  const int n_job = 2 * n_ranks;
  std::vector<int> ranks;
  for (int rank = n_job - 1; rank > 0; rank -= 2) ranks.push_back(rank);
  std::vector<std::shared_ptr<SharedRails>> jobs(static_cast<std::size_t>(n_job));
  run_rank_threads(n_job, [&](int rank) {
    jobs[static_cast<std::size_t>(rank)] =
        std::make_shared<SharedRails>(open(store, rank, n_job), rails, meanwhile, leave);
  });
  run_rank_threads(n_ranks, [&](int rank) {
    const std::shared_ptr<SharedRails>& job =
        jobs[static_cast<std::size_t>(ranks[static_cast<std::size_t>(rank)])];
    const struct Closing {
      SharedRails& rails;
      ~Closing() { rails.close(); }
    } closing{*job};
    RailShare share(job, {.first_tag = 3 * kTags, .n_tags = kTags, .rank = rank, .ranks = ranks});
    body(share);
  });
}

// `addresses_of` ranks of the job, rank 0's of all rails.
inline void run_tcp_shares(
    int n_ranks, const AddressesOf& addresses_of, const std::function<void(RailShare&)>& body,
    const std::function<void()>& meanwhile = [] {}, const std::function<void()>& leave = [] {}) {
  const Open open = [&](KeyValue& store, int rank, int n_job) {
    return meet(store, rank, n_job, addresses_of(rank), {});
  };
  run_shares(n_ranks, addresses_of(0), open, body, meanwhile, leave);
}

inline void run_tcp_shares(
    int n_ranks, int n_rails, const std::function<void(RailShare&)>& body,
    const std::function<void()>& meanwhile = [] {}, const std::function<void()>& leave = [] {}) {
  run_tcp_shares(n_ranks, [n_rails](int) { return loopback_addresses(n_rails); }, body, meanwhile, leave);
}

}  // namespace eco::transport::tcp
