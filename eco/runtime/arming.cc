// How a group comes to its plan table, in steps that all ranks take together:
//
//   check       same version and options everywhere
//   identities  who sits on which host
//   network     from a file, from the store, or measured now; rank 0 decides, all parse the same text. A remembered
//               one is looked after first (measure/sentinels.h); of what is missing or has changed, only that is measured
//   rails       where the transport has several, and they are not known: measured now (measure/rails.h)
//   plan        of the collectives asked for, from a file, from the store, or made now by trials (planning.h)
//   reserve     memory and tags for everything the plan may run
//
// A collective that a program calls later for the first time is learned: plan and reserve again, for it alone.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <ctime>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "eco/base/errors.h"
#include "eco/base/json_file.h"
#include "eco/measure/characterize.h"
#include "eco/measure/rails.h"
#include "eco/measure/sentinels.h"
#include "eco/net/io.h"
#include "eco/net/store.h"
#include "eco/runtime/communicator.h"
#include "eco/runtime/planning.h"
#include "eco/runtime/rails.h"
#include "eco/runtime/steps.h"

namespace eco::runtime {
namespace {

using coll::Collective;

// Of a job's budget: the network's part. Trials get what is left, and they are what decides.
constexpr double kNetworkShare = 0.5;
// The partition's large reference size. Below it shapers let a message pass on credit and a slow link looks like a fast
// one: a network measured with less serves the job that had no time for more, and is not remembered for others.
constexpr std::size_t kReliableBytes = 16384;
// Of what is then left of a job's budget, the part of the collectives that are planned together: the one that a program
// calls first need not be the one that it spends its time in.
constexpr double kCollectivesShare = 0.5;

// One rank's identity in fixed room. Longer texts (nobody's host is called so) are kept as their digest.
struct IdentityRecord {
  std::array<char, 128> name{};
  std::array<char, 64> address{};
  std::array<char, 64> boot_id{};
  std::array<char, 64> net_namespace{};
};

template <std::size_t kRoom>
void put(std::array<char, kRoom>& room, const std::string& text) {
  const std::string fitting = text.size() < kRoom ? text : base::digest(text);
  std::memcpy(room.data(), fitting.data(), fitting.size());
}

template <std::size_t kRoom>
std::string get(const std::array<char, kRoom>& room) {
  return {room.data(), ::strnlen(room.data(), kRoom)};
}

std::string now_iso8601() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
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
        steps_(native, transport.rank(), transport.n_ranks()),
        clock_(measure::monotonic_clock()),
        store_(options.cache_dir, options.site_dir) {}

  ArmResult run() {
    ArmResult result;
    try {
      check();
      const std::vector<net::HostId> hosts = identities();
      const net::GroupView view = result.view = find_view(hosts);
      if (request_.network_only) throw StaysNative{"only the network was asked for"};
      FoundPlan plan = find_plan_in(view);
      leave_out_disabled(plan.table, options_);
      provenance_ = steps_.agreement().share(provenance_ + "; " + plan.source);
      if (plan.table.is_all_native()) result.reason = kAsGood;
      result.communicator = reserved(view, plan);
      result.communicator->provenance_ = provenance_;
    } catch (const StaysNative& native) {
      result.reason = native.reason;
      result.failed = native.failed;
    }
    result.seconds_measuring = steps_.agreement().largest(measuring_s_);
    return result;
  }

