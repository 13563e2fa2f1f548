#include "eco/measure/sweeps.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <utility>

#include "eco/base/errors.h"
#include "eco/measure/derive.h"
#include "eco/measure/representatives.h"
#include "eco/measure/visits.h"

namespace eco::measure {
namespace {

constexpr int kMostRepeats = 10;

// 8 B shows the latency; 1 KiB and the largest are the partition's reference sizes; 16 KiB lies below the eager limit
// of every library we know, so that a change of protocol at 64 KiB does not pass for a rate.
constexpr std::array<std::size_t, 4> kSizes = {kSmallestBytes, net::kSmallPairBytes, kReliableBytes,
                                               net::kLargestPairBytes};
constexpr std::array<std::size_t, 5> kLargeSizes = {net::kLargestPairBytes, 32768, kReliableBytes, 8192,
                                                    4096};

constexpr double kVisitOffline_s = 0.06;

// Small messages settle late: a hundred microseconds are easily doubled by whatever else a host does. They are swept
// until six sweeps in a row lowered no label by more than 2 %. Such sweeps are cheap.
constexpr double kLowered = 0.98;
constexpr int kQuietSweeps = 6;
constexpr int kMostExtraSweeps = 40;
// Where pairs stand for those like them, and the median of these counts, a few of them may be unsettled.
constexpr int kMostExtraSweepsAlike = 8;
// Pairs that one reference size alone parts, or one by little, decide the partition: for them three times as much patience.
constexpr int kPatience = 3;
// Pairs that are far apart, where such sweeps are not cheap, and pairs parted by little have settled with a second sample so near.
constexpr double kSettled = 0.98;

// Of large messages a pair like it may confirm a pair's label.
constexpr double kAlike = 0.8;

// Shares of a budget: what the sweeps may take in all, and the large size within that.
constexpr double kDeadline = 0.9;
constexpr double kLargeDeadline = 0.65;
constexpr std::size_t kSweepsInBudget = 2;

// What all pairs need before a network of them is remembered: sweeps of three sizes.
constexpr double kSweepsToRemember = 3 * kSweepsInBudget;
// In so many jobs it is to be done; what would take more is not begun.
constexpr double kMostJobs = 8;
// Of the time left what a part of them, and what estimates of larger messages may take; of a job's what one pair may.
constexpr double kPart = 0.5;
constexpr double kProbes = 0.2;
constexpr double kMostOfPair = 0.8;

class Sweeper {
 public:
  Sweeper(int n_hosts, const Pinger& ping, const SweepOptions& options)
      : options_(options), table_(n_hosts), visits_(table_, ping, options.budget_s > 0) {
    known_.resize(table_.pairs.size());
    for (const KnownTimes& known : options.known) {
      known_[table_.index_of(known.a, known.b)] = &known;
      const auto smallest = known.samples.find(kSmallestBytes);
      if (smallest != known.samples.end()) visits_.saw(known.a, known.b, confirmed_minimum(smallest->second));
    }
    if (!options.level_of_host.empty()) represent(options.level_of_host);
    goes_on_ = options.keep && !options.known.empty();
    start_s_ = options.clock();
  }

  PairSamples run() {
    if (options_.budget_s > 0) {
      sweep_within_budget();
    } else {
      sweep_offline();
    }
    for (std::size_t size = 0; size < table_.sizes.size(); ++size) repeat_suspects(size);
    PairSamples result;
    result.sizes = table_.sizes;
    for (std::size_t pair = 0; pair < table_.pairs.size(); ++pair) {
      if (visits_.was_visited(pair)) ++result.measured;
    }
    result.pairs = labelled();
    if (!represents_.empty()) stand_in(result.pairs, level_of_host_);
    return result;
  }

 private:
  static constexpr double kNever = 1e300;

  double elapsed() const { return options_.clock() - start_s_; }

  void say(const std::string& what, double fraction) const {
    if (options_.progress) options_.progress(what, std::clamp(fraction, 0.0, 1.0));
  }

