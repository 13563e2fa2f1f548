// The collectives that the library underneath has itself, on the same group as a Transport.
//
// A capability of a transport, not part of its contract: arming agrees through them, native curves are sampled with
// them, and loopback offers simple ones so that everything above runs without MPI. All calls are collective and
// blocking; every rank passes the same sizes. They throw TransportError if the library reports an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "eco/coll/problem.h"

namespace eco::transport {

class Native {
 public:
  virtual ~Native() = default;

  // Timed beside candidates: the library's own collective for this problem. `input` and `output` are of
  // coll::input_bytes and coll::output_bytes and do not overlap (a broadcast has its message in `output`); elements of
  // reductions are doubles, summed, or bytes, or-ed (CommonProblem::element_bytes), in memory that is aligned for them.
  virtual void run(const coll::CommonProblem& problem, std::span<const std::byte> input,
                   std::span<std::byte> output) = 0;

  // Agreement.
  virtual void barrier() = 0;
  // The same for those who may wait long for one of them. Libraries wait by asking again and again; here who waits sleeps,
  // and wakes every millisecond at most, so that it takes no processor from a rank that computes.
  virtual void barrier_asleep() { barrier(); }
  virtual void broadcast(std::span<std::byte> bytes, int root) = 0;
  virtual void allreduce_min(std::span<std::int64_t> values) = 0;  // in place
  virtual void allreduce_sum(std::span<std::int64_t> values) = 0;  // in place
  virtual void allreduce_max(std::span<double> values) = 0;        // in place
  virtual void allgather(std::span<const std::byte> mine, std::span<std::byte> all) = 0;

  // "Open MPI 5.0.11", "MPICH 5.0.2", "loopback".
  virtual std::string library() const = 0;
};

}  // namespace eco::transport
