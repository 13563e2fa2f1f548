// ECO in one MPI process, from MPI_Init to MPI_Finalize: options, the communicators that are armed, counters.
//
// One object per process, because MPI itself is per process. Everything that has to be agreed by the whole job is
// agreed once, in MPI_Init; a job whose ranks disagree runs natively and says so.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "eco/base/hot.h"
#include "eco/runtime/communicator.h"
#include "eco/runtime/options.h"
#include "preload/backend/background.h"
#include "preload/backend/busy_time.h"
#include "preload/backend/call_checks.h"
#include "preload/backend/counters.h"
#include "preload/backend/found_groups.h"
#include "preload/backend/group.h"
#include "preload/backend/job_rails.h"
#include "preload/backend/profile.h"
#include "preload/backend/tag_ranges.h"
#include "preload/backend/watcher.h"

namespace eco::preload {

class Session {
 public:
  ECO_ON_EVERY_CALL static Session& instance();

  // Collective over MPI_COMM_WORLD, from MPI_Init; once.
  void start();
  // Before start(): as ECO=off on this rank. Local.
  void switch_off() { switched_off_ = true; }
  // From MPI_Finalize: collective over MPI_COMM_WORLD if `collective`, else this rank reports for itself alone.
  void finish(bool collective);

  // Between start and finish. Outside (a program with Sessions alone never starts) every call is the library's.
  bool running() const { return running_.load(std::memory_order_acquire); }
  // May communicators be armed in this job? The same on all ranks; why_native() if not.
  bool arms() const { return arms_; }
  const std::string& why_native() const { return why_native_; }

  // What the messages of all armed communicators go over, so that each costs the library no context id: one
  // communicator of the whole job, and a range of its tags for each.
  MPI_Comm private_comm() const { return private_comm_; }
  TagRanges& tag_ranges() { return tag_ranges_; }

  struct Found {
    Group* group = nullptr;
    // The library refused the communicator and has told its error handler: that is the program's call's error, which
    // must not be raised a second time. MPICH's code is MPI_SUCCESS then if the handler came back.
    bool refused = false;
    int code = MPI_SUCCESS;
  };
  // Local. The group of this communicator, made if this is its first call; none for MPI_COMM_NULL or without memory.
  ECO_ON_EVERY_CALL Found group(MPI_Comm comm);
  // Local. For calls that arm nothing: a group is made only where their communicator is counted or compared by.
  Found group_if_wanted(MPI_Comm comm) {
    return profiles_ || checks_.is_open() ? group(comm) : find_group(comm);
  }
  // Local. The group if there is one.
  ECO_ON_EVERY_CALL Found find_group(MPI_Comm comm) const;

  const runtime::Options& options() const { return options_; }
  const runtime::Identity& identity() const { return identity_; }
  Counters& counters() { return counters_; }
  Background& background() { return background_; }
  // Could nonblocking calls be served at all? The same on all ranks.
  bool serves_beside() const { return background_.is_open() && !options_.is_beside_mpi(); }
  CallChecks& checks() { return checks_; }
  const CallChecks& checks() const { return checks_; }
  JobRails& rails() { return rails_; }
  // Local, from the library's progress: what goes on beside calls.
  void advance_beside() {
    checks_.advance();
    rails_.carry();
  }
  bool may_be_pending_beside() { return checks_.may_be_pending() || rails_.may_be_pending(); }
  // Is there a plan by hand for MPI_COMM_WORLD? The same on all ranks.
  bool has_plan() const { return has_plan_; }
  // Are calls profiled? The same on all ranks.
  bool profiles() const { return profiles_; }
  Profile& profile() { return profile_; }
  // Of a job that is profiled: read at instants that are nearly the same on all ranks, in MPI_Init.
  const ClockReadings& clock_at_start() const { return clock_at_start_; }

