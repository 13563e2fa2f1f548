// How a group comes to its plan table, in steps that all ranks take together:
//
//   check       same version and options everywhere, a transport and memory on every rank
//   identities  who sits on which host
//   network     from a file, from the store, or measured now, and its rails (finding.h)
//   plan        of the collectives asked for, from a file, from the store, or made now by trials (planning.h)
//   reserve     memory and tags for everything the plan may run
//
// Where network and plan are remembered that is six exchanges: one each, but three in which rank 0 tells both.
//
// A collective that a program calls later for the first time is learned: plan and reserve again, for it alone.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "eco/base/errors.h"
#include "eco/base/json_file.h"
#include "eco/plan/planner.h"
#include "eco/runtime/communicator.h"
#include "eco/runtime/finding.h"
#include "eco/runtime/identities.h"
#include "eco/runtime/planning.h"
#include "eco/runtime/steps.h"

namespace eco::runtime {
namespace {

using coll::Collective;

// Of what is then left of a job's budget, the part of the collectives that are planned together: the one that a program
// calls first need not be the one that it spends its time in.
constexpr double kCollectivesShare = 0.5;
constexpr double kNanosecondsPerSecond = 1e9;

double most_s_of(const Options& options, double spent_s, bool all) {
  return (all ? 1.0 : kCollectivesShare) * std::max(0.0, options.budget_s - spent_s);
}

std::string names(const std::vector<Collective>& collectives) {
  std::string text;
  for (const Collective collective : collectives) text += std::string(coll::name(collective)) + ",";
  return text;
}

// What this job does not run is not in its table, and is not planned by it.
template <class List, class CollectiveOf>
void leave_out_disabled(List& list, const Options& options, const CollectiveOf& collective_of) {
  std::erase_if(list, [&](const auto& each) { return options.is_disabled(coll::name(collective_of(each))); });
}
void leave_out_disabled(plan::PlanTable& table, const Options& options) {
  leave_out_disabled(table.entries, options, [](const plan::Entry& entry) { return entry.collective; });
}

ArmResult failure(const std::exception& error) {
  ArmResult result;
  result.reason = std::string("arming failed: ") + error.what();
  result.failed = true;
  return result;
}

}  // namespace

class Arming {
 public:
  Arming(Steps& steps, transport::Native& native, const Options& options, const Identity& identity,
         const ArmRequest& request)
      : steps_(steps), native_(native), options_(options), identity_(identity), request_(request) {}

  ArmResult run(const OpenTransport& open) {
    ArmResult result;
    try {
      check(open);
      const std::vector<net::HostId> hosts = tell_identities(steps_, native_, identity_.host, room_);
      // A remembered plan comes with the remembered network.
      std::optional<FoundPlan> plan;
      SaidBeside beside{.on_rank_0 = [&](const FoundView& seen) { return plan_to_tell(seen); },
                        .take = [&](const std::string& text) { plan = told_plan(text); }};
      const FoundView found =
          find_view(steps_, *transport_, native_, options_, hosts, request_, beside, measuring_s_);
      result.view = found.view;
      if (request_.network_only) throw StaysNative{"only the network was asked for"};
      if (!beside.holds)
        plan = find_plan(steps_, *transport_, native_, found.view, options_, identity_.version,
                         plan_request(found), measuring_s_);
      leave_out_disabled(plan->table, options_);
      if (plan->table.is_all_native()) result.reason = kAsGood;
      result.communicator = reserved(found.view, *plan);
      result.communicator->provenance_ = std::move(plan->source);
    } catch (const StaysNative& native) {
      result.reason = native.reason;
      result.failed = native.failed;
      result.wants_time = native.wants_time;
      measuring_s_ = steps_.agreement().largest(measuring_s_);
    }
    result.seconds_measuring = measuring_s_;
    return result;
  }

 private:
  void check(const OpenTransport& open) {
    if (steps_.n_ranks() < 2) throw StaysNative{"one rank has nobody to talk to"};
    const std::string version = identity_.version + " plans " + std::to_string(plan::kPlanEpoch);
    steps_.alone("", [&] {
      transport_ = &open();
      room_.make(steps_.n_ranks());
    });
    const std::string asked = std::to_string(options_.agreed_digest()) + (request_.plan_anew ? "anew" : "") +
                              std::string(plan::name(request_.effort)) + names(request_.collectives) +
                              call_text();
    // In as many words in every build, as whoever has another one knows nothing of the rest. A rank without what it needs
    // has options like nobody's.
    const std::uint64_t options = std::stoull(base::digest(asked), nullptr, 16);
    const std::uint64_t nobodys = options + 1 + static_cast<std::uint64_t>(steps_.rank());
    const auto [same_version, same_options] = steps_.agreement().equal(
        std::stoull(base::digest(version), nullptr, 16), steps_.has_met() ? nobodys : options);
    if (!same_version) {
      throw StaysNative{"ranks run different versions of ECO; install the same everywhere", true};
    }
    if (!same_options) {
      steps_.together("", [] {});  // which says what such a rank lacks
      throw StaysNative{"ranks have different ECO_ options; set the same on all nodes", true};
    }
    if (options_.mode == Mode::off) throw StaysNative{"ECO=off"};
    if (options_.mode == Mode::observe) throw StaysNative{"ECO=observe"};
  }

