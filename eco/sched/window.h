// The bounded look-ahead over one schedule: which operations may start now.
//
// Like the issue window of an out-of-order processor: operations enter in program order, at most `capacity` unfinished
// ones at a time; an operation is ready when no earlier unfinished one touches its regions in a conflicting way (both
// read is no conflict) and, for messages, when every earlier message of the same channel and direction was posted;
// operations of one group likewise, a few of them under way at a time.
// The Executor drives it with a transport, the predictor with virtual time, the verifier with adversarial orders: all
// three see the same rules.
//
//   Window window(schedule, 512, input_is_output);
//   while (!window.done()) {
//     while (auto id = window.take_ready(OpKind::recv)) post(window.op(*id)), window.posted(*id);
//     ...
//     window.complete(id);
//   }
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "eco/sched/schedule.h"

namespace eco::sched {

using OpId = std::uint32_t;  // a slot of the window, reused after complete()

class Window {
 public:
  // `input_is_output`: both names mean the same memory (MPI_IN_PLACE).
  Window(const Schedule& schedule, std::size_t capacity, bool input_is_output);
  // Starts over with another schedule (which must outlive the run), keeping the memory.
  void restart(const Schedule& schedule, bool input_is_output);
  ~Window();
  Window(Window&&) noexcept;
  Window& operator=(Window&&) noexcept;

  // True when every operation of the schedule has completed.
  bool done() const;
  // The first ready operation of this kind in program order, taken out of the ready set; nothing if there is none.
  // Sends on a channel whose send window is full are passed over.
  std::optional<OpId> take_ready(OpKind kind);
  // A taken message or group operation was handed to the transport: the next one of its channel may follow.
  void posted(OpId id);
  // A posted message or group operation, or a taken reduce or copy has finished; its slot may be reused, later operations
  // become ready.
  void complete(OpId id);

  // Valid until the next complete() or restart().
  const Op& op(OpId id) const;
  // Of a message: a number, counted from 0 in program order, that all messages of the same direction, peer and channel
  // share: for what users keep of each channel. Operations of one group share one too.
  std::uint32_t channel(OpId id) const;
  // Position of the operation in program order, from 0.
  std::uint64_t sequence(OpId id) const;
  std::size_t n_unfinished() const;
  std::uint64_t n_completed() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace eco::sched
