// Calls that run while the program does other things: nonblocking collectives.
//
//   std::shared_ptr<Lane> lane;                                     // of an armed communicator
//   background.begin(lane, std::move(call), request);               // MPI_Ibcast: returns at once
//
// The program's request is a receive of nothing from itself, on a communicator that only this process has, and is
// completed by a message of nothing to itself: so every function of the library that takes requests knows what to do with
// it, and ECO wraps none of them. The library's progress carries the calls (progress_hook.h).
//
// Nothing here waits but for another thread that is inside one of these functions, and these wait for nobody.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "eco/coll/problem.h"
#include "eco/exec/executor.h"
#include "eco/plan/plan_table.h"
#include "eco/sched/schedule.h"
#include "eco/sched/traffic.h"
#include "eco/transport/mpi/mpi_transport.h"
#include "preload/backend/binding.h"
#include "preload/backend/call_check.h"
#include "preload/backend/datatypes.h"
#include "preload/backend/profile.h"
#include "preload/backend/progress_hook.h"
#include "preload/backend/sides.h"
#include "preload/backend/spin_lock.h"
#include "preload/backend/watcher.h"

namespace eco::preload {

// What a call runs on, and the next one may use again.
struct Runner {
  explicit Runner(MPI_Comm comm, const transport::mpi::Share& share);
  transport::mpi::MpiTransport transport;
  exec::Executor executor;
  PackedMemory packed;
  std::unique_ptr<Watch> watch;
};

// The part of one communicator in it. Calls that have not ended hold on to it when the communicator is freed.
struct Lane {
  MPI_Comm comm = MPI_COMM_NULL;  // the program's; none once it is freed
  MPI_Comm private_comm = MPI_COMM_NULL;
  transport::mpi::Share share;
  std::function<void()> give_tags_back;  // when nobody needs them any more
  int next_tag = 0;                      // the same on all ranks: they begin the same calls in the same order
  std::atomic<bool> lost{false};         // a call on it failed half-way
  std::vector<std::unique_ptr<Runner>> idle;

  ~Lane() {
    if (!lost && give_tags_back) give_tags_back();
  }
};

// What is to be done, as one rank has it.
struct BackgroundCall {
  coll::CommonProblem problem;
  std::shared_ptr<const sched::Schedule> schedule;
  std::uint64_t recipe_digest = 0;
  int n_tags = 1;
  Sides sides;
  std::optional<Reduction> reduction{};
  // It begins when its ranks have compared it, if they do.
  std::shared_ptr<const CallCheck> check{};
  std::uint64_t number_in_check = 0;
  // When it has ended well: its communicator may be gone by then.
  struct Counted {
    std::uint64_t took_ns = 0;  // to begin it; the program did other things until it ended
    plan::Gain gain{};
    sched::Crossing crossing{};
    Profile::Calls* profile = nullptr;
  };
  Counted counted{};
};

class Background {
 public:
  Background();
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  // Local. False where the library has no progress that ECO could join, or no communicator for it.
  bool open();
  void close();
  bool is_open() const { return self_ != MPI_COMM_NULL; }

  // Local. The program's communicator is gone.
  void forget_comm(Lane& lane);

  // Local. From now on the library's progress carries what is beside calls too (Session::carry_beside()), until nothing of it
  // is left.
  void carry_beside();

  // Local. Throws std::bad_alloc before anything is begun.
  void begin(std::shared_ptr<Lane> lane, BackgroundCall call, MPI_Request* request);

 private:
  struct Flight;
  void hook();
  using Flights = std::list<std::unique_ptr<Flight>>;

  static ProgressHook::Next on_progress();
  ProgressHook::Next advance(bool is_hook);
  // True when it has ended, well or not.
  bool advance(Flight& flight);
  bool may_begin(const Flight& flight) const;
  void complete(Flight& flight, bool good);
  int take_tag();

  MPI_Comm self_ = MPI_COMM_NULL;
  SpinLock busy_;  // guards what follows; from inside the library it is only tried
  std::atomic<int> n_flights_{0};
  Flights flights_;                          // in the order in which they began
  Flights::iterator next_ = flights_.end();  // whose turn it is
  std::atomic<bool> hooked_{false};          // until the hook has been told that there is nothing left
  std::vector<int> free_tags_;
  int next_tag_ = 0;
  bool moved_ = false;                // since it was last asked
  MPI_Comm lost_on_ = MPI_COMM_NULL;  // whose error handler is to be told
};

}  // namespace eco::preload
