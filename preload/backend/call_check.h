// ECO_CHECK=communication: the ranks of a communicator compare what they call before they call it.
//
//   CallCheck* check = group.check();                                      // none without the option
//   if (check != nullptr && !check->agrees("MPI_Bcast", record, CallCheck::Waits::yes)) ...    // an error
//
// Every rank tells rank 0 of the communicator, which compares, says what differs and answers all of them. These messages
// are the same whatever a rank calls and go over a communicator of ECO's own, so they come through where the calls
// themselves would wait for each other. A call that the program waits in begins when the answer is there, and so no rank
// is through before all have come. A nonblocking one begins at once; its answer comes while the program is in MPI
// (progress_hook.h), at the latest in the next call on that communicator that waits or in MPI_Finalize.
//
// A rank that does not come is no difference: whoever waits for it is watched (watcher.h).
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "eco/exec/flight_recorder.h"
#include "eco/runtime/call_record.h"
#include "preload/backend/spin_lock.h"
#include "preload/backend/watcher.h"

namespace eco::preload {

struct Lane;

class CallCheck {
 public:
  enum class Waits : bool { no, yes };

  // Local. `over`: ECO's own; `world_ranks`: of the communicator's ranks.
  CallCheck(MPI_Comm comm, MPI_Comm over, int rank, std::vector<int> world_ranks);
  CallCheck(const CallCheck&) = delete;
  CallCheck& operator=(const CallCheck&) = delete;

  // Collective, in the order of the communicator's calls. False if the ranks of this or an earlier call differ; then
  // rank 0 has said so. `name` must live for ever.
  bool agrees(const char* name, const runtime::CallRecord& mine, Waits waits);
  // Local: as far as it comes without waiting.
  void advance();
  // Local: calls without an answer, or an error handler that is still to be told of a difference.
  bool is_pending() const { return n_pending_.load(std::memory_order_acquire) > 0 || tells_.load(); }
  // Local: how many calls were compared or are to be, and is it known of the first so many that they agree?
  std::uint64_t n_calls() const { return n_calls_; }
  bool has_agreed(std::uint64_t n_calls) const {
    return n_agreed_.load(std::memory_order_acquire) >= n_calls;
  }
  bool differs() const { return differs_.load(std::memory_order_acquire); }

  // Local. Calls on it end with an error when the ranks differ.
  void set_lane(std::weak_ptr<Lane> lane);
  // Local. The program's communicator is gone.
  void forget_comm();
  bool is_forgotten() const { return forgotten_.load(); }
  // Local. Whose error handler is to be told of a difference that was found beside the program; null if none is, or if
  // another thread is at it.
  MPI_Comm take_comm_to_tell();

 private:
  // A call that has no answer yet, on rank 0 of which not all have told.
  struct Pending {
    // Allocates all that it will need: it is carried on where nobody can be told of a lack of memory.
    Pending(const char* name, const runtime::CallRecord& mine, std::size_t n_ranks, bool is_first_rank);

    const char* name;
    std::vector<runtime::CallRecord> records;  // rank 0: of all ranks; else its own
    std::vector<MPI_Request> requests;         // rank 0: those; else what was told, and the answer
    std::int32_t answer = 0;
    bool posted = false;
  };

  bool is_first_rank() const { return rank_ == 0; }
  // Local, what follows, under the lock.
  void ask_for_number();
  bool has_number(Waits waits);
  void post(Pending& pending);
  void progress(Waits waits);
  // True when all of it is there.
  bool complete(Pending& pending, Waits waits);
  void conclude(Pending& pending);
  void give_up();

  MPI_Comm comm_;  // the program's
  MPI_Comm over_;
  int rank_;
  std::vector<int> world_ranks_;
  std::string name_;  // of the communicator, for people

  SpinLock busy_;  // guards what follows; from inside the library it is only tried
  // Rank 0 of the communicator gives it the number that tells its messages from those of others.
  int number_ = -1;
  int told_number_ = 0;  // on its way
  MPI_Request number_request_ = MPI_REQUEST_NULL;
  std::list<Pending> pending_;
  std::uint64_t n_calls_ = 0;
  std::atomic<std::uint64_t> n_agreed_{0};
  std::weak_ptr<Lane> lane_;
  std::atomic<bool> tells_{false};
  std::atomic<int> n_pending_{0};
  std::atomic<bool> differs_{false};
  std::atomic<bool> forgotten_{false};
  exec::FlightRecorder recorder_;
  std::unique_ptr<Watch> watch_;
};

}  // namespace eco::preload