  // All pairs with their labels; 0 where others stand for them.
  std::vector<net::PairTimes> labelled() const {
    std::vector<net::PairTimes> pairs = table_.pairs;
    for (net::PairTimes& pair : pairs) {
      for (const auto& samples : pair.samples)
        pair.seconds.push_back(samples.empty() ? 0 : confirmed_minimum(samples));
    }
    return pairs;
  }

  // From now on pairs stand for those between the same levels, which are not visited.
  void represent(const std::vector<int>& level_of_host) {
    level_of_host_ = level_of_host;
    represents_ = representatives(level_of_host_);
    list_alike();
  }

  // The same of pairs between sites, at sizes that are not small; where no hosts are far apart, between the subnets that small
  // messages show.
  void represent_groups() {
    between_groups_ = true;
    level_of_host_ = visits_.is_any_far()
                         ? visits_.sites()
                         : net::part_of_host(find_subnets(table_.n_hosts, table_.sizes, labelled()));
    represents_ = representatives_of_sites(level_of_host_);
    list_alike();
  }

  bool is_inside_group(std::size_t pair) const {
    const auto [low, high] = levels_of(pair);
    return low == high;
  }

  void list_alike() {
    for (std::size_t i = 0; i < represents_.size(); ++i) {
      if (represents_[i]) alike_[levels_of(i)].push_back(i);
    }
  }

  bool is_known(std::size_t pair, std::size_t bytes) const {
    return known_[pair] != nullptr && known_[pair]->samples.contains(bytes);
  }

  // Whether whatever is known of a pair includes this size; false if nothing is known of any.
  bool is_known_where_any(std::size_t bytes) const {
    return !options_.known.empty() &&
           std::all_of(options_.known.begin(), options_.known.end(),
                       [&](const KnownTimes& known) { return known.samples.contains(bytes); });
  }

  // The pairs that have to be visited at this many bytes, and for which `is_wanted`.
  template <class IsWanted>
  std::vector<std::size_t> missing(std::size_t bytes, const IsWanted& is_wanted) const {
    std::vector<std::size_t> pairs;
    for (std::size_t i = 0; i < table_.pairs.size(); ++i) {
      const bool is_left_out =
          !represents_.empty() && !represents_[i] && !(between_groups_ && bytes <= net::kSmallPairBytes);
      if (!is_known(i, bytes) && !is_left_out && is_wanted(i)) pairs.push_back(i);
    }
    return pairs;
  }
  std::vector<std::size_t> missing(std::size_t bytes) const {
    return missing(bytes, [](std::size_t) { return true; });
  }

  // The place of the size, with what is known.
  std::size_t add_size(std::size_t bytes) {
    const std::size_t size = table_.add_size(bytes);
    for (std::size_t i = 0; i < table_.pairs.size(); ++i) {
      if (is_known(i, bytes)) table_.pairs[i].samples[size] = known_[i]->samples.at(bytes);
    }
    return size;
  }

  bool visit_all(const std::vector<std::size_t>& pairs, std::size_t size, double deadline_s) {
    return visits_.visit_all(pairs, size, [&] { return elapsed() <= deadline_s; });
  }

  // The levels of a pair's hosts.
  std::pair<int, int> levels_of(std::size_t pair) const {
    const auto level = [this](int host) { return level_of_host_[static_cast<std::size_t>(host)]; };
    return std::minmax({level(table_.pairs[pair].a), level(table_.pairs[pair].b)});
  }

  // Whether the lowest time of a pair can be relied on: another visit confirms it or, of large messages, where pairs stand
  // for those like them, another pair like it.
  bool is_sure(std::size_t pair, std::size_t size) const {
    const std::vector<double>& own = table_.of(pair, size);
    if (!minimum_is_suspect(own)) return true;
    if (own.empty() || represents_.empty() || table_.sizes[size] <= net::kSmallPairBytes) return false;
    if (between_groups_ && is_inside_group(pair)) return false;
    const double label = confirmed_minimum(own);
    const std::vector<std::size_t>& alike = alike_.at(levels_of(pair));
    return std::any_of(alike.begin(), alike.end(), [&](std::size_t i) {
      if (i == pair || table_.of(i, size).empty()) return false;
      const auto [low, high] = std::minmax({label, table_.label(i, size)});
      return low >= kAlike * high;
    });
  }