  PlanRequest plan_request(const FoundView& found) const {
    const bool all = request_.collectives.empty();
    PlanRequest request{
        .collectives = all ? coll::all_collectives() : request_.collectives,
        .anew = request_.plan_anew,
        .effort = request_.effort,
        .sizes = request_.sizes,
        .call = request_.call,
        .network = found.provenance,
        .most_s = options_.budget_s > 0 ? most_s_of(options_, measuring_s_, all) : request_.offline_s,
        .progress = request_.progress};
    leave_out_disabled(request.collectives, options_, [](Collective collective) { return collective; });
    return request;
  }

  // Rank 0.
  std::string plan_to_tell(const FoundView& seen) {
    if (request_.network_only) return {};
    return runtime::plan_to_tell(steps_, *transport_, native_, seen.view, options_, identity_.version,
                                 plan_request(seen));
  }

  std::unique_ptr<Communicator> reserved(const net::GroupView& view, FoundPlan& plan) {
    auto communicator =
        Communicator::reserved(steps_, *transport_, view, std::move(plan.table), measuring_s_);
    for (const Collective collective : coll::all_collectives()) {
      // What is disabled, or not in a plan by hand, is not to be learned.
      if (plan.by_hand || options_.is_disabled(coll::name(collective)))
        communicator->known_.add_all(collective);
    }
    communicator->know_what_stands(communicator->table_);
    const bool all = request_.collectives.empty();
    for (const Collective collective : all ? coll::all_collectives() : request_.collectives) {
      if (!request_.call || collective == Collective::barrier) communicator->known_.add_all(collective);
    }
    // Where its own row stands, that says nothing of longer calls of its class.
    if (request_.call && !communicator->stands(*request_.call))
      communicator->known_.add(*request_.call, plan::root_subnet(*request_.call, view));
    return communicator;
  }

  std::string call_text() const {
    if (!request_.call) return "";
    return " " + std::to_string(request_.call->bytes) + " " + std::to_string(request_.call->root);
  }

