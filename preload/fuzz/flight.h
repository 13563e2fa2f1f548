// One collective call of a program from its arguments to what it left in memory.
//
//   Flight flight(step, group, rank);
//   flight.begin();                       // blocking forms have ended then
//   MPI_Wait(flight.request(), ...);
//   flight.end(record[step.id]);
//
// movement.cc and reduction.cc make the arguments of data movement and of reductions out of the step's words.
#pragma once

#include <mpi.h>

#include <functional>
#include <string>

#include "preload/fuzz/calls.h"
#include "preload/fuzz/groups.h"
#include "preload/fuzz/layouts.h"
#include "preload/fuzz/memory.h"
#include "preload/fuzz/program.h"
#include "preload/fuzz/record.h"
#include "preload/fuzz/values.h"

namespace eco::fuzz {

// What a step's preparation knows, and fills in.
struct Call {
  const Step& step;
  const Group& group;
  int rank;  // in the world
  bool is_root = false;
  Arguments arguments{};
  Types types{};
  Operation operation{};
  Memory in{}, out{};
  std::function<void()> refill;  // values of reductions; memory is random already
  std::function<void(Entry&)>
      settle;  // what the standard leaves open is taken out of memory, and held against bounds
};

void prepare_movement(Call& call);
void prepare_reduction(Call& call);

// Of rank i for rank j, the same from both sides; or from everybody where there is one only: (i, i).
int uneven(int way, int count, int i, int j, int n);

class Flight {
 public:
  Flight(const Step& step, const Group& group, int rank);
  Flight(const Flight&) = delete;
  Flight& operator=(const Flight&) = delete;
  ~Flight();

  // Throws std::runtime_error where MPI returns an error.
  void begin();
  MPI_Request* request() { return &request_; }
  bool is_under_way() const { return request_ != MPI_REQUEST_NULL; }
  int step() const { return step_.id; }
  // Once it has ended. `bytes`: a file that gets all memory, or nothing.
  void end(Entry& entry, const std::string& bytes);

 private:
  void run_twice();
  void free_handles();

  Step step_;
  Group group_;
  Form form_;
  const CallEntry& entry_;
  Call call_;
  MPI_Request request_ = MPI_REQUEST_NULL;
  std::string algorithm_;
};

}  // namespace eco::fuzz
