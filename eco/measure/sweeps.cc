#include "eco/measure/sweeps.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "eco/base/assert.h"
#include "eco/base/errors.h"
#include "eco/measure/derive.h"
#include "eco/measure/representatives.h"

namespace eco::measure {
namespace {

constexpr double kConfirmed = 0.8;
constexpr int kMostRepeats = 10;

// 8 B shows the latency; 1 KiB and the largest are the partition's reference sizes; 16 KiB lies below the eager limit
// of every library we know, so that a change of protocol at 64 KiB does not pass for a rate.
constexpr std::array<std::size_t, 4> kSizes = {8, 1024, 16384, net::kLargestPairBytes};
constexpr std::array<std::size_t, 5> kLargeSizes = {net::kLargestPairBytes, 32768, 16384, 8192, 4096};

// Two trips a visit, if they fit: more would only give a disturbance more chances to raise the average, and one trip at
// a tenth of its time would pull an average of many less than 20 % down, where nobody notices.
constexpr int kMostTrips = 2;
constexpr double kVisitOffline_s = 0.06;

// Small messages settle late: a hundred microseconds are easily doubled by whatever else a host does. They are swept
// until six sweeps in a row lowered no label by more than 2 %. Such sweeps are cheap.
constexpr double kLowered = 0.98;
constexpr int kQuietSweeps = 6;
constexpr int kMostExtraSweeps = 40;
// Where pairs stand for those like them, and the median of these counts, a few of them may be unsettled.
constexpr int kMostExtraSweepsAlike = 8;
// Pairs that one reference size alone parts decide the partition: for them three times as much patience.
constexpr int kPatience = 3;
constexpr std::size_t kSmall = 1024;

// Shares of a budget: what the sweeps may take in all, and the large size within that.
constexpr double kDeadline = 0.9;
constexpr double kLargeDeadline = 0.65;

class Sweeper {
 public:
  Sweeper(int n_hosts, const Pinger& ping, const SweepOptions& options)
      : n_hosts_(n_hosts), ping_(ping), options_(options) {
    for (int a = 0; a < n_hosts; ++a) {
      for (int b = a + 1; b < n_hosts; ++b) {
        pairs_.push_back({a, b, {}, {}});
      }
    }
    known_.resize(pairs_.size());
    for (const KnownTimes& known : options.known) known_[index_of(known.a, known.b)] = &known;
    visited_.assign(pairs_.size(), false);
    if (!options.level_of_host.empty()) {
      represents_ = representatives(options.level_of_host);
      for (std::size_t i = 0; i < pairs_.size(); ++i) {
        if (represents_[i]) alike_[levels_of(i)].push_back(i);
      }
    }
    start_s_ = options.clock();
  }

  PairSamples run() {
    if (options_.budget_s > 0) {
      sweep_within_budget();
    } else {
      sweep_offline();
    }
    PairSamples result;
    result.sizes = sizes_;
    for (std::size_t i = 0; i < sizes_.size(); ++i) repeat_suspects(i);
    result.measured = static_cast<std::size_t>(std::count(visited_.begin(), visited_.end(), true));
    for (net::PairTimes& pair : pairs_) {
      for (const auto& samples : pair.samples) {
        pair.seconds.push_back(samples.empty() ? 0 : confirmed_minimum(samples));
      }
    }
    if (!represents_.empty()) stand_in(pairs_, options_.level_of_host);
    result.pairs = std::move(pairs_);
    return result;
  }

 private:
  double elapsed() const { return options_.clock() - start_s_; }

  void say(const std::string& what, double fraction) const {
    if (options_.progress) options_.progress(what, std::clamp(fraction, 0.0, 1.0));
  }

  // Row `a` of the pairs begins after (n-1) + (n-2) + ... + (n-a) of them.
  std::size_t index_of(int a, int b) const {
    ECO_ASSERT(light, 0 <= a && a < b && b < n_hosts_, "known pairs are of these hosts");
    return static_cast<std::size_t>(a * n_hosts_ - a * (a + 1) / 2 + (b - a - 1));
  }

  bool is_known(std::size_t pair, std::size_t bytes) const {
    return known_[pair] != nullptr && known_[pair]->samples.contains(bytes);
  }

