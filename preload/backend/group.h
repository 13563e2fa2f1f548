// ECO's side of one of the program's communicators: whether it is armed, and what it runs on.
//
// Hangs on the communicator as an attribute and dies with it. Its functions follow MPI's own rule: one blocking
// collective at a time on one communicator.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "eco/algo/algorithm.h"
#include "eco/base/hot.h"
#include "eco/runtime/common_start.h"
#include "eco/runtime/communicator.h"
#include "eco/runtime/missed_calls.h"
#include "eco/runtime/readiness.h"
#include "eco/transport/joined.h"
#include "eco/transport/mpi/mpi_transport.h"
#include "preload/backend/background.h"
#include "preload/backend/binding.h"
#include "preload/backend/call_check.h"
#include "preload/backend/job_rails.h"
#include "preload/backend/neighbors.h"
#include "preload/backend/passed_calls.h"
#include "preload/backend/profile.h"

namespace eco::runtime {
struct SaidBeside;
class IdentityRoom;
struct RecalledView;
}  // namespace eco::runtime

namespace eco::preload {

class Session;
struct LibraryAgreement;

// Of a communicator that no plan was looked for.
inline constexpr const char* kNothingWorthArming = "too few or too short calls to be armed";

class Group {
 public:
  // Local. Communicators of one rank and inter-communicators stay native from the start.
  Group(Session& session, MPI_Comm comm);
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  MPI_Comm comm() const { return comm_; }
  int n_ranks() const { return n_ranks_; }
  int rank() const { return rank_; }

  // False once it is decided that the library serves this communicator.
  bool may_serve() const { return state_ != State::native; }
  bool is_inter() const { return is_inter_; }

  // Collective in the call that arms, in the first call of every other collective after it, and where ranks ask each other
  // who comes late, or whether calls take longer; else local. Only from blocking calls that no binding of the library can
  // bypass, with facts that all ranks share, so that all ranks do the same in the same call.
  ECO_ON_EVERY_CALL void prepare(const coll::CommonProblem& problem);
  // The same in a barrier, for the nonblocking calls before it: they can't arm or learn.
  void prepare_in_barrier();
  // Before it, in calls that follow a graph: collective in the first that could arm or learn, else local.
  void prepare_neighbors(const BlockBytes& mine);
  // Local, the same on all ranks: null as long as it is not known, or where the library has all that follows it.
  const std::shared_ptr<const coll::Neighborhood>& neighbors() const { return neighbors_; }
  // Local: what becomes of a call without it.
  Fate fate_of_neighbors() const;
  // Local: what a call like this came to, which passed, where nothing has happened since that another could come to something
  // else by, and where passing is all there is to it: nothing is to be learned, asked or counted up to.
  std::optional<PassedCall> passed_before(const Call& call) const {
    return is_settled() ? passed_calls_.find(call) : std::nullopt;
  }
  void keep_passed(const Call& call, const PassedCall& came_to) {
    if (call.lengths && is_settled()) passed_calls_.add(call, came_to);
  }
  // Local. A call of the program was the library's, or ECO's, and took so long.
  ECO_ON_EVERY_CALL void note_passed(coll::Collective collective, std::size_t bytes, Fate fate,
                                     std::uint64_t nanoseconds) {
    // What barriers take is the wait for the last rank: no reason to arm. Nor is what is left to the library for late ranks' sake.
    if (collective != coll::Collective::barrier && !(runtime_ && runtime_->passes_this_call())) {
      passed_ns_ += nanoseconds;
      session_passed(nanoseconds);
    } else {
      note_behind(nanoseconds);
    }
    if (runtime_) runtime_->note_passed(nanoseconds);
    note(Profile::number_of(collective), bytes, fate, nanoseconds);
  }
  // Local: nothing is armed that could serve this blocking call. All ranks make it.
  void note_missed(const coll::CommonProblem& call) {
    if (state_ == State::waiting) missed_.add(call);
  }
  // Local: of a nonblocking call that has begun. All ranks make it.
  void note_beside(const coll::CommonProblem& call);
  // For the profile alone: of a call that counts for nothing else.
  void note(int operation, std::size_t bytes, Fate fate, std::uint64_t nanoseconds) {
    if (profile_ != nullptr) profile_->note(operation, bytes, fate, nanoseconds);
    note_arrival(operation, bytes, nanoseconds);
  }
  void note_served(coll::Collective collective, std::size_t bytes, std::uint64_t nanoseconds) {
    note_behind(nanoseconds);
    note(Profile::number_of(collective), bytes, Fate::served, nanoseconds);
  }

