// A transport, and a library's collectives, that pass everything on to those below: what tests derive theirs from.
//
//   struct Slow final : PassingTransport { ... post_send() that waits first ... };
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "eco/transport/native.h"
#include "eco/transport/transport.h"

namespace eco::transport {

// For transports that differ from the one below in a thing or two.
class PassingTransport : public Transport {
 public:
  explicit PassingTransport(Transport& below) : below_(below) {}
  int rank() const override { return below_.rank(); }
  int n_ranks() const override { return below_.n_ranks(); }
  int max_tag() const override { return below_.max_tag(); }
  Status post_send(int peer, int tag, std::span<const std::byte> bytes, SendMode mode,
                   Ticket ticket) override {
    return below_.post_send(peer, tag, bytes, mode, ticket);
  }
  Status post_recv(int peer, int tag, std::span<std::byte> bytes, Ticket ticket) override {
    return below_.post_recv(peer, tag, bytes, ticket);
  }
  Status wait_some(std::span<Ticket> done, std::size_t& n) override { return below_.wait_some(done, n); }
  Status test_some(std::span<Ticket> done, std::size_t& n) override { return below_.test_some(done, n); }
  Status poll_some(std::span<Ticket> done, std::size_t& n) override { return below_.poll_some(done, n); }
  bool open_groups(const std::vector<coll::RankGroup>& groups) override { return below_.open_groups(groups); }
  void close_groups_but(const std::vector<coll::RankGroup>& groups) override {
    below_.close_groups_but(groups);
  }
  int find_group(const coll::RankGroup& group) const override { return below_.find_group(group); }
  Status start_group(int group, const GroupCall& call, Ticket ticket) override {
    return below_.start_group(group, call, ticket);
  }

 protected:
  Transport& below_;
};

// For the library's collectives likewise.
class PassingNative : public Native {
 public:
  explicit PassingNative(Native& below) : below_(below) {}
  void run(const coll::CommonProblem& problem, std::span<const std::byte> input,
           std::span<std::byte> output) override {
    below_.run(problem, input, output);
  }
  void barrier() override { below_.barrier(); }
  void broadcast(std::span<std::byte> bytes, int root) override { below_.broadcast(bytes, root); }
  void allreduce_min(std::span<std::int64_t> values) override { below_.allreduce_min(values); }
  void allreduce_sum(std::span<std::int64_t> values) override { below_.allreduce_sum(values); }
  void allreduce_max(std::span<double> values) override { below_.allreduce_max(values); }
  void allgather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    below_.allgather(mine, all);
  }
  std::string library() const override { return below_.library(); }

 protected:
  Native& below_;
};

}  // namespace eco::transport
