// Runs one rank's schedule on a transport. Knows no algorithm.
//
//   Executor executor(transport);
//   Buffers buffers{.input = in, .output = out, .combine = sum};
//   Status status = executor.run(schedule, buffers, /*tag_base=*/0);
//
// Posts every receive that is legal, runs reductions and copies, launches ready sends in program order under the
// schedule's send window, starts what groups do, then waits for completions. Collective by nature: every rank runs its own
// schedule of the same recipe. Does not throw or allocate per message once warm.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "eco/coll/combine.h"
#include "eco/exec/flight_recorder.h"
#include "eco/exec/source.h"
#include "eco/exec/trace.h"
#include "eco/sched/schedule.h"
#include "eco/sched/window.h"
#include "eco/transport/transport.h"

namespace eco::exec {

using coll::Combine;

struct Buffers {
  std::span<const std::byte> input;  // empty where the collective has none
  std::span<std::byte> output;
  bool input_is_output = false;  // MPI_IN_PLACE: `input` is ignored
  Combine combine{};
};

// Unfinished operations looked ahead over; the verifier proves schedules under the same number.
inline constexpr std::size_t kWindowCapacity = 512;

class Executor {
 public:
  explicit Executor(transport::Transport& transport);

  // Grows the scratch memory ahead of time, so that no call fails half-way for want of it. False if there is not enough memory.
  [[nodiscard]] bool reserve(std::size_t scratch_bytes);
  // What was reserved, for a source to use while it runs.
  std::span<std::byte> scratch() { return {scratch_.get(), scratch_bytes_}; }
  // `recipe_digest` only names the call in the flight recorder.
  // Tags tag_base .. tag_base + schedule.n_channels - 1 are used. The transport must have the schedule's groups open.
  [[nodiscard]] transport::Status run(const sched::Schedule& schedule, const Buffers& buffers, int tag_base,
                                      std::uint64_t recipe_digest = 0);

  // The same of a source, which decides while it runs; tags tag_base .. tag_base + its channels - 1 are used. Where a
  // source finds no memory, the call has failed. Calls of sources are not traced.
  [[nodiscard]] transport::Status run(ScheduleSource& source, int tag_base, std::uint64_t recipe_digest = 0);

  // Calls from now on are traced into it, which must live as long; null: no more. Costs one branch a call without.
  void trace_into(Trace* trace) { trace_ = trace; }

  // The same in pieces, for a call that runs beside others: it begins, and progress() carries it as far as it comes
  // without waiting. The schedule must live until it has ended; the buffers are copied. False if there is no memory.
  [[nodiscard]] bool begin(const sched::Schedule& schedule, const Buffers& buffers, int tag_base,
                           std::uint64_t recipe_digest = 0);
  // After a failure, as after the end, nothing more may be asked of it.
  [[nodiscard]] transport::Status progress(bool& ended);

  const FlightRecorder& recorder() const { return recorder_; }

 private:
  template <bool kTraced>
  struct Run;
  // What begin() was given.
  struct Begun {
    const sched::Schedule* schedule = nullptr;
    Buffers buffers;
    int tag_base = 0;
  };

  transport::Transport& transport_;
  sched::Window window_;
  std::unique_ptr<std::byte[]> scratch_;
  std::size_t scratch_bytes_ = 0;
  std::vector<transport::Ticket> finished_;  // room for one wait
  std::vector<std::uint8_t> rails_;          // of the present schedule's channels
  std::vector<int> groups_;                  // of the present schedule, as the transport numbers them
  FlightRecorder recorder_;
  Trace* trace_ = nullptr;
  Begun begun_;
};

}  // namespace eco::exec