  // Local: planned, whatever came out. The same on all ranks.
  bool knows(const coll::CommonProblem& call) const { return runtime_ && runtime_->knows(call); }
  // Collective, from blocking calls as prepare(): the network as these ranks see it, on all the same; nothing where it is
  // not known and may not be measured now. Where rank 0 remembers it, what it has to say of it may come beside.
  std::optional<net::GroupView> find_view(runtime::SaidBeside& beside);

  // Local: what serves this problem; nullptr for the library.
  const algo::Recipe* recipe(const coll::CommonProblem& problem) const {
    return runtime_ ? runtime_->serves(problem) : nullptr;
  }
  // The same for the call that prepare() was told of last.
  const algo::Recipe* recipe_of_this_call(const coll::CommonProblem& problem) const {
    return runtime_ ? runtime_->serves_this_call(problem) : nullptr;
  }
  // Local: what becomes of this call, which no recipe serves.
  ECO_ON_EVERY_CALL Fate fate_of(const coll::CommonProblem& call) const;
  // Collective. False: the communicator is lost to ECO and to its program (poisoned() from now on).
  [[nodiscard]] bool run(const coll::CommonProblem& problem, const algo::Recipe& recipe,
                         const exec::Buffers& buffers);
  // Local: may calls run beside the program? The same on all ranks.
  bool has_lane() const;
  // May this recipe, where they may? The library wants one order of its collectives on all ranks, and what runs beside has
  // MPI's messages alone.
  bool runs_beside(const algo::Recipe& recipe) const {
    return !recipe.has_native_parts() && !(rails_ && algo::is_on_rails(recipe));
  }
  const std::shared_ptr<Lane>& lane() const { return lane_; }
  // Local: what such a call runs, and what is counted of it. Throws std::bad_alloc.
  void schedule(BackgroundCall& call, const algo::Recipe& recipe);
  // A call that never arms was the library's, and is to be learned by the next that may. The same on all ranks.
  void wish_for(const coll::CommonProblem& call) {
    wished_[static_cast<std::size_t>(call.collective)] = call;
    has_wishes_ = true;
  }
  // May reductions that form combine numbers that round (ECO_ANY_ORDER)? The same on all ranks.
  bool any_order() const;
  // An error in the middle of a served call, or of packing for it. Local; every later call errs.
  void poison() { poisoned_ = true; }
  bool poisoned() const { return poisoned_ || (lane_ && lane_->lost); }

  // Did the last run form around late ranks?
  bool last_formed() const { return runtime_->last_formed(); }
  // What this rank sent to other subnets in the last run.
  const sched::Crossing& last_crossing() const { return runtime_->last_crossing(); }
  // By the plan's measurements, native less ECO; 0 if not known.
  plan::Gain planned_gain(const coll::CommonProblem& problem) const;
  // Kept from call to call unless it is large.
  PackedMemory& packed() { return packed_; }

  // Local, in a collective call: what compares this communicator's calls; null where they are not compared.
  const std::shared_ptr<CallCheck>& check();

  const runtime::Communicator* armed() const { return runtime_.get(); }
  bool serves_nothing() const { return !runtime_ || runtime_->serves_nothing(); }
  // Why, if it serves nothing.
  const std::string& why_native() const { return why_native_; }

  // Local: gives back the tags and the place among the armed ones.
  void release();

 private:
  enum class State { waiting, armed, native };

  bool is_settled() const {
    if (poisoned() || is_open_ || is_behind_open_ || has_wishes_ || adapts_) return false;
    return state_ != State::waiting;
  }

  // Of a call that has ended now.
  void note_arrival(int operation, std::size_t bytes, std::uint64_t took_ns) {
    if (arrivals_ == nullptr) return;
    arrivals_->note(operation, bytes, static_cast<std::uint64_t>(runtime::now_ns()) - took_ns, took_ns);
  }

