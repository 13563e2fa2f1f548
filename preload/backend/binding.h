// One rank's memory as a schedule wants it: dense, all blocks of one length, and nothing twice except in an allreduce.
//
//   Binding binding(memory, problem, rank, sides);
//   if (binding.before(buffers)) run(buffers), binding.after();
//
// What is so already is used where it lies; the rest is packed into `memory`, which must be the call's alone.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "eco/coll/problem.h"
#include "eco/exec/executor.h"
#include "preload/backend/sides.h"

namespace eco::preload {

// Dense copies of what a call reads and writes.
struct PackedMemory {
  std::vector<std::byte> input;
  std::vector<std::byte> output;

  // What is kept from call to call stays; one rare large message shall not hold its memory for ever.
  void let_go_of_much();
};

class Binding {
 public:
  // The problem and the sides must outlive it.
  Binding(PackedMemory& memory, const coll::CommonProblem& problem, int rank, const Sides& sides)
      : memory_(memory), problem_(problem), rank_(rank), sides_(sides) {}

  // Local. False if MPI reports an error. Throws std::bad_alloc.
  [[nodiscard]] bool before(exec::Buffers& buffers);
  // Local. False if MPI reports an error.
  [[nodiscard]] bool after();

 private:
  bool bind_output(exec::Buffers& buffers);
  bool bind_input(exec::Buffers& buffers);
  bool pad_input(exec::Buffers& buffers);
  bool pad_output(exec::Buffers& buffers);
  bool take_padding_off();
  std::span<std::byte> room(std::vector<std::byte>& vector, std::size_t bytes);
  // A broadcast's message is its root's output from the start.
  bool is_broadcast_root() const;

  PackedMemory& memory_;
  const coll::CommonProblem& problem_;
  int rank_;
  const Sides& sides_;
  bool packs_output_ = false;
};

}  // namespace eco::preload