  void sweep_unsure(std::size_t size) {
    visit_all(missing(table_.sizes[size], [&](std::size_t pair) { return !is_sure(pair, size); }), size,
              kNever);
  }

  void sweep_offline() {
    visits_.set_visit_s(kVisitOffline_s);
    for (const std::size_t bytes : kSizes) add_size(bytes);
    // A pair that represents others is not the only one that does.
    const int sweeps = represents_.empty() ? std::max(2, options_.sweeps) : 2;
    // Longer messages take most of the time: progress counts a visit as its bytes and a constant for the rest.
    double total = 0;
    for (const std::size_t bytes : kSizes) total += sweeps * (static_cast<double>(bytes) + 4096);
    double done = 0;
    for (int i = 0; i < sweeps; ++i) {
      for (std::size_t size = 0; size < kSizes.size(); ++size) {
        say("pairs, sweep " + std::to_string(i + 1) + " of " + std::to_string(sweeps), done / total);
        const bool all = i == 0 || represents_.empty() || kSizes[size] <= net::kSmallPairBytes;
        all ? void(visit_all(missing(kSizes[size]), size, kNever)) : sweep_unsure(size);
        done += static_cast<double>(kSizes[size]) + 4096;
      }
    }
    settle_all(kNever);
  }

  void settle_all(double deadline_s) {
    if (options_.budget_s <= 0) say("pairs, until small messages settle", 1.0);
    const std::vector<std::size_t>& sizes = table_.sizes;
    // The larger first: it decides the partition, and on a busy machine the other would take all the time there is.
    for (std::size_t size = sizes.size(); size-- > 0;) {
      if (sizes[size] <= net::kSmallPairBytes)
        settle(size, deadline_s, 1, [&] { return missing(sizes[size]); });
    }
    if (!represents_.empty()) return;
    // Where only one of the reference sizes parts hosts, or one parts them by little, either the network is like that (a bridge,
    // a slow uplink) or these very pairs were disturbed: they get more visits.
    for (const std::size_t size : {nearest_size(sizes, net::kSmallPairBytes), sizes.size() - 1}) {
      settle(size, deadline_s, sizes[size] <= net::kSmallPairBytes ? kPatience : 1,
             [&] { return contested_at(size); });
    }
  }

  // Visits the chosen pairs until nothing changes any more.
  template <class Choose>
  void settle(std::size_t size, double deadline_s, int patience, const Choose& choose) {
    int quiet = 0;
    const int enough = represents_.empty() ? patience * kQuietSweeps : kQuietSweeps / 2;
    const int most = represents_.empty() ? patience * kMostExtraSweeps : kMostExtraSweepsAlike;
    for (int extra = 0; extra < most && quiet < enough; ++extra, ++quiet) {
      std::vector<std::size_t> chosen = choose();
      std::erase_if(chosen, [&](std::size_t pair) {
        return visits_.is_far(pair) && !minimum_is_suspect(table_.of(pair, size), kSettled);
      });
      if (chosen.empty()) return;
      const std::vector<double> before = labels(chosen, size);
      if (!visit_all(chosen, size, deadline_s)) return;
      const std::vector<double> now = labels(chosen, size);
      for (std::size_t i = 0; i < chosen.size(); ++i) {
        if (now[i] < kLowered * before[i]) quiet = -1;
      }
    }
  }

  std::vector<double> labels(const std::vector<std::size_t>& pairs, std::size_t size) const {
    std::vector<double> seconds;
    for (const std::size_t pair : pairs) seconds.push_back(table_.label(pair, size));
    return seconds;
  }

