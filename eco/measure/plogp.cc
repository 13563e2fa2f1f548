#include "eco/measure/plogp.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "eco/model/gamma.h"

namespace eco::measure {
namespace {

using net::ClassPLogP;
using net::PairClass;

constexpr std::array<std::size_t, 9> kGrid = {8, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576};
constexpr std::size_t kFewestSizes = 3;
constexpr double kLongestMessage_s = 0.1;

constexpr double kTolerance = 0.15;
constexpr int kMostHalvings = 3;
constexpr std::size_t kMostSizes = 32;
constexpr std::size_t kNarrowest = 32;  // bytes between two sizes

constexpr int kPlogpRepeats = 3;
constexpr int kFirstStream = 4;  // messages
constexpr int kLongestStream = 256;
constexpr std::size_t kMostStreamBytes = std::size_t{32} << 20;  // what the receiver reserves
constexpr double kSaturated = 0.05;
constexpr double kLongestStream_s = 0.15;  // once the gap is known at all

// Beyond twice the one-way time, so that the sender may begin some milliseconds late and its message is still there.
constexpr double kPauseMargin_s = 10e-3;
// A send that needed this part of the pause waited for its receiver. An eager one needs the one-way time at the most.
constexpr double kHeldBack = 0.5;
constexpr std::size_t kLimitStep = 16;

constexpr std::size_t kSharedBytes = 16384;
constexpr double kShared_s = 0.05;

constexpr std::array<std::size_t, 3> kExchangeSizes = {1024, 8192, 32768};
constexpr int kExchangeRounds = 2;
constexpr std::size_t kMostExchanging = 16;

constexpr std::size_t kMostClasses = 64;  // of a kind; more are left out

constexpr double kShareOfBudget = 0.9;  // the rest is for error
// One size takes about so many times its one-way time: 3 x 2 round trips, 3 x (4 + 8) messages, 3 pauses of two.
constexpr double kVisit = 60;
constexpr double kLeastDirection_s = 0.1;  // below that a direction is not begun

// One class in one direction, and who takes part.
struct Direction {
  PairClass pairs;
  int from;  // hosts
  int to;
  std::string what;
  std::vector<Flow> flows;  // ranks; the first is measured, the others run beside it
  std::vector<int> group;   // ranks that exchange
};

// Disjoint flows between `from` and `to`, ranks that face each other.
std::vector<Flow> facing(const std::vector<int>& from, const std::vector<int>& to) {
  std::vector<Flow> flows;
  for (std::size_t i = 0; i < std::min(from.size(), to.size()); ++i) flows.push_back({from[i], to[i]});
  return flows;
}

std::vector<Flow> turned(std::vector<Flow> flows) {
  for (Flow& flow : flows) std::swap(flow.from, flow.to);
  return flows;
}

// Ranks 0 1 2 3 ... of one place: 0 -> 1, 2 -> 3, ...
std::vector<Flow> inside(const std::vector<int>& ranks) {
  std::vector<Flow> flows;
  for (std::size_t i = 0; i + 1 < ranks.size(); i += 2) flows.push_back({ranks[i], ranks[i + 1]});
  return flows;
}

std::vector<int> exchanging(std::vector<int> ranks) {
  if (ranks.size() > kMostExchanging) ranks.resize(kMostExchanging);
  if (ranks.size() < 3) ranks.clear();  // two only swap: nothing of theirs meets
  return ranks;
}

std::vector<Direction> directions(const net::Network& network,
                                  const std::vector<std::vector<int>>& ranks_of_host) {
  std::vector<Direction> all;
  const auto ranks_of = [&](const std::vector<int>& hosts) {
    std::vector<int> ranks;
    for (const int host : hosts) ranks.push_back(ranks_of_host[static_cast<std::size_t>(host)].front());
    return ranks;
  };
  const auto several = std::find_if(ranks_of_host.begin(), ranks_of_host.end(),
                                    [](const std::vector<int>& ranks) { return ranks.size() > 1; });
  if (several != ranks_of_host.end()) {
    const int host = static_cast<int>(several - ranks_of_host.begin());
    all.push_back({PairClass::host, host, host, "inside a host", inside(*several), exchanging(*several)});
  }
  for (std::size_t s = 0; s < std::min(network.subnets.size(), kMostClasses); ++s) {
    const std::vector<int>& hosts = network.subnets[s].hosts;
    if (hosts.size() < 2) continue;
    const std::vector<int> ranks = ranks_of(hosts);
    const std::string what = "inside subnet " + std::to_string(s);
    all.push_back({PairClass::subnet, hosts[0], hosts[1], what, inside(ranks), exchanging(ranks)});
    all.push_back({PairClass::subnet, hosts[1], hosts[0], what + ", back", {Flow{ranks[1], ranks[0]}}, {}});
  }
  for (std::size_t i = 0; i < std::min(network.between.size(), kMostClasses); ++i) {
    const net::Between& pair = network.between[i];
    const std::vector<int>& from = network.subnets[static_cast<std::size_t>(pair.from)].hosts;
    const std::vector<int>& to = network.subnets[static_cast<std::size_t>(pair.to)].hosts;
    const std::vector<Flow> flows = facing(ranks_of(from), ranks_of(to));
    const std::string what = "from subnet " + std::to_string(pair.from) + " to " + std::to_string(pair.to);
    all.push_back({PairClass::between, from[0], to[0], what, flows, {}});
    all.push_back({PairClass::between, to[0], from[0], what + ", back", turned(flows), {}});
  }
  return all;
}

// Everything about one size, reduced: the quietest of each.
struct Times {
  std::size_t bytes = 0;
  double one_way_s = 0;
  double gap_s = 0;
  double posting_s = 0;
  double receiving_s = 0;
  bool held_back = false;
};

double least(const std::vector<double>& values) { return *std::min_element(values.begin(), values.end()); }

// One direction of one class.
class Measurement {
 public:
  using Fits = std::function<bool(double seconds)>;  // whether the budget has so much left