  // Local, and the same on all ranks: may this call arm?
  ECO_ON_EVERY_CALL bool is_due(std::size_t bytes);
  // Collective, like what they are called by; see the comment at arm().
  // For a call that follows, or that has begun before.
  enum class AtHand { yes, no };
  void arm(const coll::CommonProblem& problem, AtHand at_hand);
  void learn(const coll::CommonProblem& call);
  ECO_ON_EVERY_CALL void learn_wishes();
  ECO_ON_EVERY_CALL void session_passed(std::uint64_t nanoseconds);
  // Behind a call that there was no time to plan, the next one takes what that takes on other ranks.
  void note_behind(std::uint64_t nanoseconds) {
    if (is_behind_open_) session_passed(nanoseconds);
  }
  // Local: after an attempt that had too little time.
  static bool may_try(double budget_left_s, double tried_s);
  void try_again_later(double budget_left_s, std::string why);
  void ask_who_is_late(coll::Collective collective);
  void ask_about_ambient();
  // Local: the ranks in MPI_COMM_WORLD; nothing if some are beyond it, which is the same answer on all ranks.
  std::optional<std::vector<int>> ranks_in_world() const;
  net::GroupView look_for_network(LibraryAgreement& agreement, const std::vector<int>& world_ranks,
                                  double budget_left_s);
  runtime::RecalledView recall_network(LibraryAgreement& agreement, runtime::IdentityRoom& room,
                                       runtime::SaidBeside& beside);
  void make_transports(std::vector<int> world_ranks);
  // Local: what recipes run on, once it is made.
  transport::Transport& transport() const;
  // Does TCP or UCX carry everything, not only what names rails?
  bool is_beside_mpi() const;
  // Local: messages under this communicator's tags may still be on their way, so nobody gets them again.
  void lose_tags();
  // `known`: by all ranks, or null on all.
  void arm_on(LibraryAgreement& agreement, const std::vector<int>& world_ranks, double budget_left_s,
              const coll::CommonProblem& first, const runtime::KnownGroup* known);
  // Local: the job's options, with what the rank that has least is left of its budget.
  runtime::Options options_within(double budget_left_s) const;
  // Local: for other communicators of these ranks.
  void remember(const std::vector<int>& world_ranks);
  void remember_view(const std::vector<int>& world_ranks, const net::GroupView& view);
  void give_slot_back();
  void stay_native(std::string why);
  void lose(const char* doing, const char* reason);

  Session& session_;
  Profile::Calls* profile_ = nullptr;  // where calls are noted, if they are
  Arrivals::Of* arrivals_ = nullptr;   // of calls that all of its ranks make
  MPI_Comm comm_;
  int n_ranks_ = 1;
  int rank_ = 0;
  PassedCalls passed_calls_;
  std::optional<int> arm_after_;  // calls
  bool arms_when_due_ = false;    // whatever its calls took
  int passed_ = 0;
  runtime::Pace pace_;
  std::uint64_t passed_ns_ = 0;
  runtime::MissedCalls missed_;  // while waiting
  // Of the nonblocking calls since a barrier that arming might serve, the last.
  std::optional<coll::CommonProblem> beside_;
  // What a known plan of the same ranks leaves to the library, whatever its root: calls like it arm nothing.
  runtime::KnownCells left_native_;
  // The budget of the last attempt that had too little.
  double tried_arming_s_ = 0;
  std::array<double, coll::kCollectives> tried_learning_s_{};
  State state_ = State::waiting;
  bool is_inter_ = false;
  bool has_slot_ = false;
  bool is_open_ = false;  // armed, and calls like this one were not planned for want of time to measure
  bool is_behind_open_ = false;  // nor have calls like the one before
  bool is_due_ = false;          // the call at hand may arm, and it has been counted
  bool has_looked_for_neighbors_ = false;
  bool knows_no_network_ = false;  // after a look: another would find none either
  bool poisoned_ = false;
  bool has_wishes_ = false;
  bool adapts_ = false;  // armed, and who is late or ambient traffic may change what serves
  std::string why_native_ = kNothingWorthArming;
  std::array<std::optional<coll::CommonProblem>, coll::kCollectives> wished_{};
  // Until the lane has them, which gives them back after all calls.
  std::optional<int> tags_;
  std::shared_ptr<Lane> lane_;
  std::unique_ptr<transport::mpi::MpiTransport> transport_;
  std::unique_ptr<RailPart> rails_;                     // where the job has rails
  std::unique_ptr<transport::JoinedTransport> joined_;  // of both
  std::unique_ptr<runtime::Communicator> runtime_;
  std::unique_ptr<Watch> watch_;  // of its recorder
  std::shared_ptr<CallCheck> check_;
  bool has_check_ = false;  // or it is known that there is none
  std::shared_ptr<const coll::Neighborhood> neighbors_;
  PackedMemory packed_;
};

}  // namespace eco::preload
