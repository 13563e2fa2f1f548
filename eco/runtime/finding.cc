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

bool has_network(Found found) {
  return found == Found::text || found == Found::by_hand || found == Found::doubtful;
}

// What rank 0 tells of a network: where it is from, its own text, and what goes beside it.
struct Told {
  std::string source;
  std::string network;
  std::string beside;

  std::string text() const {
    return source + '\n' + std::to_string(network.size()) + '\n' + network + beside;
  }
  static Told read(const std::string& text) {
    const std::size_t line = text.find('\n');
    const std::size_t next = text.find('\n', line + 1);
    const std::size_t size = std::stoull(text.substr(line + 1, next - line - 1));
    return {text.substr(0, line), text.substr(next + 1, size), text.substr(next + 1 + size)};
  }
};

std::string in_one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');  // a file's name, say
  return text;
}

class Finding {
 public:
  // Without a transport: nothing is measured.
  Finding(Steps& steps, transport::Transport* transport, transport::Native& native, const Options& options,
          const std::vector<net::HostId>& hosts, const ArmRequest& request, SaidBeside& beside,
          double& measuring_s)
      : steps_(steps),
        transport_(transport),
        native_(native),
        transport_name_(transport != nullptr ? transport_name(native, *transport) : transport_name(native)),
        options_(options),
        hosts_(hosts),
        request_(request),
        beside_(beside),
        clock_(measure::monotonic_clock()),
        store_(options.cache_dir, options.site_dir),
        measuring_s_(measuring_s) {}

  FoundView find() {
    const auto [found, text] = look();
    if (found == Found::nothing) throw StaysNative{text};
    const bool has_moved = found == Found::doubtful && have_hosts_moved();
    if (found == Found::measure || has_moved) {
      network_ = measured_network(has_moved);
      seen_.reset();
      beside_.holds = false;
    }
    if (!seen_) {
      if (found != Found::by_hand) look_for_rails(network_);
      steps_.together("", [&] { seen_ = fitted(std::move(network_), found == Found::by_hand); });
    }
    return std::move(*seen_);
  }

  RecalledView recall() {
    const Found found = look().first;
    return {found, seen_ ? std::move(*seen_) : FoundView{}};
  }

 private:
  std::pair<Found, std::string> look() {
    return steps_.look(
        "", [&] { return looked(); },
        [&](Found found, const std::string& text) {
          if (has_network(found)) take(Told::read(text), found == Found::by_hand);
        });
  }

  // Rank 0.
  std::pair<Found, std::string> looked() {
    if (!options_.network_file.empty()) {
      const net::Network by_hand = net::load_network(options_.network_file);
      hosts_of_ranks(by_hand, hosts_, true);
      return {Found::by_hand, told(by_hand, in_one_line(options_.network_file), true)};
    }
    const net::FoundNetwork remembered = store_.find_network(hosts_, transport_name_);
    if (remembered.network) {
      remembered_ = *remembered.network;
      const bool looks = transport_ != nullptr && looks_after() &&
                         options_.measure == MeasurePolicy::automatic && !request_.as_remembered;
      if (looks) prepare_sentinels();
      return {looks ? Found::doubtful : Found::text, told(remembered_, "remembered", false)};
    }
    if (options_.measure == MeasurePolicy::never) {
      return {Found::nothing, remembered.reason + ", and measuring is not allowed or its budget is used up"};
    }
    return {Found::measure, {}};
  }

  // Rank 0. It sees what the others will parse.
  std::string told(const net::Network& network, const std::string& source, bool by_hand) {
    Told told{source, net::to_json(network.without_samples()), {}};
    see(told, by_hand);
    try {
      if (seen_ && beside_.on_rank_0) told.beside = beside_.on_rank_0(*seen_);
    } catch (const std::exception&) {
      // It is asked again where it ends what needs it, not the finding.
    }
    return told.text();
  }

  // Within the agreement.
  void take(const Told& told, bool by_hand) {
    if (steps_.rank() != 0) see(told, by_hand);
    beside_.holds = !told.beside.empty();
    if (beside_.holds) beside_.take(told.beside);
  }