  // The pairs that have to be visited at this many bytes.
  std::vector<std::size_t> missing(std::size_t bytes) const {
    std::vector<std::size_t> pairs;
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      if (!is_known(i, bytes) && (represents_.empty() || represents_[i])) pairs.push_back(i);
    }
    return pairs;
  }

  // Whether whatever is known of a pair includes this size; false if nothing is known of any.
  bool is_known_where_any(std::size_t bytes) const {
    return !options_.known.empty() &&
           std::all_of(options_.known.begin(), options_.known.end(),
                       [&](const KnownTimes& known) { return known.samples.contains(bytes); });
  }

  // Keeps sizes ascending; returns the place of the new one.
  std::size_t add_size(std::size_t bytes) {
    const auto place = std::upper_bound(sizes_.begin(), sizes_.end(), bytes) - sizes_.begin();
    sizes_.insert(sizes_.begin() + place, bytes);
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      auto& samples = pairs_[i].samples;
      const auto added = samples.emplace(samples.begin() + place);
      if (is_known(i, bytes)) *added = known_[i]->samples.at(bytes);
    }
    return static_cast<std::size_t>(place);
  }

  void drop_size(std::size_t size) {
    const auto place = static_cast<std::ptrdiff_t>(size);
    sizes_.erase(sizes_.begin() + place);
    for (net::PairTimes& pair : pairs_) pair.samples.erase(pair.samples.begin() + place);
  }

  void visit(std::size_t index, std::size_t size) {
    net::PairTimes& pair = pairs_[index];
    visited_[index] = true;
    std::vector<double>& samples = pair.samples[size];
    int trips = kMostTrips;
    if (!samples.empty()) {
      const double allowed = visit_s_ / (2 * std::max(confirmed_minimum(samples), 1e-9));
      trips = static_cast<int>(std::clamp(allowed, 1.0, static_cast<double>(kMostTrips)));
    } else if (sizes_[size] > kSmall) {
      trips = 1;  // what it costs is not known yet
    }
    samples.push_back(ping_(pair.a, pair.b, sizes_[size], trips));
  }

  // The levels of a pair's hosts.
  std::pair<int, int> levels_of(std::size_t pair) const {
    const auto level = [this](int host) { return options_.level_of_host[static_cast<std::size_t>(host)]; };
    return std::minmax({level(pairs_[pair].a), level(pairs_[pair].b)});
  }

  // Whether the lowest time of a pair can be relied on: another visit confirms it or, of large messages, where pairs stand
  // for those like them, another pair like it.
  bool is_sure(std::size_t pair, std::size_t size) const {
    const std::vector<double>& own = pairs_[pair].samples[size];
    if (!minimum_is_suspect(own)) return true;
    if (own.empty() || represents_.empty() || sizes_[size] <= kSmall) return false;
    const double label = confirmed_minimum(own);
    const std::vector<std::size_t>& alike = alike_.at(levels_of(pair));
    return std::any_of(alike.begin(), alike.end(), [&](std::size_t i) {
      const std::vector<double>& samples = pairs_[i].samples[size];
      if (i == pair || samples.empty()) return false;
      const auto [low, high] = std::minmax({label, confirmed_minimum(samples)});
      return low >= kConfirmed * high;
    });
  }

  // False if it passed the deadline before the end.
  bool sweep(std::size_t size, double deadline_s) {
    for (const std::size_t i : missing(sizes_[size])) {
      if (elapsed() > deadline_s) return false;
      visit(i, size);
    }
    return true;
  }

  void sweep_unsure(std::size_t size) {
    for (const std::size_t pair : missing(sizes_[size])) {
      if (!is_sure(pair, size)) visit(pair, size);
    }
  }

