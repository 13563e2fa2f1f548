// One rank's part in a collective: a sequential program of sends, receives, reductions and copies over regions of
// named buffers.
//
//   Schedule s(rank, n_ranks);
//   s.repeat(n_segments, [=](std::size_t j, Emitter& e) {
//     e.recv(parent, segment(j));
//     for (int child : children) e.send(child, segment(j));
//   });
//
// The meaning of a schedule is its sequential execution. It is *run* out of order: an operation may start as soon as
// no earlier unfinished operation touches its regions in a conflicting way (window.h derives that from the regions;
// no dependency is ever typed in), and messages on one channel are posted in program order on both sides, which is
// what makes them match.
//
// A step may be a collective of the library's own on a group of ranks, an island (docs/adr/0012). Its members start a
// group's operations in program order, all of them the same ones.
//
// A schedule is symbolic: it holds loops whose bodies emit the operations of one iteration, so its size does not grow
// with the message. A Cursor walks the operations; whoever runs, predicts, verifies or draws a schedule walks it.
// Building and walking are pure: no clock, no environment, no communication.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "eco/coll/problem.h"
#include "eco/coll/rank_group.h"

namespace eco::sched {

enum class Buffer : std::uint8_t {
  input,    // what this rank contributes (allreduce); read only
  output,   // the message (broadcast) or the result (allreduce)
  scratch,  // Schedule::scratch_bytes of memory that lives for one call
};
std::string_view name(Buffer buffer);

// 16 bytes: predictions hold operations by the hundred thousand, and how many of them a cache holds is their speed.
struct Region {
  constexpr Region() = default;
  constexpr Region(Buffer where, std::size_t from = 0, std::size_t length = 0)
      : buffer(where), offset(from), bytes(length) {}

  Buffer buffer : 2 = Buffer::output;
  std::size_t offset : 62 = 0;
  std::size_t bytes = 0;
};
static_assert(sizeof(Region) == 16);

enum class OpKind : std::uint8_t { send, recv, reduce, copy, group };
inline constexpr std::size_t kOpKinds = 5;
std::string_view name(OpKind kind);

struct Op {
  OpKind kind = OpKind::send;
  coll::Collective collective = coll::Collective::broadcast;  // group: of its members
  int peer = -1;    // send, recv: the other rank; group: the root's place among the members
  int channel = 0;  // send, recv: those of one peer, direction and channel match in order; group: which one
  Region source{};  // read: send, copy, reduce (left operand); group: what this member contributes
  Region target{};  // written: recv, copy; reduce: target = source op target; group: what this member gets
};

// What members of a group can do together. A broadcast's root contributes the message and gets nothing, the others the
// reverse; elsewhere members contribute and get what ranks do.
bool is_group_collective(coll::Collective collective);
// Of a group operation, as one of so many members has it; nothing but collective, ranks, root and bytes.
coll::CommonProblem problem_of_group(const Op& op, std::size_t n_members);
// How long its source and target have to be at this member.
std::size_t group_source_bytes(const coll::CommonProblem& problem, int member);
std::size_t group_target_bytes(const coll::CommonProblem& problem, int member);

// How many messages of one channel may be under way at once. With `synchronous`, "under way" ends when the receiver has
// matched the message; otherwise when the bytes have left the caller's hands, which bounds nothing in the network.
//
// Per channel and not per peer: ranks look ahead over equally many operations, hence over different numbers of
// segments, so a sender can be far ahead of what its receiver has posted. Were the limit shared, such early messages
// could keep back the one of another channel that the receiver waits for before it looks further. With a limit for
// each channel the oldest unfinished segment can always move: its messages stand first on their channels everywhere.
struct SendWindow {
  int messages_per_channel = 0;  // 0: no limit
  bool synchronous = false;
};

class Emitter {
 public:
  explicit Emitter(std::vector<Op>& ops) : ops_(ops) {}

  void send(int peer, Region source, int channel = 0) {
    ops_.push_back({.kind = OpKind::send, .peer = peer, .channel = channel, .source = source});
  }
  void recv(int peer, Region target, int channel = 0) {
    ops_.push_back({.kind = OpKind::recv, .peer = peer, .channel = channel, .target = target});
  }
  void reduce(Region source, Region target) {
    ops_.push_back({.kind = OpKind::reduce, .source = source, .target = target});
  }
  void copy(Region source, Region target) {
    ops_.push_back({.kind = OpKind::copy, .source = source, .target = target});
  }
  void group(int group, coll::Collective collective, int root, Region source, Region target) {
    ops_.push_back({OpKind::group, collective, root, group, source, target});
  }
  void emit(const Op& op) { ops_.push_back(op); }
  // What this iteration has emitted so far, for whoever puts another's operations into its own place.
  std::span<Op> emitted() { return ops_; }

 private:
  std::vector<Op>& ops_;
};

// Emits the operations of iteration i in program order. Pure: the same i gives the same operations every time.
using Body = std::function<void(std::size_t iteration, Emitter& emitter)>;

struct Loop {
  std::size_t count = 0;
  Body body;
};

class Schedule {
 public:
  Schedule(int rank, int n_ranks) : rank_(rank), n_ranks_(n_ranks) {}

  void repeat(std::size_t count, Body body) { loops_.push_back({count, std::move(body)}); }
  void once(Body body) { repeat(1, std::move(body)); }

  int rank() const { return rank_; }
  int n_ranks() const { return n_ranks_; }
  const std::vector<Loop>& loops() const { return loops_; }

  std::size_t scratch_bytes = 0;
  int n_channels = 1;  // the same on all ranks: the tags of later calls begin behind these
  SendWindow window;
  // The rail of each channel, the same on all ranks; empty: all on rail 0. What it means where a host has fewer is the
  // transport's affair.
  std::vector<std::uint8_t> rails;
  // Ranks that do something together, in the order in which their contributions stand: all groups of the whole, the same
  // list on all ranks.
  std::vector<coll::RankGroup> groups;

 private:
  int rank_;
  int n_ranks_;
  std::vector<Loop> loops_;
};

// Walks the operations of one schedule in program order, one iteration expanded at a time.
class Cursor {
 public:
  explicit Cursor(const Schedule& schedule) : schedule_(&schedule) {}

  // The next operation, or nullptr at the end. Valid until the next call.
  const Op* next();

 private:
  const Schedule* schedule_;
  std::size_t loop_ = 0;
  std::size_t iteration_ = 0;
  std::size_t position_ = 0;
  std::vector<Op> ops_;
};

// Of one rank, all iterations walked.
std::size_t count_operations(const Schedule& schedule);

}  // namespace eco::sched
