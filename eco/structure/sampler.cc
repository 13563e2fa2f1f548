#include "eco/structure/sampler.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>
#include <utility>

#include "eco/base/assert.h"
#include "eco/base/quantile.h"
#include "eco/structure/disjoint.h"
#include "eco/structure/grouping.h"

namespace eco::structure {
namespace {

// A minimum is confirmed by two samples within 2 %: of a few thousand pairs some have two samples that are spoilt alike,
// and one that is spoilt by less is off by no more than what grouping allows for. It is stable if the second half of the
// samples changed it by no more than 1 %.
constexpr double kAgreement = 0.98;
constexpr std::size_t kConfirmations = 2;
constexpr double kStable = 0.99;
constexpr int kFirstSamples = 6;
constexpr int kMoreSamples = 4;
constexpr std::size_t kMostSamples = 30;
// One way. Nearer ones are not staggered: what they are off by beside others counts.
constexpr double kFar_s = 2e-3;
// Of many hosts, at once; no more once there are so many pairs.
constexpr std::size_t kRounds = 64;
constexpr std::size_t kPairs = 4000;

// Pairs of the first round that are measured alone too, by how much they may be quicker then, and how many of them must not
// be quicker by more: on a bus those that meet there disturb each other, and nobody else. If the tree contradicts more than
// this share of the pairs, rounds do disturb.
constexpr std::size_t kCheckedAlone = 9;
constexpr double kUndisturbed = 1.1;
constexpr double kMostOfThem = 0.8;
constexpr double kContradicted = 0.25;
// The minimum of a few samples is off by so many times what the next lowest are above it.
constexpr double kErrorsOfScatter = 2;

// The first of ascending values that is confirmed; their number if none is.
std::size_t first_confirmed(const std::vector<double>& sorted, double agreement, std::size_t confirmations) {
  for (std::size_t i = 0; i + confirmations < sorted.size(); ++i) {
    if (sorted[i] >= agreement * sorted[i + confirmations]) return i;
  }
  return sorted.size();
}

// A latency has no direction: whoever is in more pairs begins the trips, as trips are spaced where they begin.
void let_the_busy_ask(std::vector<Round>& rounds) {
  std::unordered_map<int, int> n_pairs_of;
  for (const Round& round : rounds) {
    for (const Pair& pair : round) {
      ++n_pairs_of[pair.from];
      ++n_pairs_of[pair.to];
    }
  }
  for (Round& round : rounds) {
    for (Pair& pair : round) {
      if (n_pairs_of.at(pair.to) > n_pairs_of.at(pair.from)) std::swap(pair.from, pair.to);
    }
  }
}

int octave(double seconds) { return static_cast<int>(std::floor(std::log2(std::max(seconds, 1e-9)))); }

}  // namespace

double confirmed_minimum(std::vector<double> values, double agreement, std::size_t confirmations) {
  ECO_ASSERT(light, !values.empty(), "a minimum of something");
  std::sort(values.begin(), values.end());
  for (std::size_t wanted = confirmations; wanted > 0; --wanted) {
    const std::size_t first = first_confirmed(values, agreement, wanted);
    if (first < values.size()) return values[first];
  }
  return values.front();
}

bool is_confirmed(std::vector<double> values, double agreement, std::size_t confirmations) {
  std::sort(values.begin(), values.end());
  return first_confirmed(values, agreement, confirmations) < values.size();
}

std::uint64_t pair_key(int a, int b) {
  const auto [low, high] = std::minmax(a, b);
  return static_cast<std::uint64_t>(low) << 32U | static_cast<std::uint64_t>(high);
}

double Sampler::latency_s(int a, int b) const {
  const auto found = known_.find(pair_key(a, b));
  ECO_ASSERT(light, found != known_.end(), "only pairs that were wanted are known");
  return found->second;
}

bool Sampler::is_stable(const std::vector<double>& samples) {
  if (!is_confirmed(samples, kAgreement, kConfirmations)) return false;
  const auto half = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  const double before = confirmed_minimum({samples.begin(), half}, kAgreement, kConfirmations);
  const double now = confirmed_minimum(samples, kAgreement, kConfirmations);
  return now >= kStable * before && kStable * now <= before;
}

// Of those that wait: disjoint ones, or one if rounds disturb.
Round Sampler::next_round(std::vector<Pair>& waiting) const {
  if (in_parallel_) return take_disjoint(waiting, probe_.n_hosts());
  const Pair first = waiting.front();
  waiting.erase(waiting.begin());
  return {first};
}

Pace Sampler::pace() const {
  return has_far_ && in_parallel_ && probe_.n_hosts() > kFewHosts ? Pace::staggered : Pace::in_turn;
}

// Calls use(pair, seconds) for each.
template <class Use>
void Sampler::ask(std::vector<Pair> pairs, int samples, Pace pace, const Use& use) {
  const std::size_t at_once = probe_.n_hosts() > kFewHosts ? kRounds : 1;
  while (!pairs.empty()) {
    std::vector<Round> rounds;
    for (std::size_t n = 0; !pairs.empty() && rounds.size() < at_once && n < kPairs;) {
      rounds.push_back(next_round(pairs));
      n += rounds.back().size();
    }
    if (pace == Pace::staggered) let_the_busy_ask(rounds);
    const std::vector<std::vector<double>> seconds = probe_.latencies(rounds, samples, pace);
    auto of_pair = seconds.begin();
    for (const Round& round : rounds) {
      for (const Pair& pair : round) use(pair, *of_pair++);
    }
  }
}

std::vector<double> Sampler::glance(const std::vector<Pair>& pairs) {
  std::unordered_map<std::uint64_t, double> seen;
  const auto note = [&](const Pair& pair, const std::vector<double>& seconds) {
    const std::uint64_t of_pair = pair_key(pair.from, pair.to);
    if (!seconds.empty()) glanced_[of_pair] = seconds;
    // There may be no more samples of a pair that is known, or was glanced at.
    if (seconds.empty() && seen.contains(of_pair)) return;
    const auto found = seconds.empty() ? known_.find(of_pair) : known_.end();
    const bool is_known = found != known_.end() && found->second > 0;
    const auto lowest = [](const std::vector<double>& of) { return *std::min_element(of.begin(), of.end()); };
    seen[of_pair] = is_known ? found->second : lowest(glanced_.at(of_pair));
  };
  const Pace first = pace();
  ask(pairs, kGlance, first, note);
  if (first == Pace::staggered) {
    std::vector<Pair> near = pairs;
    std::erase_if(near, [&](const Pair& pair) { return seen.at(pair_key(pair.from, pair.to)) >= kFar_s; });
    ask(near, kGlance, Pace::in_turn, note);
  }
  std::vector<double> lowest;
  for (const Pair& pair : pairs) lowest.push_back(seen.at(pair_key(pair.from, pair.to)));
  return lowest;
}

// Staggered, those that turn out to be near are returned: to be asked in turn, where other messages count.
std::vector<Pair> Sampler::ask_until_stable(std::vector<Pair> open, Pace pace) {
  std::vector<Pair> near;
  std::unordered_set<std::uint64_t> spent;  // there are no more samples of these
  for (int samples = kFirstSamples; !open.empty(); samples = kMoreSamples) {
    ask(open, samples, pace, [&](const Pair& pair, const std::vector<double>& seconds) {
      auto& all = samples_[pair_key(pair.from, pair.to)];
      all.insert(all.end(), seconds.begin(), seconds.end());
      if (seconds.empty()) spent.insert(pair_key(pair.from, pair.to));
    });
    std::erase_if(open, [&](const Pair& pair) {
      auto& all = samples_[pair_key(pair.from, pair.to)];
      if (pace == Pace::staggered && !all.empty() &&
          confirmed_minimum(all, kAgreement, kConfirmations) < kFar_s) {
        // What was remembered is not given out twice: it counts like a glance.
        glanced_[pair_key(pair.from, pair.to)] = std::exchange(all, {});
        near.push_back(pair);
        return true;
      }
      return spent.contains(pair_key(pair.from, pair.to)) || all.size() >= kMostSamples || is_stable(all);
    });
  }
  return near;
}

void Sampler::measure(const std::vector<Pair>& pairs) {
  const bool is_staggered = pace() == Pace::staggered;
  ask_until_stable(is_staggered ? ask_until_stable(pairs, Pace::staggered) : pairs, Pace::in_turn);
  for (const Pair& pair : pairs) {
    const std::uint64_t of_pair = pair_key(pair.from, pair.to);
    // A glance that led here was a low one, and trips beside others are long ones: they count only where there is nothing else.
    if (samples_[of_pair].empty() && glanced_.contains(of_pair)) samples_[of_pair] = glanced_.at(of_pair);
    if (samples_[of_pair].empty()) continue;
    known_[of_pair] = confirmed_minimum(samples_[of_pair], kAgreement, kConfirmations);
    note_scatter(samples_[of_pair], known_[of_pair]);
    has_far_ |= known_[of_pair] >= kFar_s;
    samples_.erase(of_pair);
  }
}

// How far the minimum of some samples is from the true one shows in how far it is from the next lowest: a quarter of them.
void Sampler::note_scatter(const std::vector<double>& samples, double latency_s) {
  std::vector<double> sorted = samples;
  std::sort(sorted.begin(), sorted.end());
  const double next = 1 / std::max(1.0, static_cast<double>(sorted.size()) - 1);
  const double quarter = base::quantile(sorted, std::max(0.25, next));
  std::vector<double>& scatter = scatter_[octave(latency_s)];
  const double of_this = std::max(0.0, quarter - latency_s);
  scatter.insert(std::upper_bound(scatter.begin(), scatter.end(), of_this), of_this);
}

double Sampler::error_s(double latency_s) const {
  const auto found = scatter_.find(octave(latency_s));
  if (found == scatter_.end()) return kError * latency_s;
  return std::max(kError * latency_s, kErrorsOfScatter * base::quantile(found->second, 0.5));
}

bool Sampler::is_noisy(double latency_s) const { return error_s(latency_s) > kError * latency_s; }

std::vector<Pair> Sampler::known_pairs() const {
  std::vector<Pair> pairs;
  for (const auto& [key, latency_s] : known_)
    if (latency_s > 0) pairs.push_back({static_cast<int>(key >> 32U), static_cast<int>(key & 0xffffffffU)});
  std::sort(pairs.begin(), pairs.end(),
            [](const Pair& x, const Pair& y) { return std::pair(x.from, x.to) < std::pair(y.from, y.to); });
  return pairs;
}

void Sampler::judge_rounds(std::size_t contradicted, std::size_t of_pairs) {
  if (!in_parallel_ || static_cast<double>(contradicted) <= kContradicted * static_cast<double>(of_pairs))
    return;
  in_parallel_ = false;
  scatter_.clear();  // as it was of rounds
}

// Measures known pairs once more: what counts is settled(now, before).
template <class Settled>
void Sampler::once_more(const std::vector<Pair>& pairs, const Settled& settled) {
  std::vector<double> before;
  for (const Pair& pair : pairs) before.push_back(latency_s(pair.from, pair.to));
  measure(pairs);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    double& now = known_[pair_key(pairs[i].from, pairs[i].to)];
    now = settled(now, before[i]);
  }
}