  void sweep_offline() {
    visit_s_ = kVisitOffline_s;
    for (const std::size_t bytes : kSizes) add_size(bytes);
    // A pair that represents others is not the only one that does.
    const int sweeps = represents_.empty() ? std::max(2, options_.sweeps) : 2;
    // Longer messages take most of the time: progress counts a visit as its bytes and a constant for the rest.
    double total = 0;
    for (const std::size_t bytes : sizes_) total += sweeps * (static_cast<double>(bytes) + 4096);
    double done = 0;
    for (int i = 0; i < sweeps; ++i) {
      for (std::size_t size = 0; size < sizes_.size(); ++size) {
        say("pairs, sweep " + std::to_string(i + 1) + " of " + std::to_string(sweeps), done / total);
        i == 0 || represents_.empty() || sizes_[size] <= kSmall ? void(sweep(size, kNever))
                                                                : sweep_unsure(size);
        done += static_cast<double>(sizes_[size]) + 4096;
      }
    }
    settle_all(kNever);
  }

  void settle_all(double deadline_s) {
    if (options_.budget_s <= 0) say("pairs, until small messages settle", 1.0);
    for (std::size_t size = 0; size < sizes_.size(); ++size) {
      if (sizes_[size] <= kSmall) {
        settle(size, deadline_s, 1, [&] { return missing(sizes_[size]); });
      }
    }
    if (!represents_.empty()) return;
    // Where only one of the reference sizes parts hosts, either the network is like that (a bridge, a slow uplink) or
    // these very pairs were disturbed: they get more visits.
    for (const std::size_t size : {nearest_size(sizes_, kSmall), sizes_.size() - 1}) {
      settle(size, deadline_s, sizes_[size] <= kSmall ? kPatience : 1, [&] { return parted_only_at(size); });
    }
  }

  // Visits the chosen pairs until nothing changes any more.
  template <class Choose>
  void settle(std::size_t size, double deadline_s, int patience, const Choose& choose) {
    int quiet = 0;
    const int enough = represents_.empty() ? patience * kQuietSweeps : kQuietSweeps / 2;
    const int most = represents_.empty() ? patience * kMostExtraSweeps : kMostExtraSweepsAlike;
    for (int extra = 0; extra < most && quiet < enough; ++extra, ++quiet) {
      const std::vector<std::size_t> chosen = choose();
      if (chosen.empty()) return;
      for (const std::size_t i : chosen) {
        if (elapsed() > deadline_s) return;
        const double before = confirmed_minimum(pairs_[i].samples[size]);
        visit(i, size);
        if (confirmed_minimum(pairs_[i].samples[size]) < kLowered * before) quiet = -1;
      }
    }
  }

  std::vector<std::size_t> parted_only_at(std::size_t size) {
    std::vector<net::PairTimes> labelled = pairs_;
    for (net::PairTimes& pair : labelled) {
      for (const auto& samples : pair.samples) pair.seconds.push_back(confirmed_minimum(samples));
    }
    std::vector<std::size_t> contested = contested_pairs(n_hosts_, sizes_, labelled, size);
    std::erase_if(contested, [&](std::size_t i) { return is_known(i, sizes_[size]); });
    return contested;
  }

  void sweep_within_budget() {
    const double budget = options_.budget_s;
    const std::size_t n_missing = missing(kSizes[0]).size();
    visit_s_ = n_missing == 0 ? budget : 0.2 * budget / static_cast<double>(4 * n_missing);
    for (const std::size_t bytes : {kSizes[0], kSizes[1]}) {
      const std::size_t size = add_size(bytes);
      for (int i = 0; i < 2; ++i) {
        say("pairs, " + std::to_string(bytes) + " B", elapsed() / budget);
        if (!sweep(size, kDeadline * budget)) {
          throw Unsupported("characterize: two sweeps over " + std::to_string(n_missing) +
                            " pairs of hosts do not" + " fit into " + std::to_string(budget) +
                            " s; measure once with eco characterize, or raise" + " ECO_BUDGET");
        }
      }
    }
    if (pairs_.empty()) return;
    sweep_largest_that_fits(kLargeDeadline * budget);
    sweep_known_sizes_that_fit(kLargeDeadline * budget);
    settle_all(kDeadline * budget);
  }

