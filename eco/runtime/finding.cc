#include "eco/runtime/finding.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "eco/base/date.h"
#include "eco/base/errors.h"
#include "eco/measure/characterize.h"
#include "eco/measure/rails.h"
#include "eco/measure/sentinels.h"
#include "eco/measure/sweeps.h"
#include "eco/net/io.h"
#include "eco/net/store.h"
#include "eco/runtime/rails.h"

namespace eco::runtime {
namespace {

// Of a job's budget: the network's part. Trials get what is left, and they are what decides.
constexpr double kNetworkShare = 0.5;
// And what pair times may take at the most: without them there is nothing to try.
constexpr double kPairsShare = 0.8;

class Finding {
 public:
  Finding(Steps& steps, transport::Transport& transport, transport::Native& native, const Options& options,
          const std::vector<net::HostId>& hosts, const ArmRequest& request, double& measuring_s)
      : steps_(steps),
        transport_(transport),
        native_(native),
        options_(options),
        hosts_(hosts),
        request_(request),
        clock_(measure::monotonic_clock()),
        store_(options.cache_dir, options.site_dir),
        measuring_s_(measuring_s) {}

  FoundView find() {
    const std::string transport = transport_name(native_, transport_);
    std::string source;
    net::Network network;
    const auto look = [&]() -> std::pair<Found, std::string> {
      if (!options_.network_file.empty()) {
        const net::Network by_hand = net::load_network(options_.network_file);
        hosts_of_ranks(by_hand, hosts_, true);
        source = options_.network_file;
        return {Found::by_hand, net::to_json(by_hand.without_samples())};
      }
      const net::FoundNetwork remembered = store_.find_network(hosts_, transport);
      if (remembered.network) {
        source = "remembered";
        remembered_ = *remembered.network;
        const bool looks =
            looks_after() && options_.measure == MeasurePolicy::automatic && !request_.as_remembered;
        if (looks) prepare_sentinels();
        return {looks ? Found::doubtful : Found::text, net::to_json(remembered_.without_samples())};
      }
      if (options_.measure == MeasurePolicy::never) {
        return {Found::nothing,
                remembered.reason + ", and measuring is not allowed or its budget is used up"};
      }
      return {Found::measure, {}};
    };
    const auto [found, text] = steps_.look("", look, [&](Found what, const std::string& found_text) {
      if (what == Found::text || what == Found::by_hand || what == Found::doubtful)
        network = net::parse_network(found_text, "the network");
    });
    if (found == Found::nothing) throw StaysNative{text};
    const bool has_moved = found == Found::doubtful && have_hosts_moved();
    if (found == Found::measure || has_moved) network = measured_network(has_moved, transport, source);
    if (found != Found::by_hand) look_for_rails(network, source);
    FoundView result;
    steps_.together("", [&] {
      source += fit_rails(network, transport_);
      const std::vector<int> host_of_rank = hosts_of_ranks(network, hosts_, found == Found::by_hand);
      result.view = net::make_view(std::make_shared<const net::Network>(std::move(network)), host_of_rank);
      result.provenance = "network of " + std::to_string(result.view.network->n_hosts()) +
                          " hosts measured " + result.view.network->measured_at + ", " + source;
    });
    return result;
  }