  std::vector<std::size_t> contested_at(std::size_t size) {
    const std::vector<net::PairTimes> pairs = labelled();
    std::vector<std::size_t> contested = contested_pairs(table_.n_hosts, table_.sizes, pairs, size);
    for (const std::size_t pair : close_pairs(table_.n_hosts, pairs, size)) {
      const bool is_listed = std::ranges::find(contested, pair) != contested.end();
      if (!is_listed && minimum_is_suspect(table_.of(pair, size), kSettled)) contested.push_back(pair);
    }
    std::sort(contested.begin(), contested.end());
    std::erase_if(contested, [&](std::size_t i) { return is_known(i, table_.sizes[size]); });
    return contested;
  }

  // Until every pair has two samples. False if it passed a deadline before: the first sweep its own. What a job may not get
  // through goes in parts, so that whatever it had time for has both; but pairs that are far apart go last, in rounds of as
  // many as there are, and have both after one.
  bool sweep_twice(std::size_t size, double first_deadline_s, double deadline_s) {
    const auto is_unswept = [&](std::size_t pair) { return table_.of(pair, size).size() < kSweepsInBudget; };
    std::vector<std::size_t> left = missing(table_.sizes[size], is_unswept);
    const auto far = std::stable_partition(left.begin(), left.end(),
                                           [&](std::size_t pair) { return !visits_.is_far(pair); });
    auto n_near = static_cast<std::size_t>(far - left.begin());
    std::size_t n_part = 1;
    std::size_t n_swept = 0;
    const double begin_s = elapsed();
    while (!left.empty()) {
      const std::size_t n = goes_on_ && n_near > 0 ? std::min(n_part, n_near) : left.size();
      const auto end = left.begin() + static_cast<std::ptrdiff_t>(n);
      std::vector<std::size_t> part(left.begin(), end);
      left.erase(left.begin(), end);
      n_near -= std::min(n_near, n);
      n_swept += n;
      for (std::size_t i = 0; i < kSweepsInBudget; ++i) {
        if (!visit_all(part, size, i == 0 ? first_deadline_s : deadline_s)) return false;
        std::erase_if(part, [&](std::size_t pair) { return !is_unswept(pair); });
      }
      const double pair_s = std::max(1e-9, elapsed() - begin_s) / static_cast<double>(n_swept);
      const double fitting = kPart * (first_deadline_s - elapsed()) / pair_s;
      n_part = static_cast<std::size_t>(std::clamp(fitting, 1.0, static_cast<double>(n_swept)));
    }
    return true;
  }

  // What is doubtful is measured again.
  void keep() const {
    if (!options_.keep) return;
    const auto are_sure = [](const std::vector<double>& samples) { return !minimum_is_suspect(samples); };
    options_.keep(picked_times(table_.sizes, table_.pairs, are_sure));
  }

  void sweep_within_budget() {
    const double budget = options_.budget_s;
    most_s_ = std::max(options_.most_s, budget);
    const std::size_t n_missing = missing(kSmallestBytes).size();
    visits_.set_visit_s(n_missing == 0 ? budget : 0.2 * budget / static_cast<double>(4 * n_missing));
    for (const std::size_t bytes : {kSmallestBytes, net::kSmallPairBytes}) {
      const std::size_t size = add_size(bytes);
      say("pairs, " + std::to_string(bytes) + " B", elapsed() / budget);
      // The longer messages take longer.
      goes_on_ = goes_on_ || (options_.keep && elapsed() > most_s_ / kSweepsToRemember);
      const bool fits = bytes != kSmallestBytes || first_row_says_it_fits(size);
      if (!fits || !sweep_twice(size, most_s_, most_s_)) {
        if (fits) keep();
        fail(bytes);
      }
      if (bytes == kSmallestBytes) repeat_contradicted(size);
    }
    if (table_.pairs.empty()) return;
    if (represents_.empty() && visits_.is_any_far()) represent_groups();
    if (takes_several_jobs()) return go_on_with_reliable();
    sweep_largest_that_fits(kLargeDeadline * budget);
    sweep_known_sizes_that_fit(kLargeDeadline * budget);
    settle_all(kDeadline * budget);
  }