  void sweep_largest_that_fits(double deadline_s) {
    const double small_visit_s = visit_s_;
    visit_s_ = 0;  // one trip
    // First the sizes that only the missing pairs have to be visited at.
    std::array<std::size_t, kLargeSizes.size()> sizes = kLargeSizes;
    std::stable_partition(sizes.begin(), sizes.end(),
                          [this](std::size_t bytes) { return is_known_where_any(bytes); });
    for (const std::size_t bytes : sizes) {
      if (bytes > kLargeSizes.back() && 2 * sweep_estimate(bytes) > deadline_s - elapsed()) continue;
      const std::size_t size = add_size(bytes);
      say("pairs, " + std::to_string(bytes) + " B", elapsed() / options_.budget_s);
      if (sweep(size, deadline_s) && sweep(size, kDeadline * options_.budget_s)) break;
      // The estimate was wrong: what came of this size is dropped, a smaller one may still fit.
      drop_size(size);
      if (elapsed() > deadline_s) break;
    }
    visit_s_ = small_visit_s;
  }

  // Where pairs are known at more sizes than a job has time for, the few that are missing may have the time.
  void sweep_known_sizes_that_fit(double deadline_s) {
    const double small_visit_s = visit_s_;
    visit_s_ = 0;
    for (const std::size_t bytes : kSizes) {
      if (std::find(sizes_.begin(), sizes_.end(), bytes) != sizes_.end() || bytes > sizes_.back()) continue;
      if (!is_known_where_any(bytes)) continue;
      if (2 * sweep_estimate(bytes) > deadline_s - elapsed()) continue;
      const std::size_t size = add_size(bytes);
      if (!sweep(size, deadline_s) || !sweep(size, kDeadline * options_.budget_s)) drop_size(size);
    }
    visit_s_ = small_visit_s;
  }

  // Seconds of one sweep of single trips, extrapolated from up to eight pairs spread over all of them. 8 KiB are more
  // than the credit that shapers give an idle link, which 1 KiB are not.
  double sweep_estimate(std::size_t bytes) {
    constexpr std::size_t kProbe = 8192;
    const std::vector<std::size_t> these = missing(bytes);
    if (these.empty()) return 0;
    if (probe_s_ == 0) {
      const std::size_t n = std::min<std::size_t>(8, these.size());
      for (std::size_t i = 0; i < n; ++i) {
        const net::PairTimes& pair = pairs_[these[i * these.size() / n]];
        probe_s_ += ping_(pair.a, pair.b, kProbe, 1) / static_cast<double>(n);
        floor_s_ += confirmed_minimum(pair.samples[0]) / static_cast<double>(n);
      }
    }
    const double per_byte = std::max(0.0, probe_s_ - floor_s_) / static_cast<double>(kProbe);
    // Two ways each, and the warm-up trip.
    return static_cast<double>(these.size()) * (4 * floor_s_ + 2 * per_byte * static_cast<double>(bytes));
  }

  void repeat_suspects(std::size_t size) {
    for (const std::size_t pair : missing(sizes_[size])) {
      for (int i = 0; i < kMostRepeats && !is_sure(pair, size); ++i) visit(pair, size);
    }
  }

  static constexpr double kNever = 1e300;

  const int n_hosts_;
  const Pinger& ping_;
  const SweepOptions& options_;
  std::vector<std::size_t> sizes_;
  std::vector<net::PairTimes> pairs_;
  std::vector<const KnownTimes*> known_;  // by pair; null if nothing is
  std::vector<bool> visited_;
  std::vector<bool> represents_;                                   // by pair; empty where all are visited
  std::map<std::pair<int, int>, std::vector<std::size_t>> alike_;  // of those, by their hosts' levels
  double start_s_ = 0;
  double visit_s_ = 0;
  double probe_s_ = 0;
  double floor_s_ = 0;
};

}  // namespace

bool minimum_is_suspect(const std::vector<double>& samples) {
  if (samples.size() < 2) return true;
  std::vector<double> sorted(samples);
  std::partial_sort(sorted.begin(), sorted.begin() + 2, sorted.end());
  return sorted[0] < kConfirmed * sorted[1];
}

double confirmed_minimum(const std::vector<double>& samples) {
  std::vector<double> sorted(samples);
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i + 1 < sorted.size(); ++i) {
    if (sorted[i] >= kConfirmed * sorted[i + 1]) return sorted[i];
  }
  return sorted.front();
}

PairSamples sweep_pairs(int n_hosts, const Pinger& ping, const SweepOptions& options) {
  return Sweeper(n_hosts, ping, options).run();
}

}  // namespace eco::measure
