// One group of ranks with ECO under it: joins measuring, planning and running. The only state across calls.
//
//   auto armed = Communicator::arm(transport, native, options, identity, library);    // collective
//   if (!armed->knows(problem)) armed->learn(native, options, identity, problem);  // collective
//   if (const algo::Recipe* r = armed->serves(problem)) status = armed->run(problem, *r, buffers);
//
// One thread at a time per object (MPI forbids concurrent collectives on one communicator anyway).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "eco/base/hot.h"
#include "eco/coll/problem.h"
#include "eco/exec/executor.h"
#include "eco/late/forms.h"
#include "eco/net/group_view.h"
#include "eco/plan/plan_table.h"
#include "eco/runtime/account.h"
#include "eco/runtime/ambient_watch.h"
#include "eco/runtime/common_start.h"
#include "eco/runtime/known_cells.h"
#include "eco/runtime/known_in_job.h"
#include "eco/runtime/lateness.h"
#include "eco/runtime/options.h"
#include "eco/runtime/readiness.h"
#include "eco/sched/traffic.h"
#include "eco/transport/native.h"
#include "eco/transport/transport.h"

namespace eco::runtime {

// What one rank knows of itself and tells the others when arming.
struct Identity {
  net::HostId host;
  std::string version;  // ECO's; all ranks must agree
};

// The same on all ranks. All but `collectives` and `job` is for the tools.
struct ArmRequest {
  bool plan_anew = false;  // make a plan even if one is remembered with as much effort
  // Without a job's budget. Of an estimate only the table is of use: what it says has not been measured.
  plan::Effort effort = plan::Effort::measure;
  bool network_only = false;  // come to a network, remember it, and stay native
  // One that is remembered as a whole serves as it is, without sentinels: for what is none the worse where hosts have moved.
  bool as_remembered = false;
  // What this process knows of its job: a remembered network is used without a look where rank 0 has looked after all
  // of its hosts already. Null: nothing. Differs between ranks.
  KnownInJob* job = nullptr;
  // What is planned now; empty: all.
  std::vector<coll::Collective> collectives;
  // Of them, and at `sizes`; a job plans for the call that it is about to make alone, and learns others when it makes them.
  std::optional<coll::CommonProblem> call{};
  std::vector<std::size_t> sizes;  // at which a plan is made; empty: plan::default_sizes()
  double offline_s =
      0;  // without a job's budget: seconds for making the plan; what they do not suffice for stays open. 0: no limit
  // Called on rank 0: what is being measured, and the fraction done of this step.
  std::function<void(const std::string& what, double fraction)> progress;
};

struct ArmResult;
class Steps;

using NanosecondClock = std::function<std::int64_t()>;  // never going back
using OpenTransport = std::function<transport::Transport&()>;

struct Learned {
  std::string reason;            // why the collective stays native; empty if some of it is served
  double seconds_measuring = 0;  // taken from the job's budget, on every rank the same
};

class Communicator {
 public:
  // Collective over the transport's group: agrees on version and options, finds the remembered network of these hosts
  // or measures it within the budget, then finds or makes the plan table. Every rank gets the same outcome. Never
  // throws: on any disagreement, bad file or missing permission the group stays native and `reason` says why. Transport
  // and native must outlive the result.
  static ArmResult arm(transport::Transport& transport, transport::Native& native, const Options& options,
                       const Identity& identity, const ArmRequest& request = {});
  // The same over a transport that is opened when the ranks are about to agree on the options, which are not looked at
  // before: what `open` throws on one rank ends arming on all.
  static ArmResult arm(Steps& steps, transport::Native& native, const OpenTransport& open,
                       const Options& options, const Identity& identity, const ArmRequest& request);
  // Collective over the transport's group, whose ranks have agreed that all know the same of it (readiness.h): takes the
  // network and the plan from there. Nobody reads, measures or sends anything. Never throws, as arm().
  static ArmResult arm_known(transport::Transport& transport, transport::Native& native,
                             const KnownGroup& known);