  Steps& steps_;
  transport::Native& native_;
  const Options& options_;
  const Identity& identity_;
  const ArmRequest& request_;
  transport::Transport* transport_ = nullptr;  // as soon as it is open
  IdentityRoom room_;
  double measuring_s_ = 0;  // from reserved() on the largest of all ranks
};

ArmResult Communicator::arm(transport::Transport& transport, transport::Native& native,
                            const Options& options, const Identity& identity, const ArmRequest& request) {
  Steps steps(native, transport.rank(), transport.n_ranks());
  const auto open = [&]() -> transport::Transport& { return transport; };
  return arm(steps, native, open, options, identity, request);
}

ArmResult Communicator::arm(Steps& steps, transport::Native& native, const OpenTransport& open,
                            const Options& options, const Identity& identity, const ArmRequest& request) {
  try {
    return Arming(steps, native, options, identity, request).run(open);
  } catch (const std::exception& error) {
    // Where the native library itself failed, so that nothing can be agreed through it any more.
    return failure(error);
  }
}

std::unique_ptr<Communicator> Communicator::reserved(Steps& steps, transport::Transport& transport,
                                                     const net::GroupView& view, plan::PlanTable table,
                                                     double& measuring_s) {
  std::unique_ptr<Communicator> communicator;
  const auto reserve = [&](Needs& here) {
    communicator.reset(new Communicator(transport, view, std::move(table)));
    communicator->reserve(communicator->table_.entries, here);
  };
  Needs needs = agree(steps, reserve, &measuring_s);
  communicator->provide(steps, std::move(needs));
  return communicator;
}

Communicator::Needs Communicator::agree(Steps& steps, const std::function<void(Needs&)>& reserve,
                                        double* measuring_s) {
  Needs needs;
  // Channels and nanoseconds, both less than nothing: the least of all ranks' is then the most.
  std::array<std::int64_t, 2> least = {0, 0};
  if (measuring_s != nullptr) least[1] = -std::llround(kNanosecondsPerSecond * *measuring_s);
  steps.together(
      "",
      [&] {
        reserve(needs);
        least[0] = -needs.channels;
      },
      least);
  needs.channels = static_cast<int>(-least[0]);
  if (measuring_s != nullptr) *measuring_s = static_cast<double>(-least[1]) / kNanosecondsPerSecond;
  return needs;
}

void Communicator::provide(Steps& steps, Needs needs) {
  if (!needs.groups.empty()) {  // on all ranks the same: they follow from the table and the view
    const bool opened = transport_.open_groups(needs.groups);
    steps.together("", [&] {
      if (!opened) throw Unsupported("the library has no communicators for the islands of the plan");
    });
  }
  transport_.close_groups_but(needs.groups);  // those of trials that lost
  needs_ = std::move(needs);
}

// Rows that are not open.
void Communicator::know_what_stands(const plan::PlanTable& table) {
  for (const plan::Entry& entry : table.entries) {
    if (entry.root_subnet >= view_.n_subnets()) continue;
    for (const std::size_t bytes : plan::sizes_in_job()) {
      const plan::Row* const row = table.find_row(entry.collective, entry.root_subnet, bytes);
      if (row != nullptr && !row->open)
        known_.add({.collective = entry.collective, .bytes = bytes}, entry.root_subnet);
    }
  }
}

ArmResult Communicator::arm_known(transport::Transport& transport, transport::Native& native,
                                  const KnownGroup& known) {
  ArmResult result;
  try {
    Steps steps(native, transport.rank(), transport.n_ranks());
    result.communicator = reserved(steps, transport, known.view, known.table, result.seconds_measuring);
    result.communicator->known_ = known.planned;
    result.communicator->provenance_ = known.provenance;
    if (result.communicator->serves_nothing()) result.reason = kAsGood;
  } catch (const StaysNative& stays) {
    result.reason = stays.reason;
    result.failed = stays.failed;
  } catch (const std::exception& error) {
    result = failure(error);
  }
  return result;
}

// Once: the next call that is learned meets with the same, or arming has already.
void Communicator::note_not_remembered(const std::string& failure) {
  static constexpr const char* kNot = " not remembered: ";
  if (provenance_.find(kNot) == std::string::npos)
    provenance_ += "; what was planned since is" + (kNot + failure);
}

Learned Communicator::learn(transport::Native& native, const Options& options, const Identity& identity,
                            const coll::CommonProblem& call, double earned_s) {
  Learned learned;
  // What follows a graph is planned as a whole: its ranks come here by what they all know, the collective
  // alone, since libraries let parts that no edge joins differ in their bytes (docs/adr/0016).
  const bool is_whole = coll::follows_graph(call.collective);
  if (is_whole) {
    known_.add_all(call.collective);
  } else {
    known_.add(call, plan::root_subnet(call, view_));
  }
  Steps steps(native, transport_.rank(), transport_.n_ranks());
  try {
    try {
      const PlanRequest request{.collectives = {call.collective},
                                .anew = false,
                                .effort = plan::Effort::job,
                                .sizes = {},
                                .call = is_whole ? std::nullopt : std::optional(call),
                                .present = &table_,
                                .most_s = earned_s + most_s_of(options, earned_s, false),
                                .progress = {}};
      FoundPlan found = find_plan(steps, transport_, native, view_, options, identity.version, request,
                                  learned.seconds_measuring);
      // A plan by hand comes whole; what this group knows stays as it is.
      std::erase_if(found.table.entries, [&](const plan::Entry& entry) {
        return entry.collective != call.collective && table_.knows(entry.collective);
      });
      leave_out_disabled(found.table, options);
      const auto reserve_more = [&](Needs& here) {
        here = needs_;
        reserve(found.table.entries, here);
      };
      Needs needs = agree(steps, reserve_more, &learned.seconds_measuring);
      provide(steps, std::move(needs));
      if (found.table.is_all_native()) learned.reason = kAsGood;
      if (!found.not_remembered.empty()) note_not_remembered(found.not_remembered);
      know_what_stands(found.table);
      table_.take(found.table);
      built_.clear();  // what is built asks the table what it takes
      if (lateness_) lateness_of(call.collective).begin_anew();
    } catch (const StaysNative& stays) {
      learned.reason = stays.reason;
      if (stays.transport_lost) serve_nothing_more();
      learned.seconds_measuring = steps.agreement().largest(learned.seconds_measuring);
    }
  } catch (const std::exception& error) {
    // As in arm(): nothing can be agreed any more.
    learned.reason = std::string("learning failed: ") + error.what();
    serve_nothing_more();
  }
  keep_forming_tags_off_rails();
  forget_begins();
  return learned;
}

}  // namespace eco::runtime