 private:
  void check() {
    if (steps_.n_ranks() < 2) throw StaysNative{"one rank has nobody to talk to"};
    const std::string version = identity_.version + " plans " + std::to_string(plan::kPlanEpoch);
    const std::string asked = std::to_string(options_.agreed_digest()) + (request_.plan_anew ? "anew" : "") +
                              std::string(plan::name(request_.effort)) + names(request_.collectives);
    const auto [same_version, same_options] = steps_.agreement().equal(
        std::stoull(base::digest(version), nullptr, 16), std::stoull(base::digest(asked), nullptr, 16));
    if (!same_version) {
      throw StaysNative{"ranks run different versions of ECO; install the same everywhere", true};
    }
    if (!same_options) {
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
    std::vector<IdentityRecord> all;
    steps_.together("", [&] { all.resize(static_cast<std::size_t>(steps_.n_ranks())); });
    native_.allgather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
    std::vector<net::HostId> hosts;
    steps_.together("", [&] {
      for (const IdentityRecord& record : all) {
        hosts.push_back(
            {get(record.name), get(record.address), get(record.boot_id), get(record.net_namespace)});
      }
    });
    return hosts;
  }

  net::GroupView find_view(const std::vector<net::HostId>& hosts) {
    const std::string transport = transport_name(native_, transport_);
    std::string source;
    const auto [found, found_text] = steps_.look("", [&]() -> std::pair<Found, std::string> {
      if (!options_.network_file.empty()) {
        const net::Network network = net::load_network(options_.network_file);
        hosts_of_ranks(network, hosts, true);
        source = options_.network_file;
        return {Found::by_hand, net::to_json(network.without_samples())};
      }
      const net::FoundNetwork remembered = store_.find_network(hosts, transport);
      if (remembered.network) {
        source = "remembered";
        remembered_ = *remembered.network;
        const bool looks = looks_after(hosts) && options_.measure == MeasurePolicy::automatic;
        return {looks ? Found::doubtful : Found::text, net::to_json(remembered_.without_samples())};
      }
      if (options_.measure == MeasurePolicy::never) {
        return {Found::nothing,
                remembered.reason + ", and measuring is not allowed or its budget is used up"};
      }
      return {Found::measure, {}};
    });
    if (found == Found::nothing) throw StaysNative{found_text};
    const std::vector<int> moved = found == Found::doubtful ? moved_hosts(hosts) : std::vector<int>();
    net::Network network;
    if (found == Found::measure || !moved.empty()) {
      network = measured_network(hosts, moved, transport, source);
    }
    steps_.together("", [&] {
      if (network.hosts.empty()) network = net::parse_network(found_text, "the network");
    });
    if (found != Found::by_hand) look_for_rails(network, hosts, source);
    net::GroupView view;
    steps_.together("", [&] {
      source += fit_rails(network, transport_);
      const std::vector<int> host_of_rank = hosts_of_ranks(network, hosts, found == Found::by_hand);
      view = net::make_view(std::make_shared<const net::Network>(std::move(network)), host_of_rank);
      provenance_ = "network of " + std::to_string(view.network->n_hosts()) + " hosts measured " +
                    view.network->measured_at + ", " + source;
    });
    return view;
  }

  // Only where they are not known of these hosts' network. What is found is remembered with it.
  void look_for_rails(net::Network& network, const std::vector<net::HostId>& hosts, std::string& source) {
    if (knows_rails(network, transport_)) return;
    if (options_.measure != MeasurePolicy::automatic) {
      source += ", its rails not measured";
      return;
    }
    const double start_s = clock_();
    measure::MeasuredRails measured;
    std::optional<std::string> reason;
    try {
      measured = measure::measure_rails(transport_, native_, network,
                                        {.host_of_rank = hosts, .in_job = options_.budget_s > 0});
    } catch (const Error& error) {  // on all ranks alike
      reason = error.what();
    }
    const double took_s = clock_() - start_s;
    measuring_s_ += took_s;
    if (reason) {
      transport_.choose_rails({});
      source += ", without rails: " + *reason;
      return;
    }
    steps_.together("measuring the rails: ", [&] {
      measure::add_rails(network, transport_.rail_names(), measured);
      source += ", its rails measured in this job in " + seconds_text(took_s);
      if (steps_.rank() != 0 || remembered_.hosts != network.hosts) return;
      remembered_.rails = network.rails;
      remembered_.more_rails = network.more_rails;
      remember(remembered_, false, source);
    });
  }

  // Rank 0's business, as all that is remembered.
  bool looks_after(const std::vector<net::HostId>& hosts) const {
    return options_.sentinels && !(request_.job != nullptr && request_.job->has_looked_after(hosts));
  }

  // Local. Other communicators of these hosts, whichever rank is first in them, need not look again.
  void have_looked_after(const std::vector<net::HostId>& hosts) const {
    if (request_.job != nullptr) request_.job->looked_after(hosts);
  }

  // Hosts of the remembered network that are not where they were; every rank learns the same ones, or none.
  std::vector<int> moved_hosts(const std::vector<net::HostId>& hosts) {
    measure::SentinelOptions how;
    steps_.together("", [&] {
      if (steps_.rank() != 0 || !looks_after(hosts)) return;  // nobody is asked then
      how.host_of_rank = hosts_of_ranks(remembered_, hosts, false);
      how.seed = static_cast<unsigned>(std::chrono::steady_clock::now().time_since_epoch().count());
    });
    const double start_s = clock_();
    std::vector<int> moved;
    std::optional<std::string> reason;
    try {
      moved = measure::find_moved(transport_, native_, remembered_, how);  // throws on all ranks alike
    } catch (const std::exception& error) {
      reason = error.what();
    }
    measuring_s_ += clock_() - start_s;
    steps_.together("looking after the remembered network: ", [&] {
      if (reason) throw Error(*reason);
      have_looked_after(hosts);
    });
    return moved;
  }

  // Rank 0: what needs no measuring, as far as it is remembered.
  std::vector<net::KnownPair> known_pairs(const std::vector<net::HostId>& hosts,
                                          const std::vector<int>& moved, const std::string& transport) const {
    std::vector<net::KnownPair> known = store_.known_pairs(hosts, transport);
    const auto has_moved = [&](const net::HostId& host) {
      return std::any_of(moved.begin(), moved.end(),
                         [&](int each) { return remembered_.hosts[static_cast<std::size_t>(each)] == host; });
    };
    std::erase_if(known, [&](const net::KnownPair& pair) { return has_moved(pair.a) || has_moved(pair.b); });
    return known;
  }

  // Where hosts have moved, in place of what was remembered.
  net::Network measured_network(const std::vector<net::HostId>& hosts, std::vector<int> moved,
                                const std::string& transport, std::string& source) {
    const double before_s = measuring_s_;
    net::Network network = characterized(hosts, moved, transport);
    if (moved.empty() && !network.note.empty()) {
      // Put together from what other jobs measured: that is looked after like a network that is remembered as a whole.
      steps_.together("", [&] {
        if (steps_.rank() == 0) remembered_ = network;
      });
      moved = moved_hosts(hosts);
      if (!moved.empty()) network = characterized(hosts, moved, transport);
    }
    source = "measured in this job in " + seconds_text(measuring_s_ - before_s);
    if (!network.note.empty()) source += " (" + network.note + ")";
    if (!moved.empty()) source += ", because " + std::to_string(moved.size()) + " hosts are elsewhere now";
    steps_.together("", [&] {
      if (steps_.rank() != 0) return;
      remember(network, !moved.empty(), source);
      remembered_ = network;
    });
    return network.without_samples();
  }

  // Rank 0.
  void remember(const net::Network& network, bool instead, std::string& source) const {
    if (network.n_hosts() > 1 && network.largest_size() < kReliableBytes) {
      source += ", not remembered: the budget was enough for messages up to " +
                std::to_string(network.largest_size()) + " bytes only; measure once with eco characterize";
      return;
    }
    const net::Remembered kept = store_.remember_network(network, instead);
    if (kept.failure) source += ", not remembered: " + *kept.failure;
    if (kept.site_failure) source += ", not in the site directory: " + *kept.site_failure;
  }

  net::Network characterized(const std::vector<net::HostId>& hosts, const std::vector<int>& moved,
                             const std::string& transport) {
    measure::CharacterizeOptions how;
    how.host_of_rank = hosts;
    how.transport = transport;
    how.measured_at = now_iso8601();
    how.budget_s = kNetworkShare * options_.budget_s;
    how.progress = request_.progress;
    steps_.together("", [&] {
      if (steps_.rank() == 0) how.known = known_pairs(hosts, moved, transport);
    });
    const double start_s = clock_();
    net::Network network;
    std::optional<std::string> reason;
    try {
      network = measure::characterize(transport_, native_, how);  // throws on all ranks alike
    } catch (const std::exception& error) {
      reason = error.what();
    }
    measuring_s_ += clock_() - start_s;
    steps_.together("measuring the network: ", [&] {
      if (reason) throw Error(*reason);
      if (network.note.empty()) have_looked_after(hosts);  // else some pairs were only remembered
    });
    return network;
  }

  FoundPlan find_plan_in(const net::GroupView& view) {
    const bool all = request_.collectives.empty();
    PlanRequest request{
        .collectives = all ? coll::all_collectives() : request_.collectives,
        .anew = request_.plan_anew,
        .effort = request_.effort,
        .sizes = request_.sizes,
        .most_s = options_.budget_s > 0 ? most_s_of(options_, measuring_s_, all) : request_.offline_s,
        .progress = request_.progress};
    leave_out_disabled(request.collectives, options_, [](Collective collective) { return collective; });
    return find_plan(steps_, transport_, native_, view, options_, identity_.version, request, measuring_s_);
  }

  std::unique_ptr<Communicator> reserved(const net::GroupView& view, FoundPlan& plan) {
    auto communicator = Communicator::reserved(steps_, transport_, view, std::move(plan.table));
    for (const Collective collective : coll::all_collectives()) {
      // What is disabled, or not in a plan by hand, is not to be learned.
      communicator->known_[static_cast<std::size_t>(collective)] =
          plan.by_hand || options_.is_disabled(coll::name(collective)) ||
          communicator->table_.knows(collective);
    }
    for (const Collective collective : request_.collectives) {
      communicator->known_[static_cast<std::size_t>(collective)] = true;
    }
    return communicator;
  }

  transport::Transport& transport_;
  transport::Native& native_;
  const Options& options_;
  const Identity& identity_;
  const ArmRequest& request_;
  Steps steps_;
  measure::Clock clock_;
  net::Store store_;
  net::Network remembered_;  // rank 0, with its samples
  std::string provenance_;   // rank 0's, until the end
  double measuring_s_ = 0;
};

ArmResult Communicator::arm(transport::Transport& transport, transport::Native& native,
                            const Options& options, const Identity& identity, const ArmRequest& request) {
  try {
    return Arming(transport, native, options, identity, request).run();
  } catch (const std::exception& error) {
    // Where the native library itself failed, so that nothing can be agreed through it any more; or on all ranks, where
    // one had no memory for a shared text.
    return failure(error);
  }
}

std::unique_ptr<Communicator> Communicator::reserved(Steps& steps, transport::Transport& transport,
                                                     const net::GroupView& view, plan::PlanTable table) {
  std::unique_ptr<Communicator> communicator;
  Needs needs;
  steps.together("", [&] {
    communicator.reset(new Communicator(transport, view, std::move(table)));
    communicator->reserve(communicator->table_.entries, needs);
  });
  communicator->provide(steps, std::move(needs));
  return communicator;
}

void Communicator::provide(Steps& steps, Needs needs) {
  if (!needs.groups.empty()) {  // on all ranks the same: they follow from the table and the view
    const bool opened = transport_.open_groups(needs.groups);
    steps.together("", [&] {
      if (!opened) throw Unsupported("the library has no communicators for the islands of the plan");
    });
  }
  transport_.close_groups_but(needs.groups);  // those of trials that lost
  needs.channels = static_cast<int>(steps.agreement().largest(needs.channels));
  needs_ = std::move(needs);
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
                            Collective collective) {
  Learned learned;
  if (knows(collective)) return learned;
  known_[static_cast<std::size_t>(collective)] = true;
  Steps steps(native, transport_.rank(), transport_.n_ranks());
  try {
    try {
      const PlanRequest request{.collectives = {collective},
                                .anew = false,
                                .effort = plan::Effort::job,
                                .sizes = {},
                                .most_s = most_s_of(options, 0, false),
                                .progress = {}};
      FoundPlan found = find_plan(steps, transport_, native, view_, options, identity.version, request,
                                  learned.seconds_measuring);
      // Other jobs may have added collectives that this one has not called yet; those it knows stay as they are.
      std::erase_if(found.table.entries, [&](const plan::Entry& entry) {
        return entry.collective != collective && knows(entry.collective);
      });
      leave_out_disabled(found.table, options);
      Needs needs;
      steps.together("", [&] {
        needs = needs_;
        reserve(found.table.entries, needs);
      });
      provide(steps, std::move(needs));
      if (found.table.is_all_native()) learned.reason = kAsGood;
      for (const plan::Entry& entry : found.table.entries) {
        known_[static_cast<std::size_t>(entry.collective)] = true;
      }
      table_.take(found.table);
    } catch (const StaysNative& stays) {
      learned.reason = stays.reason;
      if (stays.transport_lost) table_.entries.clear();
    }
    learned.seconds_measuring = steps.agreement().largest(learned.seconds_measuring);
  } catch (const std::exception& error) {
    // As in arm(): nothing can be agreed any more, or nothing has been, on all ranks.
    learned.reason = std::string("learning failed: ") + error.what();
    table_.entries.clear();
  }
  return learned;
}

}  // namespace eco::runtime