  // Hosts that look far apart, and are near by way of others, were disturbed.
  void repeat_contradicted(std::size_t size) {
    const std::vector<int> sites = visits_.sites();
    const auto site = [&](int host) { return sites[static_cast<std::size_t>(host)]; };
    for (const std::size_t pair :
         missing(table_.sizes[size], [&](std::size_t i) { return visits_.is_far(i); })) {
      if (elapsed() > most_s_) return;
      if (site(table_.pairs[pair].a) == site(table_.pairs[pair].b)) visits_.visit(pair, size);
    }
  }

  // Rank 0's own pairs say what the others will take: what can't be done in time is not begun, nor in as many jobs as it may
  // take where later ones go on.
  bool first_row_says_it_fits(std::size_t size) {
    const auto is_own = [&](std::size_t pair) { return table_.pairs[pair].a == 0; };
    const std::vector<std::size_t> own = missing(table_.sizes[size], is_own);
    if (own.empty()) return true;
    if (!visit_all(own, size, kDeadline * options_.budget_s)) return false;
    double trips_s = 0;
    double longest_s = 0;
    for (const double seconds : labels(own, size)) {
      trips_s += seconds;
      longest_s = std::max(longest_s, seconds);
    }
    if (trips_s == 0) return true;
    const auto others = missing(table_.sizes[size], [&](std::size_t pair) { return !is_own(pair); });
    const auto n_far = std::ranges::count_if(others, [&](std::size_t pair) { return visits_.is_far(pair); });
    const double rounds_s =
        std::ceil(2.0 * static_cast<double>(n_far) / table_.n_hosts) * elapsed() * longest_s / trips_s;
    if (!options_.keep) return n_far == 0 || elapsed() + 2 * rounds_s <= most_s_;
    const double near = static_cast<double>(std::ssize(others) - n_far) / static_cast<double>(own.size());
    const double sweep_s = elapsed() * near + rounds_s;
    goes_on_ = goes_on_ || elapsed() + 2 * kSweepsInBudget * sweep_s > most_s_;
    return kSweepsToRemember * sweep_s <= kMostJobs * most_s_;
  }

  // Whether the least size that is reliable will not fit, but will in a few jobs.
  bool takes_several_jobs() {
    const auto all_s = [this] { return kSweepsInBudget * sweep_estimate(kReliableBytes); };
    if (!options_.keep || all_s() <= most_s_ - elapsed()) return false;
    if (represents_.empty()) represent_groups();
    const auto n_pairs = static_cast<double>(missing(kReliableBytes).size());
    return all_s() <= kMostJobs * most_s_ && all_s() <= kMostOfPair * most_s_ * n_pairs;
  }

  // Of one pair at least, so that each job gets on.
  void go_on_with_reliable() {
    goes_on_ = true;
    const std::size_t size = add_size(kReliableBytes);
    std::vector<std::size_t> first = missing(kReliableBytes);
    first.resize(std::min<std::size_t>(first.size(), 1));
    visits_.set_visit_s(0);
    for (std::size_t i = 0; i < kSweepsInBudget; ++i) visit_all(first, size, kNever);
    if (!sweep_twice(size, most_s_, most_s_)) leave_to_next_job();
  }

  [[noreturn]] void leave_to_next_job() const {
    keep();
    fail(kReliableBytes);
  }

  [[noreturn]] void fail(std::size_t bytes) const {
    std::array<char, 32> most{};
    std::snprintf(most.data(), most.size(), "%.3g", most_s_);
    throw Unsupported(
        "characterize: " + std::to_string(missing(bytes).size()) + " pairs of hosts do not fit into the " +
        most.data() +
        " s that a budget leaves for two sweeps; measure once with eco characterize, or raise ECO_BUDGET");
  }