  Measurement(const Direction& direction, Conductor& conductor, Fits fits)
      : direction_(direction), conductor_(conductor), fits_(std::move(fits)) {}

  ClassPLogP run() {
    measure_grid();
    find_eager_limit();
    reduce();
    measure_slow_down();
    measure_gamma();
    return std::move(result_);
  }

 private:
  const Flow& flow() const { return direction_.flows.front(); }

  void keep(const char* what, std::size_t bytes, std::vector<double> seconds) {
    result_.samples.push_back({what, bytes, std::move(seconds)});
  }

  void measure_grid() {
    std::vector<Times> grid;
    for (const std::size_t bytes : kGrid) {
      const std::size_t n = grid.size();
      if (n >= kFewestSizes) {
        const double expected = model::on_line({grid[n - 2].bytes, grid[n - 2].one_way_s},
                                               {grid[n - 1].bytes, grid[n - 1].one_way_s}, bytes);
        if (expected > kLongestMessage_s || !fits_(kVisit * expected)) break;
      }
      grid.push_back(measure(bytes));
      if (n >= 2) refine(grid[n - 2], grid[n - 1], grid[n], kMostHalvings);
    }
  }

  // Measures between `low` and `high` if the line from before does not lead there.
  void refine(const Times& before, const Times& low, const Times& high, int halvings) {
    const auto misses = [&](double Times::* of) {
      const double expected = model::on_line({before.bytes, before.*of}, {low.bytes, low.*of}, high.bytes);
      return std::abs(expected - high.*of) > kTolerance * high.*of;
    };
    const bool is_narrow = high.bytes - low.bytes <= 2 * std::max(kNarrowest, high.bytes / 16);
    if (halvings == 0 || is_narrow || times_.size() >= kMostSizes || !fits_(kVisit * high.one_way_s)) return;
    if (!misses(&Times::gap_s) && !misses(&Times::one_way_s)) return;
    const Times middle = measure(low.bytes + (high.bytes - low.bytes) / 2);
    refine(before, low, middle, halvings - 1);
    refine(low, middle, high, halvings - 1);
  }

  Times measure(std::size_t bytes) {
    Times times;
    times.bytes = bytes;
    std::vector<double> one_way;
    for (int i = 0; i < kPlogpRepeats; ++i)
      one_way.push_back(conductor_.ping(flow().from, flow().to, bytes, 2));
    times.one_way_s = least(one_way);
    keep("one way", bytes, std::move(one_way));
    times.gap_s = measure_gap(bytes);
    measure_overheads(times);
    times_[bytes] = times;
    return times;
  }

