// Two transports of one group as one: messages whose tag has a rail go over the second, all others over the first.
//
//   JoinedTransport joined(mpi, rails);        // local; both must outlive it
//   executor.run(schedule, ...);               // striped over rails: over the second; any other schedule: over the first
//
// Both sides of a message say the same of its tag (Transport::set_rails), as ranks do that run one recipe, so a message
// and its receive are always in the same transport. Groups (islands) are the first's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "eco/transport/transport.h"

namespace eco::transport {

class JoinedTransport final : public Transport {
 public:
  JoinedTransport(Transport& first, Transport& rails) : first_{first}, rails_{rails} {}

  int rank() const override { return first_.transport.rank(); }
  int n_ranks() const override { return first_.transport.n_ranks(); }
  std::string kind() const override { return first_.transport.kind(); }
  int max_tag() const override;

  [[nodiscard]] Status post_send(int peer, int tag, std::span<const std::byte> bytes, SendMode mode,
                                 Ticket ticket) override;
  [[nodiscard]] Status post_recv(int peer, int tag, std::span<std::byte> bytes, Ticket ticket) override;
  [[nodiscard]] Status wait_some(std::span<Ticket> done, std::size_t& n_done) override;
  [[nodiscard]] Status test_some(std::span<Ticket> done, std::size_t& n_done) override;
  [[nodiscard]] Status poll_some(std::span<Ticket> done, std::size_t& n_done) override;

  int n_rails() const override { return rails_.transport.n_rails(); }
  std::vector<std::string> rail_names() const override { return rails_.transport.rail_names(); }
  bool has_rail(int rank, int rail) const override { return rails_.transport.has_rail(rank, rail); }
  void choose_rails(std::vector<std::uint8_t> rails) override;
  void set_rails(int first_tag, std::span<const std::uint8_t> rails) override;

  [[nodiscard]] bool open_groups(const std::vector<coll::RankGroup>& groups) override {
    return first_.transport.open_groups(groups);
  }
  void close_groups_but(const std::vector<coll::RankGroup>& groups) override {
    first_.transport.close_groups_but(groups);
  }
  int find_group(const coll::RankGroup& group) const override { return first_.transport.find_group(group); }
  [[nodiscard]] Status start_group(int group, const GroupCall& call, Ticket ticket) override;
  void abandon() override;

 private:
  struct Way {
    Transport& transport;
    std::size_t n_posted = 0;  // not handed back yet
  };
  using Look = Status (Transport::*)(std::span<Ticket> done, std::size_t& n_done);

  Way& way_of(int tag);
  static Status posted(Way& way, Status status);
  static Status look(Way& way, Look how, std::span<Ticket> done, std::size_t& n_done);
  Status look_at_both(Look how, std::span<Ticket> done, std::size_t& n_done);

  Way first_;
  Way rails_;
  std::vector<bool> has_rail_;  // by tag; those beyond have none
};

}  // namespace eco::transport
