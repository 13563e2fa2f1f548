#include "eco/measure/sweeps.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "eco/base/errors.h"

namespace eco::measure {
namespace {

constexpr double kConfirmed = 0.8;
constexpr int kMostRepeats = 3;

// 8 B shows the latency; 1 KiB and the largest are the partition's reference sizes; 16 KiB lies below the eager limit
// of every library we know, so that a change of protocol at 64 KiB does not pass for a rate.
constexpr std::array<std::size_t, 4> kSizes = {8, 1024, 16384, 65536};
constexpr std::array<std::size_t, 5> kLargeSizes = {65536, 32768, 16384, 8192, 4096};

// At most three trips a visit: one trip at a tenth of its time then pulls the average below 0.8 and is noticed.
constexpr int kMostTrips = 3;
constexpr double kVisitOffline_s = 0.06;

// A size has settled when a whole sweep lowered no label by more than 3 %. Sweeps of small messages are cheap.
constexpr double kSettled = 0.97;
constexpr int kMostExtraSweeps = 16;
constexpr std::size_t kSmall = 1024;

class Sweeper {
 public:
  Sweeper(int n_hosts, const Ping& ping, const SweepOptions& options) : ping_(ping), options_(options) {
    for (int a = 0; a < n_hosts; ++a) {
      for (int b = a + 1; b < n_hosts; ++b) pairs_.push_back({a, b, {}, {}});
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
    for (net::PairTimes& pair : pairs_) {
      for (const auto& samples : pair.samples) pair.seconds.push_back(confirmed_minimum(samples));
    }
    result.pairs = std::move(pairs_);
    return result;
  }

 private:
  double elapsed() const { return options_.clock() - start_s_; }

  void say(const std::string& what, double fraction) const {
    if (options_.progress) options_.progress(what, std::clamp(fraction, 0.0, 1.0));
  }

  std::size_t add_size(std::size_t bytes) {
    sizes_.push_back(bytes);
    for (net::PairTimes& pair : pairs_) pair.samples.emplace_back();
    return sizes_.size() - 1;
  }

  void visit(net::PairTimes& pair, std::size_t size) {
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

  // False if it passed the deadline before the end.
  bool sweep(std::size_t size, double deadline_s) {
    for (net::PairTimes& pair : pairs_) {
      if (elapsed() > deadline_s) return false;
      visit(pair, size);
    }
    return true;
  }

  void sweep_offline() {
    constexpr double kNever = 1e300;
    visit_s_ = kVisitOffline_s;
    for (const std::size_t bytes : kSizes) add_size(bytes);
    const int sweeps = std::max(2, options_.sweeps);
    // Longer messages take most of the time: progress counts a visit as its bytes and a constant for the rest.
    double total = 0;
    for (const std::size_t bytes : sizes_) total += sweeps * (static_cast<double>(bytes) + 4096);
    double done = 0;
    for (int i = 0; i < sweeps; ++i) {
      for (std::size_t size = 0; size < sizes_.size(); ++size) {
        say("pairs, sweep " + std::to_string(i + 1) + " of " + std::to_string(sweeps), done / total);
        sweep(size, kNever);
        done += static_cast<double>(sizes_[size]) + 4096;
      }
    }
    for (std::size_t size = 0; size < sizes_.size() && sizes_[size] <= kSmall; ++size) settle(size);
  }

  void settle(std::size_t size) {
    bool settled = pairs_.empty();
    for (int extra = 0; extra < kMostExtraSweeps && !settled; ++extra) {
      say("pairs, until small messages settle", 1.0);
      settled = true;
      for (net::PairTimes& pair : pairs_) {
        const double before = confirmed_minimum(pair.samples[size]);
        visit(pair, size);
        settled = settled && confirmed_minimum(pair.samples[size]) >= kSettled * before;
      }
    }
  }

  void sweep_within_budget() {
    const double budget = options_.budget_s;
    // The large size may take what two sweeps of the small ones leave; a tenth is kept for repeating suspects.
    const double deadline = 0.9 * budget;
    visit_s_ = pairs_.empty() ? budget : 0.25 * budget / static_cast<double>(4 * pairs_.size());
    for (const std::size_t bytes : {kSizes[0], kSizes[1]}) {
      const std::size_t size = add_size(bytes);
      for (int i = 0; i < 2; ++i) {
        say("pairs, " + std::to_string(bytes) + " B", elapsed() / budget);
        if (!sweep(size, deadline)) {
          throw Unsupported("characterize: two sweeps over " + std::to_string(pairs_.size()) +
                            " pairs of hosts do not" + " fit into " + std::to_string(budget) +
                            " s; measure once with eco characterize, or raise" + " ECO_BUDGET");
        }
      }
    }
    if (pairs_.empty()) return;
    for (const std::size_t bytes : kLargeSizes) {
      if (bytes > kLargeSizes.back() && 2 * sweep_estimate(bytes) > deadline - elapsed()) continue;
      const std::size_t size = add_size(bytes);
      say("pairs, " + std::to_string(bytes) + " B", elapsed() / budget);
      visit_s_ = 0;  // one trip
      if (sweep(size, deadline) && sweep(size, 1.2 * deadline)) return;
      // The estimate was wrong: what came of this size is dropped, a smaller one may still fit.
      sizes_.pop_back();
      for (net::PairTimes& pair : pairs_) pair.samples.pop_back();
      if (elapsed() > deadline) return;
    }
  }

  // Seconds of one sweep of single trips, extrapolated from up to eight pairs spread over all of them. 8 KiB are more
  // than the credit that shapers give an idle link, which 1 KiB are not.
  double sweep_estimate(std::size_t bytes) {
    constexpr std::size_t kProbe = 8192;
    if (probe_s_ == 0) {
      const std::size_t n = std::min<std::size_t>(8, pairs_.size());
      for (std::size_t i = 0; i < n; ++i) {
        const net::PairTimes& pair = pairs_[i * pairs_.size() / n];
        probe_s_ += ping_(pair.a, pair.b, kProbe, 1) / static_cast<double>(n);
        floor_s_ += confirmed_minimum(pair.samples[0]) / static_cast<double>(n);
      }
    }
    const double per_byte = std::max(0.0, probe_s_ - floor_s_) / static_cast<double>(kProbe);
    // Two ways each, and the warm-up trip.
    return static_cast<double>(pairs_.size()) * (4 * floor_s_ + 2 * per_byte * static_cast<double>(bytes));
  }

  void repeat_suspects(std::size_t size) {
    for (net::PairTimes& pair : pairs_) {
      for (int i = 0; i < kMostRepeats && minimum_is_suspect(pair.samples[size]); ++i) visit(pair, size);
    }
  }

  const Ping& ping_;
  const SweepOptions& options_;
  std::vector<std::size_t> sizes_;
  std::vector<net::PairTimes> pairs_;
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

PairSamples sweep_pairs(int n_hosts, const Ping& ping, const SweepOptions& options) {
  return Sweeper(n_hosts, ping, options).run();
}

}  // namespace eco::measure