  std::vector<double> streams(std::size_t bytes, int count) {
    std::vector<double> seconds;
    for (int i = 0; i < kPlogpRepeats; ++i) {
      seconds.push_back(conductor_.streams({flow()}, bytes, count)[0].elapsed_s);
    }
    return seconds;
  }

  double measure_gap(std::size_t bytes) {
    const int most = static_cast<int>(std::clamp<std::size_t>(kMostStreamBytes / bytes, 2 * kFirstStream,
                                                              static_cast<std::size_t>(kLongestStream)));
    int count = kFirstStream;
    std::vector<double> half = streams(bytes, count);
    double previous = -1;
    for (;;) {
      const std::vector<double> whole = streams(bytes, 2 * count);
      double gap = (least(whole) - least(half)) / count;
      if (gap <= 0) gap = least(whole) / (2 * count);  // the shorter stream was disturbed each time
      const bool settled = previous > 0 && std::abs(gap - previous) <= kSaturated * gap;
      const double next_s = 2 * kPlogpRepeats * least(whole);
      if (settled || 4 * count > most || least(whole) > kLongestStream_s || !fits_(next_s)) {
        std::vector<double> gaps;
        for (std::size_t i = 0; i < whole.size(); ++i) {
          gaps.push_back(std::max(0.0, whole[i] - half[i]) / count);
        }
        keep("gap", bytes, std::move(gaps));
        return gap;
      }
      previous = gap;
      half = whole;
      count *= 2;
    }
  }

  void measure_overheads(Times& times) {
    std::vector<double> posting;
    std::vector<double> receiving;
    int held_back = 0;
    const double pause_s = kPauseMargin_s + 2 * times.one_way_s;
    for (int i = 0; i < kPlogpRepeats; ++i) {
      const Delayed delayed = conductor_.delayed(flow().from, flow().to, times.bytes, pause_s);
      posting.push_back(delayed.posting_s);
      receiving.push_back(delayed.receiving_s);
      if (delayed.completion_s >= kHeldBack * pause_s) ++held_back;
    }
    times.posting_s = least(posting);
    times.receiving_s = least(receiving);
    times.held_back = 2 * held_back > kPlogpRepeats;
    keep("send", times.bytes, std::move(posting));
    keep("receive", times.bytes, std::move(receiving));
  }

  bool is_held_back(std::size_t bytes, double one_way_s) {
    const double pause_s = kPauseMargin_s + 2 * one_way_s;
    int held_back = 0;
    for (int i = 0; i < kPlogpRepeats; ++i) {
      const Delayed delayed = conductor_.delayed(flow().from, flow().to, bytes, pause_s);
      if (delayed.completion_s >= kHeldBack * pause_s) ++held_back;
    }
    return 2 * held_back > kPlogpRepeats;
  }

  void find_eager_limit() {
    const auto held =
        std::find_if(times_.begin(), times_.end(), [](const auto& entry) { return entry.second.held_back; });
    if (held == times_.end()) return;
    std::size_t high = held->first;
    std::size_t low = held == times_.begin() ? 0 : std::prev(held)->first;
    while (high - low > kLimitStep && fits_(kPlogpRepeats * 3 * held->second.one_way_s)) {
      const std::size_t middle = low + (high - low) / 2;
      (is_held_back(middle, held->second.one_way_s) ? high : low) = middle;
    }
    result_.eager_limit = low;
    // So that the curves have their step where it is.
    for (const std::size_t bytes : {low, high}) {
      const bool is_near = std::any_of(times_.begin(), times_.end(), [&](const auto& entry) {
        const std::size_t other = entry.first;
        const bool same_side = (other > low) == (bytes > low);
        return same_side && (other > bytes ? other - bytes : bytes - other) <= kNarrowest;
      });
      if (bytes > 0 && !is_near && fits_(kVisit * held->second.one_way_s)) measure(bytes);
    }
  }