  // Local: are calls like this one planned, whatever came out? The same on all ranks.
  bool knows(const coll::CommonProblem& call) const {
    return known_.knows(call, plan::root_subnet(call, view_)) || stands(call);
  }
  // Local: all calls of it.
  bool knows(coll::Collective collective) const { return known_.knows_all(collective); }
  // Local, the same on all ranks: there was no time to plan calls like this one, which is known.
  ECO_ON_EVERY_CALL bool is_open(const coll::CommonProblem& call) const;
  // The same, once for every call that is open: there may be time by now.
  ECO_ON_EVERY_CALL bool may_be_learned_again(const coll::CommonProblem& call);
  // Collective, inside the program's call that is not known yet: looks for a plan of calls like it or makes it within
  // `earned_s` and half of what Options::budget_s has beyond that (MeasurePolicy::never: it only looks), adds it to the table
  // and to what is remembered. Rank 0's `earned_s` counts.
  // Afterwards it is known. No message of an earlier call is under way then, since all ranks are in this one. Never
  // throws.
  Learned learn(transport::Native& native, const Options& options, const Identity& identity,
                const coll::CommonProblem& call, double earned_s = 0);
  // Local, the same on all ranks: collectives that follow a graph follow this one. Before they are learned.
  void follow(std::shared_ptr<const coll::Neighborhood> neighbors) { view_.neighbors = std::move(neighbors); }
  // Local, before the first call and the same on all ranks: collectives form around who is there (eco/late), where there
  // are tags for that. Only of run(). Throws Unsupported if this rank has no memory for it. Where it pays:
  // told by lateness.h, which may also let calls pass to the library: from then on every call that serves_this_call() is asked
  // about is begun by begin_call().
  void form_around_the_late(late::Plan plan, Forming when = Forming::always);
  bool forms_around_the_late() const { return late_.has_value(); }
  // Local, the same on all ranks: takes that back, before the first call.
  void stay_static();
  // Local, the same on all ranks: before the next call of this collective the ranks ask each other which way it goes.
  bool asks_who_is_late(coll::Collective collective) const {
    return lateness_ && lateness_of(collective).is_due();
  }
  // Local, the same on all ranks: those that come late so steadily that forms have them as low as may be.
  std::span<const int> planned_as_leaves(coll::Collective collective) const {
    return lateness_ ? lateness_of(collective).leaves() : std::span<const int>();
  }
  // Collective, inside the program's call, then. Throws TransportError where the library fails.
  void ask_who_is_late(transport::Native& native, coll::Collective collective);
  // Local, before the first call and the same on all ranks: recipes follow ambient traffic (ambient_watch.h). From then
  // on every call that serves_this_call() is asked about is begun by begin_call().
  void follow_ambient(Following when, NanosecondClock clock = now_ns);
  void ignore_ambient() { watch_.reset(); }
  bool follows_ambient() const { return watch_ != nullptr; }
  // Local, the same on all ranks: before the next begin_call() the ranks ask each other whether calls take longer.
  bool asks_about_ambient() const { return watch_ && watch_->is_due(); }
  // Collective, inside the program's call, then: maybe a look at the network. Throws TransportError where the library fails.
  void ask_about_ambient(transport::Native& native);
  // Local, the same on all ranks.
  ECO_ON_EVERY_CALL void begin_call(const coll::CommonProblem& problem);
  // Local: the call that was begun was the library's, and took this rank so long. run() notes its own.
  void note_passed(std::uint64_t nanoseconds) {
    const auto took_ns = static_cast<std::int64_t>(nanoseconds);
    if (passing_ != nullptr)
      end_passing(took_ns);
    else if (watch_)
      watch_->note_took(took_ns);
  }
  // Local: what looks found and what races showed, since it was last taken; likewise what the ways around late ranks took.
  std::vector<std::string> take_ambient_account() { return ambient_account_.take(); }
  std::vector<std::string> take_late_account() { return late_account_.take(); }
  // Local: null where nobody looks.
  const AmbientWatch* ambient_watch() const { return watch_.get(); }
  // Local: nothing is served by now, since the library's own collectives are as good. More may be learned.
  bool serves_nothing() const { return table_.is_all_native(); }

  // Local, integers only: the recipe for this problem, or nullptr for the native collective. Holds until learn().
  const algo::Recipe* serves(const coll::CommonProblem& problem) const;
  // The same for the call that was begun: while recipes are compared, each in its turn.
  ECO_ON_EVERY_CALL const algo::Recipe* serves_this_call(const coll::CommonProblem& problem) const;

  // Collective. `buffers` are ignored for a barrier. After a failure every later call fails too.
  [[nodiscard]] transport::Status run(const coll::CommonProblem& problem, const algo::Recipe& recipe,
                                      const exec::Buffers& buffers);

