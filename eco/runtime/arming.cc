// How a group comes to its plan table, in steps that all ranks take together:
//
//   check       same version and options everywhere
//   identities  who sits on which host
//   network     from a file, from the store, or measured now, and its rails (finding.h)
//   plan        of the collectives asked for, from a file, from the store, or made now by trials (planning.h)
//   reserve     memory and tags for everything the plan may run
//
// A collective that a program calls later for the first time is learned: plan and reserve again, for it alone.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "eco/base/errors.h"
#include "eco/base/json_file.h"
#include "eco/plan/planner.h"
#include "eco/runtime/communicator.h"
#include "eco/runtime/finding.h"
#include "eco/runtime/planning.h"
#include "eco/runtime/steps.h"

namespace eco::runtime {
namespace {

using coll::Collective;

// Of what is then left of a job's budget, the part of the collectives that are planned together: the one that a program
// calls first need not be the one that it spends its time in.
constexpr double kCollectivesShare = 0.5;

template <std::size_t kRoom>
void put(std::array<char, kRoom>& room, const std::string& text) {
  const std::string fitting = text.size() < kRoom ? text : base::digest(text);
  std::memcpy(room.data(), fitting.data(), fitting.size());
}

template <std::size_t kRoom>
std::string get(const std::array<char, kRoom>& room) {
  return {room.data(), ::strnlen(room.data(), kRoom)};
}

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
  Arming(transport::Transport& transport, transport::Native& native, const Options& options,
         const Identity& identity, const ArmRequest& request)
      : transport_(transport),
        native_(native),
        options_(options),
        identity_(identity),
        request_(request),
        steps_(native, transport.rank(), transport.n_ranks()) {}

  ArmResult run() {
    ArmResult result;
    try {
      check();
      const std::vector<net::HostId> hosts = identities();
      FoundView found = find_view(steps_, transport_, native_, options_, hosts, request_, measuring_s_);
      const net::GroupView view = result.view = found.view;
      if (request_.network_only) throw StaysNative{"only the network was asked for"};
      FoundPlan plan = find_plan_in(found);
      leave_out_disabled(plan.table, options_);
      if (plan.table.is_all_native()) result.reason = kAsGood;
      result.communicator = reserved(view, plan);
      result.communicator->provenance_ = std::move(plan.source);
    } catch (const StaysNative& native) {
      result.reason = native.reason;
      result.failed = native.failed;
      result.wants_time = native.wants_time;
    }
    result.seconds_measuring = steps_.agreement().largest(measuring_s_);
    return result;
  }

 private:
  // One rank's identity in fixed room. Longer texts (nobody's host is called so) are kept as their digest.
  struct IdentityRecord {
    std::array<char, 128> name{};
    std::array<char, 64> address{};
    std::array<char, 64> boot_id{};
    std::array<char, 64> net_namespace{};
  };

  void check() {
    if (steps_.n_ranks() < 2) throw StaysNative{"one rank has nobody to talk to"};
    const std::string version = identity_.version + " plans " + std::to_string(plan::kPlanEpoch);
    const std::string asked = std::to_string(options_.agreed_digest()) + (request_.plan_anew ? "anew" : "") +
                              std::string(plan::name(request_.effort)) + names(request_.collectives) +
                              call_text();
    // In as many words in every build, as whoever has another one knows nothing of the rest. A rank without memory for the
    // identities has options like nobody's.
    bool has_room = true;
    try {
      identities_.resize(static_cast<std::size_t>(steps_.n_ranks()));
    } catch (const std::exception&) {
      has_room = false;
    }
    const std::uint64_t options = std::stoull(base::digest(asked), nullptr, 16);
    const std::uint64_t nobodys = options + 1 + static_cast<std::uint64_t>(steps_.rank());
    const auto [same_version, same_options] = steps_.agreement().equal(
        std::stoull(base::digest(version), nullptr, 16), has_room ? options : nobodys);
    if (!same_version) {
      throw StaysNative{"ranks run different versions of ECO; install the same everywhere", true};
    }
    if (!same_options) {
      steps_.together("", [&] {
        if (!has_room) throw Unsupported("no memory to learn who the ranks are");
      });
      throw StaysNative{"ranks have different ECO_ options; set the same on all nodes", true};
    }
    if (options_.mode == Mode::off) throw StaysNative{"ECO=off"};
    if (options_.mode == Mode::observe) throw StaysNative{"ECO=observe"};
  }