  // A place among the ECO_MAX_COMMUNICATORS armed ones; false if none is free. Local, any thread.
  bool take_slot();
  void give_slot_back() { slots_.fetch_add(1); }
  // Local: seconds for measuring. It grows by a share of what the program waited for the library, and faster where that was
  // for want of a plan on a network that is known.
  double budget_left_s() const {
    return static_cast<double>(budget_left_us_.load()) * 1e-6 + earned_left_s();
  }
  // Local: of that, what the program's calls have earned.
  double earned_left_s() const {
    const auto seconds = [](const std::atomic<std::uint64_t>& passed_ns) {
      return 1e-9 * static_cast<double>(passed_ns.load(std::memory_order_relaxed));
    };
    return kEarnedShare * seconds(passed_ns_) + kEarnedUnplannedShare * seconds(unplanned_ns_) -
           static_cast<double>(earned_spent_us_.load()) * 1e-6;
  }
  // Local: seconds for arming communicators whose ranks have a plan before their own calls have taken many times as long. With
  // all armings of such communicators so far it is a share of the job's time.
  double early_arming_left_s() const {
    return kEarlyShare * (PMPI_Wtime() - started_s_) - 1e-6 * static_cast<double>(known_arming_us_.load());
  }
  void note_known_arming(double seconds) {
    known_arming_us_.fetch_add(static_cast<std::int64_t>(seconds * 1e6));
  }
  // Local: a call of the program was the library's, and took so long; `unplanned`: because there was no time to plan it.
  void note_passed(std::uint64_t nanoseconds, bool unplanned) {
    (unplanned ? unplanned_ns_ : passed_ns_).fetch_add(nanoseconds, std::memory_order_relaxed);
  }
  // While communicators are armed, learn or look for the network. Threads that wait for it at the same time wait once.
  BusyTime& arming_time() { return arming_time_; }
  // Local: taken from the budget, what is earned first.
  void note_measuring(double seconds);
  // What arming brought to light: for the communicators that come.
  runtime::KnownInJob& known() { return known_; }
  void note_armed(const Group& group);
  void note_learned(const Group& group);
  // Local, any thread. For a communicator of all ranks that wants to be the first of these that it is tried to arm; false if
  // another has claimed it. Threads may come to it in another order on other ranks, so what is told from it has to be agreed.
  bool claim_first() { return !first_is_claimed_.exchange(true); }
  void give_first_back() { first_is_claimed_.store(false); }
  // Local. Says who is awaited when what this records stalls; `doing` is said behind the rank. Any thread.
  std::unique_ptr<Watch> watch(const exec::FlightRecorder& recorder, int rank, int n_ranks,
                               const char* doing = "");

  // What became of communicators.
  struct Communicators {
    struct OfSize {
      std::uint64_t number = 0;
      std::map<std::string, std::uint64_t> native;
    };
    std::uint64_t able = 0;                       // those whose plan serves something
    std::map<std::string, std::uint64_t> native;  // why the others stayed native, and how many
    std::map<int, OfSize> by_size;                // the same by their ranks

    void add(const Group& group);
  };

  // What the report says besides the counters. Local.
  struct Summary {
    std::string provenance;   // of the last armed communicator
    std::uint64_t armed = 0;  // communicators ever armed
    Communicators communicators;
    double wall_s = 0;
    double arming_s = 0;
    double measuring_s = 0;
  };
  Summary summary();

 private:
  Session() = default;

  void read_options();
  // Collective: true if all ranks have the same version and options and nothing to object.
  bool agree(bool objection);
  // Collective: false, with the reason, if the library has no communicator for ECO.
  bool make_private_communicator();
  // Collective: false, with the reason, if nothing may be served without rails and there are none.
  bool open_rails();
  // Collective, in MPI_Init: MPI_COMM_NULL if the library has none left.
  static MPI_Comm copy_of_world();
  // Collective over MPI_COMM_WORLD.
  void finish_checks();
  void release_groups();
  static int on_comm_free(MPI_Comm comm, int keyval, void* group, void* session);
  static int on_self_free(MPI_Comm comm, int keyval, void* value, void* session);

  // What every call reads or writes comes first.
  std::atomic<bool> running_{false};
  std::atomic<std::uint64_t> generation_{1};  // grows when a group is made or freed
  std::atomic<std::uint64_t> passed_ns_{0};
  std::atomic<std::uint64_t> unplanned_ns_{0};
  mutable FoundGroups found_groups_;
  Counters counters_;
  bool arms_ = false;
  bool started_ = false;
  bool switched_off_ = false;
  bool off_ =
      false;  // on some rank, and so in the whole job: it may be one whose calls ECO does not even see
  bool same_version_ = true;  // on all ranks; else they exchange nothing more
  bool has_plan_ = false;
  std::string why_native_;
  runtime::Options options_;
  runtime::Identity identity_;
  runtime::KnownInJob known_;
  Profile profile_;
  bool profiles_ = false;
  ClockReadings clock_at_start_{};
  bool compares_ = false;  // calls, by ECO_CHECK on all ranks
  MPI_Comm private_comm_ = MPI_COMM_NULL;
  transport::tcp::NicCounts nics_;  // of the job's ranks
  TagRanges tag_ranges_;
  Background background_;
  CallChecks checks_;
  JobRails rails_;
  int keyval_ = MPI_KEYVAL_INVALID;  // of groups
  double started_s_ = 0;
  std::atomic<bool> first_is_claimed_{false};
  std::atomic<int> slots_{0};
  std::atomic<std::int64_t> budget_left_us_{0};  // of what the job began with; what is earned is spent first
  std::atomic<std::int64_t> earned_spent_us_{0};
  static constexpr double kEarnedShare = 0.05;
  static constexpr double kEarnedUnplannedShare = 0.25;
  static constexpr double kEarlyShare = 0.05;
  std::atomic<std::int64_t> known_arming_us_{0};
  BusyTime arming_time_;
  std::atomic<std::int64_t> measuring_us_{0};

  std::mutex mutex_;            // guards what follows; never held while communicating
  std::vector<Group*> groups_;  // alive, in the order in which they were made
  std::uint64_t armed_ = 0;
  std::string provenance_;
  Communicators freed_;  // before the end
  Watcher watcher_;
};

}  // namespace eco::preload