  // The least size that is reliable may take as long as anything may.
  void sweep_largest_that_fits(double deadline_s) {
    const double small_visit_s = visits_.visit_s();
    visits_.set_visit_s(0);
    // First the sizes that only the missing pairs have to be visited at.
    std::array<std::size_t, kLargeSizes.size()> sizes = kLargeSizes;
    std::stable_partition(sizes.begin(), sizes.end(),
                          [this](std::size_t bytes) { return is_known_where_any(bytes); });
    for (const std::size_t bytes : sizes) {
      const double first_s = bytes == kReliableBytes ? most_s_ : deadline_s;
      if (bytes > kLargeSizes.back() && 2 * sweep_estimate(bytes) > first_s - elapsed()) continue;
      const std::size_t size = add_size(bytes);
      say("pairs, " + std::to_string(bytes) + " B", elapsed() / options_.budget_s);
      if (sweep_twice(size, first_s, std::max(first_s, kDeadline * options_.budget_s))) break;
      // The estimate was wrong: another job goes on, or what came of this size is dropped. A smaller one may still fit.
      if (bytes == kReliableBytes && options_.keep) leave_to_next_job();
      table_.drop_size(size);
      if (elapsed() > most_s_) break;
    }
    visits_.set_visit_s(small_visit_s);
  }

  // Where pairs are known at more sizes than a job has time for, the few that are missing may have the time.
  void sweep_known_sizes_that_fit(double deadline_s) {
    const double small_visit_s = visits_.visit_s();
    visits_.set_visit_s(0);
    const std::vector<std::size_t> had = table_.sizes;
    for (const std::size_t bytes : kSizes) {
      if (std::find(had.begin(), had.end(), bytes) != had.end() || bytes > had.back()) continue;
      if (!is_known_where_any(bytes)) continue;
      if (2 * sweep_estimate(bytes) > deadline_s - elapsed()) continue;
      const std::size_t size = add_size(bytes);
      if (!sweep_twice(size, deadline_s, kDeadline * options_.budget_s)) table_.drop_size(size);
    }
    visits_.set_visit_s(small_visit_s);
  }

  // Seconds of one sweep of single trips, extrapolated from up to eight pairs spread over all of them. 8 KiB are more
  // than the credit that shapers give an idle link, which 1 KiB are not.
  double sweep_estimate(std::size_t bytes) {
    constexpr std::size_t kProbe = 8192;
    const std::vector<std::size_t> these = missing(bytes);
    if (these.empty()) return 0;
    if (probed_visit_s_ == 0) {
      const std::size_t n = std::min<std::size_t>(8, these.size());
      const double start_s = elapsed();
      std::size_t n_probed = 0;
      double of_bytes_s = 0;
      do {
        const std::size_t pair = these[n_probed++ * these.size() / n];
        of_bytes_s += std::max(0.0, visits_.glance(pair, kProbe) - table_.label(pair, 0));
      } while (n_probed < n && elapsed() - start_s < kProbes * (most_s_ - start_s));
      per_byte_s_ = of_bytes_s / static_cast<double>(kProbe * n_probed);
      probed_visit_s_ = (elapsed() - start_s) / static_cast<double>(n_probed);
    }
    // Two ways each.
    const double more = static_cast<double>(bytes) - static_cast<double>(kProbe);
    return static_cast<double>(these.size()) * std::max(0.0, probed_visit_s_ + 2 * per_byte_s_ * more);
  }

  void repeat_suspects(std::size_t size) {
    for (const std::size_t pair : missing(table_.sizes[size])) {
      for (int i = 0; i < kMostRepeats && !is_sure(pair, size) && elapsed() <= most_s_; ++i)
        visits_.visit(pair, size);
    }
  }

  const SweepOptions& options_;
  SampleTable table_;
  Visits visits_;
  std::vector<const KnownTimes*> known_;  // by pair; null if nothing is
  double most_s_ = kNever;                // until when anything is visited
  bool goes_on_ = false;                  // with what other jobs began, or others will with this
  std::vector<int> level_of_host_;
  bool between_groups_ = false;                                    // and levels are these
  std::vector<bool> represents_;                                   // by pair; empty where all are visited
  std::map<std::pair<int, int>, std::vector<std::size_t>> alike_;  // of those, by their hosts' levels
  double start_s_ = 0;
  double probed_visit_s_ = 0;  // of kProbe, one trip
  double per_byte_s_ = 0;
};

}  // namespace

PairSamples sweep_pairs(int n_hosts, const Pinger& ping, const SweepOptions& options) {
  return Sweeper(n_hosts, ping, options).run();
}

}  // namespace eco::measure
