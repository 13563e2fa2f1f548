// Which group a communicator has, as it was found before: MPICH takes some 400 ns to find an attribute, more than all the rest of
// a call that passes.
//
//   if (const std::optional<Group*> group = found.find(comm, generation)) return *group;
//   found.keep(comm, generation, look_for(comm));
//
// Any thread, and without storage of threads, which costs a call that comes from other work three pages more. What is kept holds
// as long as no group was made or freed since, which `generation` counts: a handle can only be used again after that.
#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "eco/base/hot.h"
#include "eco/base/place.h"

namespace eco::preload {

class Group;

class FoundGroups {
 public:
  // Nothing: not known. Null: it has none.
  ECO_ON_EVERY_CALL std::optional<Group*> find(MPI_Comm comm, std::uint64_t generation) const {
    const Slot& slot = slots_[place(comm)];
    const std::uint64_t version = slot.version.load(std::memory_order_acquire);
    const MPI_Comm its_comm = slot.comm.load(std::memory_order_acquire);
    const std::uint64_t its_generation = slot.generation.load(std::memory_order_acquire);
    Group* const group = slot.group.load(std::memory_order_acquire);
    const bool is_whole = version % 2 == 0 && slot.version.load(std::memory_order_relaxed) == version;
    if (!is_whole || its_comm != comm || its_generation != generation) return std::nullopt;
    return group;
  }

  // `generation` as it was before the group was looked for. Nothing is kept while another thread writes there.
  void keep(MPI_Comm comm, std::uint64_t generation, Group* group) {
    Slot& slot = slots_[place(comm)];
    std::uint64_t version = slot.version.load(std::memory_order_relaxed);
    if (version % 2 != 0) return;
    if (!slot.version.compare_exchange_strong(version, version + 1, std::memory_order_acq_rel)) return;
    slot.comm.store(comm, std::memory_order_release);
    slot.generation.store(generation, std::memory_order_release);
    slot.group.store(group, std::memory_order_release);
    slot.version.store(version + 2, std::memory_order_release);
  }

 private:
  static constexpr int kBits = 4;
  // A line of its own, so that threads on communicators of their own do not wait for each other. An odd version is being written.
  struct alignas(64) Slot {
    std::atomic<std::uint64_t> version{0};
    std::atomic<MPI_Comm> comm{MPI_COMM_NULL};
    std::atomic<std::uint64_t> generation{0};
    std::atomic<Group*> group{nullptr};
  };

  // Handles are numbers in a row under MPICH and addresses under Open MPI.
  static std::size_t place(MPI_Comm comm) { return base::place_of((std::uint64_t)comm, kBits); }

  std::array<Slot, std::size_t{1} << kBits> slots_{};
};

}  // namespace eco::preload
