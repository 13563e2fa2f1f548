// What one rank did when in one call: start and end of every operation of its schedule.
//
//   Trace trace(runtime::now_ns);
//   executor.trace_into(&trace);                                  // until trace_into(nullptr)
//   executor.run(schedule, buffers, 0);
//   for (const TracedOp& op : trace.ops()) draw(op);              // in program order, as sched::Cursor walks them
//
// A message starts when it is handed to the transport and ends when the Executor hears that it is complete, so a receive
// that was posted early is long. Times are the clock's; ranks that read one clock can be laid side by side. A call begins
// by forgetting the one before. reserve() first where the clock must not see memory being taken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "eco/sched/schedule.h"

namespace eco::exec {

struct TracedOp {
  sched::OpKind kind = sched::OpKind::send;
  int peer = -1;  // of messages
  int channel = 0;
  std::uint64_t bytes = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

class Trace {
 public:
  using Clock = std::int64_t (*)();  // nanoseconds, never going back

  explicit Trace(Clock clock) : clock_(clock) {}

  void reserve(std::size_t n_ops) { ops_.reserve(n_ops); }
  // By position in the schedule.
  const std::vector<TracedOp>& ops() const { return ops_; }
  // Spent in the transport's wait, where libraries also move bytes.
  std::int64_t waited_ns() const { return waited_ns_; }

  // The Executor's.
  void begin_call() {
    ops_.clear();
    waited_ns_ = 0;
  }
  void begin(const sched::Op& op, std::uint64_t sequence) {
    if (sequence >= ops_.size()) ops_.resize(sequence + 1);
    const bool is_send = op.kind == sched::OpKind::send;
    ops_[sequence] = {op.kind, op.peer, op.channel, is_send ? op.source.bytes : op.target.bytes, clock_(), 0};
  }
  void end(std::uint64_t sequence) { ops_[sequence].end_ns = clock_(); }
  std::int64_t begin_wait() const { return clock_(); }
  void end_wait(std::int64_t began_ns) { waited_ns_ += clock_() - began_ns; }

 private:
  Clock clock_;
  std::vector<TracedOp> ops_;
  std::int64_t waited_ns_ = 0;
};

}  // namespace eco::exec