  // Local, the same on all ranks: did the last run form? Did it send to ranks unasked?
  bool last_formed() const { return last_formed_; }
  bool last_trusted() const { return last_trusted_; }
  // The same, of the call that was begun: does it pass to the library for its late ranks' sake?
  bool passes_this_call() const { return passing_ != nullptr; }
  // Local: what this rank sent to other subnets in the last run; of a call that forms, what its recipe would send.
  const sched::Crossing& last_crossing() const { return last_crossing_; }

  // Local: what runs beside other calls and is not run() by this object (preload/backend/background.h). Nothing
  // with native parts does: the library wants one order of their collectives on all ranks.
  struct Beside {
    std::shared_ptr<const sched::Schedule> schedule;
    std::uint64_t recipe_digest = 0;
    sched::Crossing crossing{};
  };
  Beside beside(const coll::CommonProblem& problem, const algo::Recipe& recipe);
  // Local: how many tags the largest call of any row uses, the same on all ranks until learn() or ask_about_ambient().
  // Calls of other lengths may use some more.
  int channels() const { return needs_.channels; }

  const net::GroupView& view() const { return view_; }
  const plan::PlanTable& table() const { return table_; }
  const exec::FlightRecorder& recorder() const { return running_->executor.recorder(); }
  // Local: what other communicators of the same ranks may take over. Throws std::bad_alloc.
  std::shared_ptr<const KnownGroup> known_group() const;
  // "network of 8 hosts measured 2026-11-21T02:00:00Z, remembered": for the line at exit.
  const std::string& provenance() const { return provenance_; }

 private:
  friend class Arming;
  Communicator(transport::Transport& transport, net::GroupView view, plan::PlanTable table);

  // A schedule as it was last built, so that repeated calls build nothing.
  struct Built {
    coll::CommonProblem problem;
    algo::Recipe recipe;
    std::shared_ptr<const sched::Schedule> schedule;
    std::uint64_t digest = 0;  // of the recipe, for the flight recorder
    sched::Crossing crossing;
    std::uint64_t last_use = 0;
    std::optional<late::Form> forming{};  // where it may form around who is there
    bool goes_other_ways = false;         // where lateness_ tells which
    double unskewed_s = 0;                // it takes, all ranks together; 0: not known
    double patience_s = 0;                // late::patience_s()
    double library_s = 0;                 // Communicator::library_s()
  };
  // What messages under way point into; outlives a failed run (abandoned.h).
  struct Running {
    explicit Running(transport::Transport& transport) : executor(transport) {}
    exec::Executor executor;
    std::unique_ptr<exec::ScheduleSource> source;  // of the last call that had one
    std::array<std::byte, coll::kBarrierTokenBytes> token{};
    std::array<std::byte, coll::kBarrierTokenBytes> all_tokens{};
  };
  const plan::Row* row_of(const coll::CommonProblem& call) const;
  // plan::Row::stands() of its row.
  bool stands(const coll::CommonProblem& call) const;
  bool may_be_served(const coll::CommonProblem& problem) const;
  ECO_ON_EVERY_CALL const algo::Recipe* served_by_table(const coll::CommonProblem& problem) const;
  const algo::Recipe* recipe_of(const coll::CommonProblem& problem, const AmbientWatch::Choice* choice) const;
  void account_for_race();
  void account_for_late(coll::Collective collective);
  void look_at_ambient(transport::Native& native);
  void race(Steps& steps);
  std::string contenders_text();
  const Built& built(const coll::CommonProblem& problem, const algo::Recipe& recipe);
  std::optional<late::Form> form_of(const algo::Recipe& recipe, const coll::CommonProblem& problem) const;
  void form(Built& call) const;
  void keep_forming_tags_off_rails();
  transport::Status run_forming(const Built& call, late::Form::Trust trust, const exec::Buffers& buffers);
  int take_tags(const Built& call);  // the first of them
  void note(Lateness& lateness, const Built& call, std::int64_t took_ns) const;
  void begin_passing(const coll::CommonProblem& problem);
  void end_passing(std::int64_t took_ns);
  bool waits_anyway(const coll::CommonProblem& problem) const;
  bool may_trust(const Built& call) const { return may_trust_ && call.forming && call.forming->may_trust(); }
  // What the library takes, all ranks together, where they may leave early there; 0: not known, or they may not.
  double library_s(const coll::CommonProblem& problem, const algo::Recipe& recipe) const;
  void forget_begins();  // what passed until now is none of the program's
  Lateness& lateness_of(coll::Collective collective) const {
    return (*lateness_)[static_cast<std::size_t>(collective)];
  }
  bool is_built(const coll::CommonProblem& problem, const algo::Recipe& recipe) const;
  // What one call may need of what all ranks have to have.
  struct Needs {
    int channels = 1;
    std::vector<coll::RankGroup> groups;  // whose collectives are steps of recipes
  };
  // Local: memory for every recipe of these entries at the largest size it serves. Throws Unsupported if there is not
  // enough of memory or tags. `needs` grows to what the recipes need.
  void reserve(const std::vector<plan::Entry>& entries, Needs& needs);
  void reserve(const coll::CommonProblem& problem, const algo::Recipe& recipe, Needs& needs);
  void check_tags(const Needs& needs) const;
  void note_not_remembered(const std::string& failure);
  void know_what_stands(const plan::PlanTable& table);
  void serve_nothing_more();
  // Collective: what `reserve` finds to be needed, of channels as many as any rank needs. `measuring_s`, if it is given, becomes
  // the largest of all ranks'. Throws StaysNative on all alike.
  static Needs agree(Steps& steps, const std::function<void(Needs&)>& reserve, double* measuring_s = nullptr);
  // Collective: tags and groups for all that was reserved. Throws StaysNative on all alike.
  void provide(Steps& steps, Needs needs);
  // Collective: one of this table on all ranks, its resources reserved. Throws StaysNative on all alike.
  static std::unique_ptr<Communicator> reserved(Steps& steps, transport::Transport& transport,
                                                const net::GroupView& view, plan::PlanTable table,
                                                double& measuring_s);