  std::vector<net::HostId> identities() {
    IdentityRecord mine;
    put(mine.name, identity_.host.name);
    put(mine.address, identity_.host.address);
    put(mine.boot_id, identity_.host.boot_id);
    put(mine.net_namespace, identity_.host.net_namespace);
    native_.allgather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(identities_)));
    std::vector<net::HostId> hosts;
    steps_.alone("", [&] {
      for (const IdentityRecord& record : identities_) {
        hosts.push_back(
            {get(record.name), get(record.address), get(record.boot_id), get(record.net_namespace)});
      }
    });
    identities_ = {};
    return hosts;
  }

  FoundPlan find_plan_in(FoundView& found) {
    const bool all = request_.collectives.empty();
    PlanRequest request{
        .collectives = all ? coll::all_collectives() : request_.collectives,
        .anew = request_.plan_anew,
        .effort = request_.effort,
        .sizes = request_.sizes,
        .call = request_.call,
        .network = std::move(found.provenance),
        .most_s = options_.budget_s > 0 ? most_s_of(options_, measuring_s_, all) : request_.offline_s,
        .progress = request_.progress};
    leave_out_disabled(request.collectives, options_, [](Collective collective) { return collective; });
    return find_plan(steps_, transport_, native_, found.view, options_, identity_.version, request,
                     measuring_s_);
  }

  std::unique_ptr<Communicator> reserved(const net::GroupView& view, FoundPlan& plan) {
    auto communicator = Communicator::reserved(steps_, transport_, view, std::move(plan.table));
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

  transport::Transport& transport_;
  transport::Native& native_;
  const Options& options_;
  const Identity& identity_;
  const ArmRequest& request_;
  Steps steps_;
  std::vector<IdentityRecord> identities_;  // room for all ranks'
  double measuring_s_ = 0;
};

ArmResult Communicator::arm(transport::Transport& transport, transport::Native& native,
                            const Options& options, const Identity& identity, const ArmRequest& request) {
  try {
    return Arming(transport, native, options, identity, request).run();
  } catch (const std::exception& error) {
    // Where the native library itself failed, so that nothing can be agreed through it any more.
    return failure(error);
  }
}

std::unique_ptr<Communicator> Communicator::reserved(Steps& steps, transport::Transport& transport,
                                                     const net::GroupView& view, plan::PlanTable table) {
  std::unique_ptr<Communicator> communicator;
  Needs needs = agree(steps, [&](Needs& here) {
    communicator.reset(new Communicator(transport, view, std::move(table)));
    communicator->reserve(communicator->table_.entries, here);
  });
  communicator->provide(steps, std::move(needs));
  return communicator;
}

Communicator::Needs Communicator::agree(Steps& steps, const std::function<void(Needs&)>& reserve) {
  Needs needs;
  std::int64_t fewest = 0;  // channels, and less than nothing: the least of all ranks' is then the most
  steps.together(
      "",
      [&] {
        reserve(needs);
        fewest = -needs.channels;
      },
      std::span(&fewest, 1));
  needs.channels = static_cast<int>(-fewest);
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
    result.communicator = reserved(steps, transport, known.view, known.table);
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
      Needs needs = agree(steps, [&](Needs& here) {
        here = needs_;
        reserve(found.table.entries, here);
      });
      provide(steps, std::move(needs));
      if (found.table.is_all_native()) learned.reason = kAsGood;
      know_what_stands(found.table);
      table_.take(found.table);
      built_.clear();  // what is built asks the table what it takes
    } catch (const StaysNative& stays) {
      learned.reason = stays.reason;
      if (stays.transport_lost) serve_nothing_more();
    }
    learned.seconds_measuring = steps.agreement().largest(learned.seconds_measuring);
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