  // Where rails are to be looked for the view is not yet to be had.
  void see(const Told& told, bool by_hand) {
    source_ = told.source;
    network_ = net::parse_network(told.network, "the network");
    if (by_hand || transport_ == nullptr || transport_->n_rails() < 2)
      seen_ = fitted(std::move(network_), by_hand);
  }

  FoundView fitted(net::Network network, bool by_hand) const {
    const std::string lost_rails = transport_ != nullptr ? fit_rails(network, *transport_) : "";
    const std::vector<int> host_of_rank = hosts_of_ranks(network, hosts_, by_hand);
    FoundView seen;
    seen.provenance = "network of " + std::to_string(network.n_hosts()) + " hosts measured " +
                      network.measured_at + ", " + source_ + lost_rails;
    seen.view = net::make_view(std::make_shared<const net::Network>(std::move(network)), host_of_rank);
    return seen;
  }

  // Only where they are not known of these hosts' network. What is found is remembered with it.
  void look_for_rails(net::Network& network) {
    if (knows_rails(network, *transport_, hosts_of_ranks(network, hosts_, false))) return;
    if (options_.measure != MeasurePolicy::automatic) {
      source_ += ", its rails not measured";
      return;
    }
    steps_.together("", [] {});  // so that nobody measures alone
    const double start_s = clock_();
    measure::MeasuredRails measured;
    std::optional<std::string> reason;
    try {
      measured = measure::measure_rails(*transport_, native_, network,
                                        {.host_of_rank = hosts_, .in_job = options_.budget_s > 0});
    } catch (const Error& error) {  // on all ranks alike
      reason = error.what();
    }
    const double took_s = clock_() - start_s;
    measuring_s_ += took_s;
    if (reason) {
      transport_->choose_rails({});
      source_ += ", without rails: " + *reason;
      return;
    }
    steps_.together("measuring the rails: ", [&] {
      measure::add_rails(network, transport_->rail_names(), measured);
      source_ += ", its rails measured in this job in " + seconds_text(took_s);
      if (steps_.rank() != 0 || remembered_.hosts != network.hosts || !for_later_.empty()) return;
      measure::add_rails(remembered_, transport_->rail_names(), measured);
      remember(remembered_, false);
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
      moved =
          measure::find_moved(*transport_, native_, remembered_, sentinels_);  // throws on all ranks alike
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
  std::vector<net::KnownPair> known_pairs() const {
    std::vector<net::KnownPair> known = store_.known_pairs(hosts_, transport_name_);
    const auto has_moved = [&](const net::HostId& host) {
      return std::find(moved_.begin(), moved_.end(), host) != moved_.end();
    };
    std::erase_if(known, [&](const net::KnownPair& pair) { return has_moved(pair.a) || has_moved(pair.b); });
    return known;
  }

  // Where hosts have moved, in place of what was remembered.
  net::Network measured_network(bool has_moved) {
    const double before_s = measuring_s_;
    net::Network network = characterized();
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
      if (have_more_moved) network = characterized();
      has_moved = has_moved || have_more_moved;
    }
    source_ = "measured in this job in " + seconds_text(measuring_s_ - before_s);
    if (!network.note.empty()) source_ += " (" + network.note + ")";
    if (!moved_.empty()) source_ += ", because " + std::to_string(moved_.size()) + " hosts are elsewhere now";
    steps_.together("", [&] {
      if (steps_.rank() != 0) return;
      remember(network, has_moved);
      remembered_ = network;
    });
    return network.without_samples();
  }

  // Rank 0.
  void remember(const net::Network& network, bool instead) {
    if (network.n_hosts() > 1 && network.largest_size() < measure::kReliableBytes) {
      // It serves the job that had no time for more.
      source_ += ", not remembered: the budget was enough for messages up to " +
                 std::to_string(network.largest_size()) + " bytes only; measure once with eco characterize";
      return;
    }
    if (!for_later_.empty()) {
      source_ += ", not remembered: the budget was not enough for what its hosts share" + for_later_;
      return;
    }
    const net::Remembered kept = store_.remember_network(network, instead);
    if (kept.failure) source_ += ", not remembered: " + *kept.failure;
    if (kept.site_failure) source_ += ", not in the site directory: " + *kept.site_failure;
  }

  // Rank 0, within the measurement. Where all pairs were known and there still was no time for the tests, there never will be,
  // unless other ranks of this job took it.
  void keep(const std::vector<net::KnownPair>& pairs, bool all_were_known) {
    const bool job_keeps = request_.job != nullptr && request_.job->keeps_pairs();
    if (all_were_known && !job_keeps) return;
    if (!store_.remember_pairs(hosts_, transport_name_, pairs))
      for_later_ = "; what was measured is remembered, and the next job goes on from there";
  }

  // All ranks learn what rank 0 kept.
  void tell_for_later() {
    steps_.look(
        "", [&] { return std::pair(Found::text, for_later_); },
        [&](Found, const std::string& text) { for_later_ = text; });
    if (!for_later_.empty() && request_.job != nullptr) request_.job->note_pairs_kept();
  }

  net::Network characterized() {
    for_later_.clear();
    measure::CharacterizeOptions how;
    how.host_of_rank = hosts_;
    how.transport = transport_name_;
    how.measured_at = base::now_iso8601();
    how.budget_s = kNetworkShare * options_.budget_s;
    how.most_s = kPairsShare * options_.budget_s;
    how.progress = request_.progress;
    steps_.together("", [&] {
      if (steps_.rank() != 0) return;
      how.known = known_pairs();
      // Of hosts that have moved what is kept would be taken for what was remembered of them.
      if (moved_.empty() && store_.takes_pairs())
        how.keep = [this](const auto& pairs, bool all_were_known) { keep(pairs, all_were_known); };
    });
    const double start_s = clock_();
    net::Network network;
    std::optional<std::string> reason;
    std::optional<std::string> too_short;
    try {
      network = measure::characterize(*transport_, native_, how);  // throws on all ranks alike
    } catch (const Unsupported& error) {
      too_short = error.what();
    } catch (const std::exception& error) {
      reason = error.what();
    }
    measuring_s_ += clock_() - start_s;
    if (too_short) {
      tell_for_later();
      throw StaysNative{.reason = "measuring the network: " + *too_short + for_later_, .wants_time = true};
    }
    steps_.together("measuring the network: ", [&] {
      if (reason) throw Error(*reason);
      if (network.note.empty()) have_looked_after();  // else some pairs were only remembered
    });
    tell_for_later();
    return network;
  }

  Steps& steps_;
  transport::Transport* transport_;
  transport::Native& native_;
  const std::string transport_name_;
  const Options& options_;
  const std::vector<net::HostId>& hosts_;
  const ArmRequest& request_;
  SaidBeside& beside_;
  measure::Clock clock_;
  net::Store store_;
  std::optional<FoundView> seen_;       // as soon as nothing of it is to be measured; until then
  net::Network network_;                // this
  std::string source_;                  // where it is from; of what is measured here rank 0 says more
  net::Network remembered_;             // rank 0, with its samples
  measure::SentinelOptions sentinels_;  // rank 0: how it is looked after
  std::vector<net::HostId> moved_;      // rank 0
  std::string for_later_;               // what becomes of pairs that are no network yet
  double& measuring_s_;
};

}  // namespace

FoundView find_view(Steps& steps, transport::Transport& transport, transport::Native& native,
                    const Options& options, const std::vector<net::HostId>& hosts, const ArmRequest& request,
                    SaidBeside& beside, double& measuring_s) {
  return Finding(steps, &transport, native, options, hosts, request, beside, measuring_s).find();
}

RecalledView recall_view(Steps& steps, transport::Native& native, const Options& options,
                         const std::vector<net::HostId>& hosts, SaidBeside& beside) {
  const ArmRequest nothing;
  double no_s = 0;
  return Finding(steps, nullptr, native, options, hosts, nothing, beside, no_s).recall();
}

}  // namespace eco::runtime
