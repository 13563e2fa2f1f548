// Messages between ranks inside SimGrid that name the rail they take: a transport whose time is simulated.
//
//   Wires wires(view, hosts);                          // hosts[rail][rank]
//   ... in the actor of rank r, on hosts[0][r]:        SimulatedRails transport(wires, r);
//
// A message is a flow between two NICs, begun when it is sent; flows divide links as SimGrid has them. Processor time:
// the network's for each message sent and each received. A synchronous send ends when word has come back that its
// receiver has matched it. All actors run in one thread, in turn.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <simgrid/s4u.hpp>
#include <tuple>
#include <vector>

#include "eco/net/group_view.h"
#include "eco/transport/transport.h"

namespace eco::bench {

using Hosts = std::vector<std::vector<simgrid::s4u::Host*>>;  // [rail][rank]

// What all ranks share.
class Wires {
 public:
  // Of memory that is `folded` (one piece at all ranks) nothing is copied.
  Wires(const net::GroupView& view, Hosts hosts, bool folded);

 private:
  friend class SimulatedRails;

  struct Message {
    transport::Ticket ticket;
    transport::SendMode mode;
    std::uint8_t rail;
    std::size_t bytes;
    std::vector<std::byte> content;
    bool has_arrived = false;
  };
  struct Receive {
    transport::Ticket ticket;
    std::span<std::byte> bytes;
  };
  struct Channel {
    std::deque<std::shared_ptr<Message>> messages;
    std::deque<Receive> receives;
  };
  struct Rank {
    std::deque<transport::Ticket> finished;
    std::size_t n_received = 0;  // of the finished ones, whose processor time has not passed yet
    std::size_t n_posted = 0;    // and not handed back
    simgrid::s4u::SemaphorePtr bell = simgrid::s4u::Semaphore::create(0);
  };
  using Key = std::tuple<int, int, int>;  // from, to, tag

  void fly(int from, int to, std::uint8_t rail, std::size_t bytes, const std::function<void()>& arrived);
  // Hands over what has arrived and is awaited, in the order of both.
  void settle(const Key& key);
  void finish(int rank, transport::Ticket ticket);

  double send_s_;
  double receive_s_;
  Hosts hosts_;
  bool folded_;
  std::vector<Rank> ranks_;
  std::map<Key, Channel> channels_;
};

class SimulatedRails : public transport::Transport {
 public:
  SimulatedRails(Wires& wires, int rank) : wires_(wires), rank_(rank) {}

  int rank() const override { return rank_; }
  int n_ranks() const override { return static_cast<int>(wires_.ranks_.size()); }
  int n_rails() const override { return static_cast<int>(wires_.hosts_.size()); }
  int max_tag() const override { return kMaxTag; }
  void set_rails(int first_tag, std::span<const std::uint8_t> rails) override;

  [[nodiscard]] transport::Status post_send(int peer, int tag, std::span<const std::byte> bytes,
                                            transport::SendMode mode, transport::Ticket ticket) override;
  [[nodiscard]] transport::Status post_recv(int peer, int tag, std::span<std::byte> bytes,
                                            transport::Ticket ticket) override;
  [[nodiscard]] transport::Status wait_some(std::span<transport::Ticket> done, std::size_t& n_done) override;
  [[nodiscard]] transport::Status test_some(std::span<transport::Ticket> done, std::size_t& n_done) override;

 private:
  static constexpr int kMaxTag = 65535;

  Wires& wires_;
  int rank_;
  std::map<int, std::uint8_t> rail_of_tag_;
};

}  // namespace eco::bench