 private:
  // Only where they are not known of these hosts' network. What is found is remembered with it.
  void look_for_rails(net::Network& network, std::string& source) {
    if (knows_rails(network, transport_, hosts_of_ranks(network, hosts_, false))) return;
    if (options_.measure != MeasurePolicy::automatic) {
      source += ", its rails not measured";
      return;
    }
    steps_.together("", [] {});  // so that nobody measures alone
    const double start_s = clock_();
    measure::MeasuredRails measured;
    std::optional<std::string> reason;
    try {
      measured = measure::measure_rails(transport_, native_, network,
                                        {.host_of_rank = hosts_, .in_job = options_.budget_s > 0});
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
  bool looks_after() const {
    return options_.sentinels && !(request_.job != nullptr && request_.job->has_looked_after(hosts_));
  }

  // Local. Other communicators of these hosts, whichever rank is first in them, need not look again.
  void have_looked_after() const {
    if (request_.job != nullptr) request_.job->looked_after(hosts_);
  }

  // Rank 0: the remembered network will be looked after. Without it nobody is asked.
  void prepare_sentinels() {
    sentinels_.host_of_rank = hosts_of_ranks(remembered_, hosts_, false);
    sentinels_.seed = static_cast<unsigned>(std::chrono::steady_clock::now().time_since_epoch().count());
  }

  // Whether hosts of the remembered network are not where they were: every rank learns the same, and rank 0 which.
  bool have_hosts_moved() {
    const double start_s = clock_();
    std::vector<int> moved;
    std::optional<std::string> reason;
    try {
      moved = measure::find_moved(transport_, native_, remembered_, sentinels_);  // throws on all ranks alike
    } catch (const std::exception& error) {
      reason = error.what();
    }
    measuring_s_ += clock_() - start_s;
    steps_.alone("looking after the remembered network: ", [&] {
      if (reason) throw Error(*reason);
      have_looked_after();
      if (steps_.rank() != 0) return;
      for (const int host : moved) {
        const net::HostId& id = remembered_.hosts[static_cast<std::size_t>(host)];
        if (std::find(moved_.begin(), moved_.end(), id) == moved_.end()) moved_.push_back(id);
      }
    });
    return !moved.empty();
  }

  // Rank 0: what needs no measuring, as far as it is remembered.
  std::vector<net::KnownPair> known_pairs(const std::string& transport) const {
    std::vector<net::KnownPair> known = store_.known_pairs(hosts_, transport);
    const auto has_moved = [&](const net::HostId& host) {
      return std::find(moved_.begin(), moved_.end(), host) != moved_.end();
    };
    std::erase_if(known, [&](const net::KnownPair& pair) { return has_moved(pair.a) || has_moved(pair.b); });
    return known;
  }

  // Where hosts have moved, in place of what was remembered.
  net::Network measured_network(bool has_moved, const std::string& transport, std::string& source) {
    const double before_s = measuring_s_;
    net::Network network = characterized(transport);
    if (!network.note.empty()) {
      // Put together from what other jobs measured: that is looked after like a network that is remembered as a whole, also
      // where it was looked after just now. Of two hosts that are far from each other chance may have named the wrong one.
      steps_.together("", [&] {
        if (steps_.rank() != 0) return;
        remembered_ = network;
        sentinels_ = {};
        if (has_moved || looks_after()) prepare_sentinels();
      });
      const bool have_more_moved = have_hosts_moved();
      if (have_more_moved) network = characterized(transport);
      has_moved = has_moved || have_more_moved;
    }
    source = "measured in this job in " + seconds_text(measuring_s_ - before_s);
    if (!network.note.empty()) source += " (" + network.note + ")";
    if (!moved_.empty()) source += ", because " + std::to_string(moved_.size()) + " hosts are elsewhere now";
    steps_.together("", [&] {
      if (steps_.rank() != 0) return;
      remember(network, has_moved, source);
      remembered_ = network;
    });
    return network.without_samples();
  }

  // Rank 0.
  void remember(const net::Network& network, bool instead, std::string& source) const {
    if (network.n_hosts() > 1 && network.largest_size() < measure::kReliableBytes) {
      // It serves the job that had no time for more.
      source += ", not remembered: the budget was enough for messages up to " +
                std::to_string(network.largest_size()) + " bytes only; measure once with eco characterize";
      return;
    }
    const net::Remembered kept = store_.remember_network(network, instead);
    if (kept.failure) source += ", not remembered: " + *kept.failure;
    if (kept.site_failure) source += ", not in the site directory: " + *kept.site_failure;
  }

  net::Network characterized(const std::string& transport) {
    measure::CharacterizeOptions how;
    how.host_of_rank = hosts_;
    how.transport = transport;
    how.measured_at = base::now_iso8601();
    how.budget_s = kNetworkShare * options_.budget_s;
    how.most_s = kPairsShare * options_.budget_s;
    how.progress = request_.progress;
    steps_.together("", [&] {
      if (steps_.rank() == 0) how.known = known_pairs(transport);
    });
    const double start_s = clock_();
    net::Network network;
    std::optional<std::string> reason;
    std::optional<std::string> too_short;
    try {
      network = measure::characterize(transport_, native_, how);  // throws on all ranks alike
    } catch (const Unsupported& error) {
      too_short = error.what();
    } catch (const std::exception& error) {
      reason = error.what();
    }
    measuring_s_ += clock_() - start_s;
    if (too_short) throw StaysNative{.reason = "measuring the network: " + *too_short, .wants_time = true};
    steps_.together("measuring the network: ", [&] {
      if (reason) throw Error(*reason);
      if (network.note.empty()) have_looked_after();  // else some pairs were only remembered
    });
    return network;
  }

  Steps& steps_;
  transport::Transport& transport_;
  transport::Native& native_;
  const Options& options_;
  const std::vector<net::HostId>& hosts_;
  const ArmRequest& request_;
  measure::Clock clock_;
  net::Store store_;
  net::Network remembered_;             // rank 0, with its samples
  measure::SentinelOptions sentinels_;  // rank 0: how it is looked after
  std::vector<net::HostId> moved_;      // rank 0
  double& measuring_s_;
};

}  // namespace

FoundView find_view(Steps& steps, transport::Transport& transport, transport::Native& native,
                    const Options& options, const std::vector<net::HostId>& hosts, const ArmRequest& request,
                    double& measuring_s) {
  return Finding(steps, transport, native, options, hosts, request, measuring_s).find();
}

}  // namespace eco::runtime