  void reduce() {
    result_.pairs = direction_.pairs;
    result_.from = direction_.from;
    result_.to = direction_.to;
    const bool any_eager = !times_.begin()->second.held_back;
    std::vector<model::Point> gap;
    std::vector<model::Point> send;
    std::vector<model::Point> receive;
    for (const auto& [bytes, times] : times_) {
      gap.push_back({bytes, times.gap_s});
      if (any_eager && result_.eager_limit && bytes > *result_.eager_limit) continue;
      send.push_back({bytes, times.posting_s});
      receive.push_back({bytes, times.receiving_s});
    }
    const Times& smallest = times_.begin()->second;
    result_.parameters = {std::max(0.0, smallest.one_way_s - smallest.gap_s), model::Curve(std::move(send)),
                          model::Curve(std::move(receive)), model::Curve(std::move(gap))};
  }

  // The slowest of several streams at once against the slowest of them alone.
  void measure_slow_down() {
    const std::size_t bytes = std::min(kSharedBytes, times_.rbegin()->first);
    const double messages = kShared_s / std::max(result_.parameters.gap(bytes), 1e-9);
    const int count = static_cast<int>(std::clamp(messages, 4.0, 64.0));
    const int most = static_cast<int>(direction_.flows.size());
    for (int n = 2; n <= most; n *= 2) {
      // Alone and together, which may be n times as long.
      const double seconds = count * result_.parameters.gap(bytes) * kPlogpRepeats * 2 * n;
      if (!fits_(seconds)) return;
      const std::vector<Flow> flows(direction_.flows.begin(), direction_.flows.begin() + n);
      double alone = 0;
      for (const Flow& one : flows) {
        double quietest = 1e300;
        for (int i = 0; i < kPlogpRepeats; ++i) {
          quietest = std::min(quietest, conductor_.streams({one}, bytes, count)[0].elapsed_s);
        }
        alone = std::max(alone, quietest);
      }
      double together = 1e300;
      for (int i = 0; i < kPlogpRepeats; ++i) {
        double last = 0;
        for (const Answer& answer : conductor_.streams(flows, bytes, count)) {
          last = std::max(last, answer.elapsed_s);
        }
        together = std::min(together, last);
      }
      if (alone > 0 && together > 0) result_.slow_down.push_back({n, together / alone});
    }
  }

  void measure_gamma() {
    std::vector<model::MeasuredExchange> measured;
    const std::size_t largest =
        std::min(times_.rbegin()->first, result_.eager_limit.value_or(times_.rbegin()->first));
    for (const std::size_t bytes : kExchangeSizes) {
      // On a bus every message waits for all others.
      const double n = static_cast<double>(direction_.group.size());
      const double expected = result_.parameters.gap(bytes) * n * n * (1 + kExchangeRounds) * kPlogpRepeats;
      if (direction_.group.empty() || bytes > largest || !fits_(expected)) break;
      std::vector<double> seconds;
      for (int i = 0; i < kPlogpRepeats; ++i) {
        seconds.push_back(conductor_.exchange(direction_.group, bytes, kExchangeRounds));
      }
      measured.push_back({static_cast<int>(direction_.group.size()), bytes, least(seconds)});
      keep("exchange", bytes, std::move(seconds));
    }
    result_.gamma = model::fit_gamma(result_.parameters, measured);
  }

  const Direction& direction_;
  Conductor& conductor_;
  Fits fits_;
  std::map<std::size_t, Times> times_;
  ClassPLogP result_;
};

}  // namespace

std::vector<ClassPLogP> measure_plogp(const net::Network& network, Conductor& conductor,
                                      const PlogpOptions& options) {
  const double start_s = options.clock();
  const auto fits = [&](double seconds) {
    const double end_s = start_s + kShareOfBudget * options.budget_s;
    return options.budget_s <= 0 || options.clock() + seconds < end_s;
  };
  const std::vector<Direction> all = directions(network, options.ranks_of_host);
  std::vector<ClassPLogP> measured;
  for (const Direction& direction : all) {
    if (!fits(kLeastDirection_s)) break;
    if (options.progress) {
      options.progress("pLogP " + direction.what,
                       static_cast<double>(measured.size()) / static_cast<double>(all.size()));
    }
    measured.push_back(Measurement(direction, conductor, fits).run());
  }
  return measured;
}

}  // namespace eco::measure