  transport::Transport& transport_;
  net::GroupView view_;
  plan::PlanTable table_;
  std::shared_ptr<Running> running_;
  KnownCells known_;
  std::array<Pace, coll::kCollectives> again_{};  // of calls that there was no time to plan
  std::string provenance_;
  std::vector<Built> built_;
  Needs needs_;
  int next_tag_ = 0;  // of what run() starts
  std::uint64_t calls_ = 0;
  std::optional<late::Plan> late_;
  std::unique_ptr<std::vector<Lateness>> lateness_;  // where it decides who forms
  Account late_account_;
  std::unique_ptr<AmbientWatch> watch_;
  NanosecondClock watch_clock_;
  Account ambient_account_;
  std::vector<std::string> racing_;  // contenders, in the order of AmbientWatch::raced()
  // The last tags of the transport are for calls that form, of which broadcasts receive from anybody: no other call's messages
  // may meet those receives.
  int n_forming_tags_ = 0;
  int n_forming_turns_ = 0;
  bool may_trust_ = false;
  std::uint64_t forming_calls_ = 0;
  sched::Crossing last_crossing_;
  bool last_formed_ = false;
  bool last_trusted_ = false;
  Lateness* passing_ = nullptr;  // who lets the call that was begun pass to the library
  bool passing_waits_ = false;   // and it keeps this rank in it until all have come
  bool poisoned_ = false;
};

struct ArmResult {
  std::unique_ptr<Communicator> communicator;  // null: this group stays native
  std::string reason;            // why it, or all that was asked for, stays native; on every rank the same
  double seconds_measuring = 0;  // taken from the job's budget, on every rank the same
  // The network that was found, whatever became of the rest; without a network in it, none was. The same on all ranks.
  net::GroupView view;
  // Arming ended by an error or a disagreement; else nobody wanted or allowed more, or the library is as good
  // (Communicator::serves_nothing()).
  bool failed = false;
  // What the budget leaves did not suffice for measuring the network; more of it may.
  bool wants_time = false;
};

// Why communicators are left as they are: the plan found nothing to gain.
inline constexpr const char* kAsGood = "the library's own collectives are as good wherever measured";

// What networks measured over this transport are remembered under: "Open MPI 5.0.11 point-to-point".
std::string transport_name(const transport::Native& native, const transport::Transport& transport);
std::string transport_name(const transport::Native& native);  // over its own messages
// What plans beside this library are remembered under: "Open MPI 5.0.11", and where not its own messages carry recipes
// these too.
std::string library_name(const transport::Native& native, const transport::Transport& transport);

// Host of each rank in this network; by all four parts of the identity, or, for a file given by hand (`by_name`), by
// the name where the rest has changed since. Throws InvalidArgument naming the rank and host that is not in it.
std::vector<int> hosts_of_ranks(const net::Network& network, const std::vector<net::HostId>& identities,
                                bool by_name);

}  // namespace eco::runtime
