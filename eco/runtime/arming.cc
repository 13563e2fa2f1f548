// How a group comes to its plan table, in steps that all ranks take together:
//
//   check       same version and options everywhere
//   identities  who sits on which host
//   network     from a file, from the store, or measured now; rank 0 decides, all parse the same text
//   plan        from a file, from the store, or made now by trials; the same
//   reserve     memory and tags for everything the plan may run
//
// Whatever throws on one rank becomes a reason on all: each step ends with an agreement, and between agreements a rank
// only does what does not need the others, or what fails on all alike.
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
#include "eco/net/io.h"
#include "eco/net/store.h"
#include "eco/plan/planner.h"
#include "eco/runtime/agreement.h"
#include "eco/runtime/communicator.h"
#include "eco/runtime/plan_by_hand.h"
#include "eco/runtime/trials.h"

namespace eco::runtime {
namespace {

using coll::Collective;

// Of a job's budget: the network's part. Trials get what is left, and they are what decides.
constexpr double kNetworkShare = 0.5;
// The partition's large reference size. Below it shapers let a message pass on credit and a slow link looks like a fast
// one: a network measured with less serves the job that had no time for more, and is not remembered for others.
constexpr std::size_t kReliableBytes = 16384;
// A job samples the native collective where a call is guessed under this.
constexpr double kMostNativeInJob_s = 0.3;
// One trial's aim in a job, where about twenty of them share the budget, and offline, where the median shall hold
// against interference of some 100 ms.
constexpr TrialLimits kInJob{.until_s = 0, .cell_s = 0.1, .fewest = 2, .most = 4, .in_turn = 2};
constexpr TrialLimits kOffline{.until_s = 0, .cell_s = 2.5, .fewest = 3, .most = 6, .in_turn = 5};
// Candidates measured beside the library's own. The predictor knows nothing of how a socket coalesces small messages,
// so its first few are closer together than it can tell.
constexpr std::size_t kShortlistInJob = 2;
constexpr std::size_t kShortlistOffline = 5;
// Predicting 10,000 operations takes some milliseconds; tens of candidates, tens of cells.
constexpr std::size_t kOperationsPredictedInJob = 10'000;

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

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", seconds);
  return text;
}

// What rank 0 found, as one text for all: a letter, then what belongs to it.
enum class Found : char { nothing = 'N', text = 'T', measure = 'M' };

// Carries a reason through the steps; the same on all ranks.
struct StaysNative {
  std::string reason;
  bool failed = false;  // ArmResult::failed
};

// Whether a remembered plan is worth completing now. Offline, whenever rows are open. A job uses what there is, so that
// measuring is paid for once and not by every short job; unless nothing at all was measured, because other communicators
// had used up the budget.
bool wants_completion(const plan::PlanTable& table, bool offline) {
  bool open = false;
  bool measured = false;
  for (const plan::Entry& entry : table.entries) {
    for (const plan::Row& row : entry.rows) {
      open = open || row.open;
      measured = measured || row.native_s > 0;
    }
  }
  return open && (offline || !measured);
}

// To the sizes asked for those that an earlier plan measured: planning for a few sizes takes nothing away.
void add_known_sizes(const plan::PlanTable& known, std::vector<std::size_t>& sizes) {
  for (const plan::Entry& entry : known.entries) {
    for (const plan::Row& row : entry.rows) {
      if (row.native_s > 0 && row.up_to_bytes > 0) sizes.push_back(row.up_to_bytes);
    }
  }
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
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
        rank_(transport.rank()),
        n_ranks_(transport.n_ranks()),
        agreement_(native, rank_, n_ranks_),
        clock_(measure::monotonic_clock()),
        store_(options.cache_dir) {}

  ArmResult run() {
    ArmResult result;
    try {
      check();
      const std::vector<net::HostId> hosts = identities();
      const net::GroupView view = find_view(hosts);
      if (request_.network_only) throw StaysNative{"only the network was asked for"};
      plan::PlanTable table = find_table(view);
      // Planned like the others, for whoever finds this plan: disabled is what this job does not run.
      std::erase_if(table.entries, [&](const plan::Entry& entry) {
        return options_.is_disabled(coll::name(entry.collective));
      });
      if (table.is_all_native())
        throw StaysNative{"the library's own collectives are as good wherever measured"};
      result.communicator = reserved(view, std::move(table));
      result.communicator->provenance_ = provenance_;
    } catch (const StaysNative& native) {
      result.reason = native.reason;
      result.failed = native.failed;
    }
    result.seconds_measuring = agreement_.largest(measuring_s_);
    return result;
  }

 private:
  // Ends the step on every rank if `work` threw on any.
  void together(const std::string& step, const std::function<void()>& work) {
    if (const auto reason = agreement_.failed(work)) throw StaysNative{step + *reason, true};
  }

  void check() {
    if (n_ranks_ < 2) throw StaysNative{"one rank has nobody to talk to"};
    if (!agreement_.equal(std::stoull(base::digest(identity_.version), nullptr, 16))) {
      throw StaysNative{"ranks run different versions of ECO; install the same everywhere", true};
    }
    const std::string asked = std::to_string(options_.agreed_digest()) + (request_.plan_anew ? "anew" : "");
    if (!agreement_.equal(std::stoull(base::digest(asked), nullptr, 16))) {
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
    together("", [&] { all.resize(static_cast<std::size_t>(n_ranks_)); });
    native_.allgather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
    std::vector<net::HostId> hosts;
    together("", [&] {
      for (const IdentityRecord& record : all) {
        hosts.push_back(
            {get(record.name), get(record.address), get(record.boot_id), get(record.net_namespace)});
      }
    });
    return hosts;
  }

  // Rank 0 looks, all learn what it found; what it throws ends the step everywhere.
  std::pair<Found, std::string> look(const std::string& step,
                                     const std::function<std::pair<Found, std::string>()>& on_rank_0) {
    std::string text;
    together(step, [&] {
      if (rank_ != 0) return;
      const auto [found, found_text] = on_rank_0();
      text = std::string(1, static_cast<char>(found)) + found_text;
    });
    text = agreement_.share(std::move(text));
    const auto found = static_cast<Found>(text[0]);
    return {found, std::move(text.erase(0, 1))};
  }

  net::GroupView find_view(const std::vector<net::HostId>& hosts) {
    const bool by_hand = !options_.network_file.empty();
    const std::string transport = transport_name(native_);
    std::string source;
    const auto [found, found_text] = look("", [&]() -> std::pair<Found, std::string> {
      if (by_hand) {
        const net::Network network = net::load_network(options_.network_file);
        hosts_of_ranks(network, hosts, true);
        source = options_.network_file;
        return {Found::text, net::to_json(network.without_samples())};
      }
      const net::FoundNetwork remembered = store_.find_network(hosts, transport);
      if (remembered.network) {
        source = "remembered";
        return {Found::text, net::to_json(remembered.network->without_samples())};
      }
      if (options_.measure == MeasurePolicy::never) {
        return {Found::nothing,
                remembered.reason + ", and measuring is not allowed or its budget is used up"};
      }
      return {Found::measure, {}};
    });
    if (found == Found::nothing) throw StaysNative{found_text};
    net::Network network;
    if (found == Found::measure) {
      network = measured_network(hosts, transport, source);
    } else {
      together("", [&] { network = net::parse_network(found_text, "the network"); });
    }
    net::GroupView view;
    together("", [&] {
      const std::vector<int> host_of_rank = hosts_of_ranks(network, hosts, by_hand);
      view = net::make_view(std::make_shared<const net::Network>(std::move(network)), host_of_rank);
    });
    provenance_ = agreement_.share("network of " + std::to_string(view.network->n_hosts()) +
                                   " hosts measured " + view.network->measured_at + ", " + source);
    return view;
  }

  net::Network measured_network(const std::vector<net::HostId>& hosts, const std::string& transport,
                                std::string& source) {
    measure::CharacterizeOptions how;
    how.host_of_rank = hosts;
    how.transport = transport;
    how.measured_at = now_iso8601();
    how.budget_s = kNetworkShare * options_.budget_s;
    how.progress = request_.progress;
    const double start_s = clock_();
    net::Network network;
    std::optional<std::string> reason;
    try {
      network = measure::characterize(transport_, native_, how);  // throws on all ranks alike
    } catch (const std::exception& error) {
      reason = error.what();
    }
    const double took_s = clock_() - start_s;
    measuring_s_ += took_s;
    together("measuring the network: ", [&] {
      if (reason) throw Error(*reason);
    });
    source = "measured in this job in " + seconds_text(took_s);
    if (rank_ == 0) {
      std::optional<std::string> failure;
      if (network.n_hosts() > 1 && network.largest_size() < kReliableBytes) {
        failure = "the budget was enough for messages up to " + std::to_string(network.largest_size()) +
                  " bytes only; measure once with eco characterize";
      } else {
        failure = store_.remember_network(network);
      }
      if (failure) source += ", not remembered: " + *failure;
    }
    return network.without_samples();
  }

  plan::PlanTable find_table(const net::GroupView& view) {
    const net::PlanKey key{view.network->fingerprint(), view.host_of_rank, native_.library(),
                           identity_.version};
    plan::PlanTable known;  // rank 0: what an earlier job had time for
    std::string source;
    const auto [found, text] = look("", [&]() -> std::pair<Found, std::string> {
      if (!options_.plan_file.empty()) {
        const plan::PlanTable table = plan::PlanTable::from_json(base::read_text(options_.plan_file));
        prove_plan(table, view, "plan file " + options_.plan_file);
        source = "plan from " + options_.plan_file;
        return {Found::text, table.to_json()};
      }
      const bool may_measure = options_.measure != MeasurePolicy::never;
      std::string reason = "no plan is remembered";
      // Its recipes were proved by this version of ECO (the key says which) before they were written.
      const net::FoundText remembered = store_.find_plan(key);
      if (!remembered.reason.empty()) reason = remembered.reason;
      if (remembered.text) {
        try {
          known = plan::PlanTable::from_json(*remembered.text);
          if (request_.plan_anew && may_measure) {
            forget_asked(known);
          } else if (!may_measure || !wants_completion(known, options_.budget_s == 0)) {
            source = "plan remembered";
            return {Found::text, *remembered.text};
          }
        } catch (const CorruptFile& error) {
          reason = error.what();  // forgotten and made again
        }
      }
      if (!may_measure)
        return {Found::nothing, reason + ", and measuring is not allowed or its budget is used up"};
      return {Found::measure, {}};
    });
    if (found == Found::nothing) throw StaysNative{text};
    const std::string table_text = found == Found::measure ? measured_plan(view, key, known, source) : text;
    plan::PlanTable table;
    together("", [&] { table = plan::PlanTable::from_json(table_text); });
    provenance_ = agreement_.share(provenance_ + "; " + source);
    return table;
  }

  // What is measured anew is not taken from the earlier plan; asked for no sizes in particular, all is.
  void forget_asked(plan::PlanTable& known) const {
    if (request_.sizes.empty()) known.entries.clear();
    for (plan::Entry& entry : known.entries) {
      std::erase_if(entry.rows, [&](const plan::Row& row) {
        return row.native_s <= 0 || std::find(request_.sizes.begin(), request_.sizes.end(),
                                              row.up_to_bytes) != request_.sizes.end();
      });
    }
  }

  // Collective. The table's text, on every rank.
  std::string measured_plan(const net::GroupView& view, const net::PlanKey& key, const plan::PlanTable& known,
                            std::string& source) {
    const double start_s = clock_();
    std::unique_ptr<Trials> trials;
    const bool offline = options_.budget_s == 0;
    const CommonStart start(native_, reads_one_clock(native_, rank_, n_ranks_),
                            offline ? CommonStart::kQuiet_ns : CommonStart::kQuick_ns);
    together("", [&] { trials = std::make_unique<Trials>(transport_, native_, view, start); });
    std::string text;
    std::optional<std::string> reason;
    try {
      if (rank_ == 0) {
        text = conduct(*trials, view, known, start_s);
      } else {
        trials->follow();
      }
    } catch (const std::exception& error) {
      reason = error.what();
    }
    const double took_s = clock_() - start_s;
    measuring_s_ += took_s;
    together("making a plan: ", [&] {
      if (reason) throw Error(*reason);
    });
    source = "plan made in this job in " + seconds_text(took_s);
    if (rank_ == 0) {
      if (const auto failure = store_.remember_plan(key, text)) source += ", not remembered: " + *failure;
    }
    return agreement_.share(std::move(text));
  }

  // Rank 0. Ends the trials whatever happens; a lost transport has ended them on all ranks already.
  std::string conduct(Trials& trials, const net::GroupView& view, const plan::PlanTable& known,
                      double start_s) {
    const bool offline = options_.budget_s == 0;
    const double infinity = std::numeric_limits<double>::infinity();
    TrialLimits limits = offline ? kOffline : kInJob;
    limits.until_s = offline ? infinity : start_s + std::max(0.0, options_.budget_s - measuring_s_);
    plan::PlannerOptions how;
    how.known = &known;
    how.progress = request_.progress;
    how.shortlist = offline ? kShortlistOffline : kShortlistInJob;
    if (!request_.sizes.empty()) {
      how.sizes = request_.sizes;
      std::sort(how.sizes.begin(), how.sizes.end());
      how.left_open = plan::default_sizes();
    }
    add_known_sizes(known, how.sizes);
    if (!offline) {
      how.most_native_s = kMostNativeInJob_s;
      how.forecast.most_operations = kOperationsPredictedInJob;
      how.time_is_up = [this, limits] { return clock_() >= limits.until_s; };
    }
    std::vector<Collective> collectives;
    for (int i = 0; i < coll::kCollectives; ++i) collectives.push_back(static_cast<Collective>(i));
    plan::PlanTable table;
    try {
      table = plan::make_plan(view, collectives, how, measure_by_trials(trials, clock_, limits));
    } catch (const TransportError&) {
      throw;  // thrown by a trial, and there on every rank
    } catch (...) {
      trials.end();
      throw;
    }
    trials.end();
    table.library = native_.library();
    return table.to_json();
  }

  std::unique_ptr<Communicator> reserved(const net::GroupView& view, plan::PlanTable table) {
    std::unique_ptr<Communicator> communicator;
    int channels = 1;
    together("", [&] {
      communicator.reset(new Communicator(transport_, view, std::move(table)));
      communicator->reserve(channels);
    });
    communicator->channels_ = static_cast<int>(agreement_.largest(channels));
    return communicator;
  }

  transport::Transport& transport_;
  transport::Native& native_;
  const Options& options_;
  const Identity& identity_;
  const ArmRequest& request_;
  const int rank_;
  const int n_ranks_;
  Agreement agreement_;
  Clock clock_;
  net::Store store_;
  std::string provenance_;
  double measuring_s_ = 0;
};

ArmResult Communicator::arm(transport::Transport& transport, transport::Native& native,
                            const Options& options, const Identity& identity, const ArmRequest& request) {
  try {
    return Arming(transport, native, options, identity, request).run();
  } catch (const std::exception& error) {
    // Where the native library itself failed, so that nothing can be agreed through it any more; or on all ranks, where
    // one had no memory for a shared text.
    return {nullptr, std::string("arming failed: ") + error.what(), 0, true};
  }
}

}  // namespace eco::runtime
