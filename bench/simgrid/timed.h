// A collective inside SimGrid, timed: simulated seconds from an instant common to all ranks to the last rank's end.
//
//   const Took took = timed([&] { PMPI_Bcast(...); });
#pragma once

#include <mpi.h>
#include <simgrid/actor.h>
#include <simgrid/engine.h>

#include <cstddef>
#include <cstring>
#include <new>

#include "bench/cells.h"

namespace eco::bench {

// Long enough for every rank to have left the reduction that agrees on the instant.
inline constexpr double kPause_s = 1;

inline double latest(double s) {
  double all = 0;
  PMPI_Allreduce(&s, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return all;
}

struct Took {
  double simulated_s = 0;
  double cost_s = 0;
};

// Collective.
template <typename Call>
Took timed(const Call& call) {
  const double begin_s = latest(simgrid_get_clock()) + kPause_s;
  const double before_s = processor_s();
  sg_actor_sleep_for(begin_s - simgrid_get_clock());
  call();
  const double end_s = latest(simgrid_get_clock());
  return {end_s - begin_s, processor_s() - before_s};
}

// Memory of one size at every rank. Where it is `folded`, all ranks have one piece of it, into and out of which nothing is
// copied: for times, not for results.
class Memory {
 public:
  Memory(std::size_t bytes, bool folded)
      : folded_(folded),
        bytes_(bytes),
        at_(folded ? SMPI_SHARED_MALLOC(at_least_one(bytes)) : ::operator new(at_least_one(bytes))) {}
  ~Memory() { folded_ ? SMPI_SHARED_FREE(at_) : ::operator delete(at_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  std::byte* data() const { return static_cast<std::byte*>(at_); }
  std::size_t size() const { return bytes_; }

 private:
  // SMPI ends a program that asks for nothing.
  static std::size_t at_least_one(std::size_t bytes) { return bytes > 0 ? bytes : 1; }

  bool folded_;
  std::size_t bytes_;
  void* at_;
};

}  // namespace eco::bench