void Sampler::measure_anew(const std::vector<Pair>& pairs) {
  // Where all times scatter, more samples make a minimum better, and only that.
  once_more(pairs, [this](double now, double before) { return is_noisy(now) ? std::min(now, before) : now; });
}

void Sampler::measure_again(const std::vector<Pair>& pairs) {
  once_more(pairs, [](double now, double before) { return std::max(now, before); });
}

void Sampler::check_that_rounds_are_quiet(std::vector<Pair> pairs) {
  is_checked_ = true;
  const Round round = next_round(pairs);
  const auto beside_others = probe_.latencies({round}, kFirstSamples, Pace::in_turn);
  in_parallel_ = false;
  const std::vector<Pair> some(
      round.begin(), round.begin() + static_cast<std::ptrdiff_t>(std::min(round.size(), kCheckedAlone)));
  measure(some);
  std::vector<double> slower;
  for (std::size_t i = 0; i < some.size(); ++i) {
    if (latency_s(some[i].from, some[i].to) == 0) continue;  // there are no more samples of it
    slower.push_back(confirmed_minimum(beside_others[i], kAgreement, kConfirmations) /
                     latency_s(some[i].from, some[i].to));
  }
  std::sort(slower.begin(), slower.end());
  in_parallel_ = slower.empty() || base::quantile(slower, kMostOfThem) <= kUndisturbed;
  if (!in_parallel_) return;
  for (std::size_t i = 0; i < round.size(); ++i) {
    if (latency_s(round[i].from, round[i].to) > 0) continue;
    samples_[pair_key(round[i].from, round[i].to)] = beside_others[i];
  }
}

void Sampler::want(const std::vector<Pair>& pairs) {
  std::vector<Pair> missing;
  for (const Pair& pair : pairs) {
    // A placeholder keeps a pair from being asked for twice.
    if (pair.from != pair.to && known_.try_emplace(pair_key(pair.from, pair.to), 0).second)
      missing.push_back(pair);
  }
  if (missing.empty()) return;
  if (!is_checked_ && probe_.n_hosts() > 3) check_that_rounds_are_quiet(missing);
  std::erase_if(missing, [this](const Pair& pair) { return latency_s(pair.from, pair.to) > 0; });
  measure(missing);
}

}  // namespace eco::structure
