// Nonblocking tagged messages between the ranks of one group: the only way bytes leave a rank.
//
// Contract, the same for every transport (loopback, MPI, TCP, UCX):
//   - messages from one rank to another with one tag match in the order in which both sides posted them;
//   - a posted buffer belongs to the transport until its ticket comes back from wait_some or test_some;
//   - a send in mode `eager` may complete before the receiver posted (its bytes are then held elsewhere); in mode
//     `synchronous` it completes only after the receiver matched it: that is what send windows count on;
//   - functions do not throw and do not allocate in proportion to the bytes; they return a Status;
//   - one thread at a time per object. All calls are local.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "eco/coll/combine.h"
#include "eco/coll/problem.h"
#include "eco/coll/rank_group.h"

namespace eco::transport {

enum class SendMode : std::uint8_t { eager, synchronous };

enum class Status : std::uint8_t {
  ok,
  lost_peer,  // nothing more will come from a peer that still owes something
  failed,     // the transport itself reported an error
};

// Chosen by the caller, handed back on completion.
using Ticket = std::uint32_t;

// Of a receive: from whoever sends with that tag. A tag is received either from anybody or from named peers at a time,
// never both, and by one receive at a time. A capability: a transport without it (tcp, ucx) fails such a receive.
inline constexpr int kAnyPeer = -2;

// In the place of a rail: whichever way the transport's messages take by themselves.
inline constexpr std::uint8_t kNoRail = 255;

// The kind of a transport that is the MPI library's own messages.
inline constexpr const char* kOwnMessages = "point-to-point";

// No job uses more rails.
inline constexpr std::size_t kMostRails = 8;

// What one member of a group does in a collective of the transport's own library.
struct GroupCall {
  coll::CommonProblem problem;  // ranks are members, the root is one; elements are those of `combine`
  std::span<const std::byte>
      source;                   // what it contributes: coll::input_bytes, of a broadcast's root the message
  std::span<std::byte> target;  // what it gets, apart from the source; a broadcast's root gets nothing
  coll::Combine combine;
};

class Transport {
 public:
  virtual ~Transport() = default;

  virtual int rank() const = 0;
  virtual int n_ranks() const = 0;
  // What carries its messages, for whoever remembers times that were measured over it.
  virtual std::string kind() const { return kOwnMessages; }
  // Tags 0 .. max_tag() are usable.
  virtual int max_tag() const = 0;

  [[nodiscard]] virtual Status post_send(int peer, int tag, std::span<const std::byte> bytes, SendMode mode,
                                         Ticket ticket) = 0;
  [[nodiscard]] virtual Status post_recv(int peer, int tag, std::span<std::byte> bytes, Ticket ticket) = 0;

  // Blocks until at least one posted message completed; writes up to done.size() tickets, sets n_done.
  // With nothing posted returns at once with n_done = 0.
  [[nodiscard]] virtual Status wait_some(std::span<Ticket> done, std::size_t& n_done) = 0;
  // The same without blocking. With nothing posted from anybody: who has that waits or polls.
  [[nodiscard]] virtual Status test_some(std::span<Ticket> done, std::size_t& n_done) = 0;
  // The same for callers that do nothing else meanwhile: makes the library progress.
  [[nodiscard]] virtual Status poll_some(std::span<Ticket> done, std::size_t& n_done) {
    return test_some(done, n_done);
  }

  // Rails: the NICs of a host that messages may go through; a capability. Without it there is one.
  virtual int n_rails() const { return 1; }
  // What each is called, the same on all ranks: by these a network's rails are recognised. Empty: by nothing.
  virtual std::vector<std::string> rail_names() const { return {}; }
  // Local, the same on all ranks: whether that rank's host has that one of rail_names(). Rail 0 all have; what is to go over
  // another between two hosts of which one lacks it takes rail 0.
  virtual bool has_rail(int /*rank*/, int /*rail*/) const { return true; }
  // Local, the same on all ranks, with no message under way: of those rails only these count from now on, in this order.
  // Of none: they have failed, and nothing goes over them any more.
  virtual void choose_rails(std::vector<std::uint8_t> /*rails*/) {}
  // Local: from now on messages of tag first_tag + i go over rails[i] (kNoRail: as if it was never named). Both sides
  // of a message say the same, and messages of one tag that take the same way keep their order across a change.
  virtual void set_rails(int /*first_tag*/, std::span<const std::uint8_t> /*rails*/) {}

  // Groups of ranks that do collectives among themselves, beside the messages: a capability, which a transport may lack.
  // Collective over all ranks, with the same list on all and no schedule under way: operations of these groups may be
  // started from now on. False if this rank can't;
  // others may be able to, so callers agree.
  [[nodiscard]] virtual bool open_groups(const std::vector<coll::RankGroup>& groups) {
    return groups.empty();
  }
  // Collective likewise: closes all groups but these.
  virtual void close_groups_but(const std::vector<coll::RankGroup>& /*groups*/) {}
  // The number of an open group; -1 if it is not open. Local.
  virtual int find_group(const coll::RankGroup& /*group*/) const { return -1; }
  // Begins this rank's part of a group's next collective; all members begin the same ones in the same order.
  [[nodiscard]] virtual Status start_group(int /*group*/, const GroupCall& /*call*/, Ticket /*ticket*/) {
    return Status::failed;
  }

  // After a failure: takes back what is still posted as far as the library can, so that buffers of its caller are
  // written no more. Nothing may be posted after it. Local, does not block.
  virtual void abandon() {}
};

}  // namespace eco::transport
