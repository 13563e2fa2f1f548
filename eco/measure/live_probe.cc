#include "eco/measure/live_probe.h"

#include <algorithm>
#include <utility>

#include "eco/structure/sampler.h"

namespace eco::measure {
namespace {

using structure::Pace;
using structure::Pair;
using structure::Round;

constexpr std::size_t kLongestEager = 16384;  // eager in every library that we know
constexpr std::size_t kShortestEager = 2048;
constexpr int kFewest = 12;
constexpr int kMost = 64;
// Shorter streams than this say more about who was told first.
constexpr double kShortestStream_s = 0.03;
// A stream that lasted less than this share of its time was expected to be slower than it is.
constexpr double kTooShort = 0.5;
constexpr int kTries = 3;
// Of the time since a receiver was told, its messages must have taken so much to come: else it was asleep and found them all.
constexpr double kAwake = 0.2;
// All streams of a round must flow together for this share of the shortest, else each has its own time.
constexpr double kTogether = 0.3;

double at(const std::vector<double>& times, double moment) {
  // Messages that had come, and the part of the next that had.
  const auto next = std::upper_bound(times.begin(), times.end(), moment);
  const auto n = static_cast<double>(next - times.begin());
  if (next == times.begin() || next == times.end()) return n;
  const double before = *(next - 1);
  return n + (moment - before) / (*next - before);
}

}  // namespace

std::vector<Flow> flows_of(const std::vector<Pair>& pairs, const std::vector<int>& rank_of_host) {
  const auto rank_of = [&](int host) { return rank_of_host[static_cast<std::size_t>(host)]; };
  std::vector<Flow> flows;
  for (const Pair& pair : pairs) flows.push_back({rank_of(pair.from), rank_of(pair.to)});
  return flows;
}

double rate_within(const std::vector<double>& times, std::size_t bytes, double from_s, double to_s) {
  if (times.empty() || !(to_s > from_s)) return 0;
  return static_cast<double>(bytes) * (at(times, to_s) - at(times, from_s)) / (to_s - from_s);
}

LiveProbe::LiveProbe(Conductor& conductor, std::vector<int> rank_of_host, Clock clock,
                     std::function<void()> asked, const ProbeSamples& known)
    : conductor_(conductor),
      rank_of_host_(std::move(rank_of_host)),
      clock_(std::move(clock)),
      asked_(std::move(asked)),
      known_(known) {}

std::uint64_t LiveProbe::way(const Pair& flow) const {
  return static_cast<std::uint64_t>(flow.from) << 32U | static_cast<std::uint64_t>(flow.to);
}

// So many at most of what is known of a pair, and not given out yet.
std::vector<double> LiveProbe::known(const Pair& pair, int samples) {
  std::vector<double>& all = known_[structure::pair_key(pair.from, pair.to)];
  const auto n = std::min(std::ssize(all), static_cast<std::ptrdiff_t>(samples));
  std::vector<double> given(all.begin(), all.begin() + n);
  all.erase(all.begin(), all.begin() + n);
  return given;
}

std::vector<std::vector<double>> LiveProbe::latencies(const std::vector<Round>& rounds, int samples,
                                                      Pace pace) {
  struct Open {
    Pair pair;
    std::size_t at;  // in seconds
  };
  std::vector<std::vector<double>> seconds;
  std::vector<Open> open;
  std::vector<Round> rest;
  std::vector<std::vector<Flow>> flows;
  for (const Round& round : rounds) {
    Round unknown;
    for (const Pair& pair : round) {
      seconds.push_back(known(pair, samples));
      if (!seconds.back().empty()) continue;
      open.push_back({pair, seconds.size() - 1});
      unknown.push_back(pair);
    }
    if (unknown.empty()) continue;
    flows.push_back(flows_of(unknown, rank_of_host_));
    rest.push_back(std::move(unknown));
  }
  if (open.empty()) return seconds;
  asked_();
  const double start = clock_();
  const auto trips = pace == Pace::in_turn
                         ? conductor_.trips_in_rounds(flows, kProbeBytes, samples)
                         : conductor_.staggered_trips(
                               flows, kProbeBytes, samples,
                               structure::stagger_s(structure::n_asking(rest), farthest_trip_s_, n_hosts()));
  auto next = open.begin();
  for (const auto& of_round : trips) {
    for (const std::vector<double>& of_pair : of_round) {
      const auto [pair, at] = *next++;
      for (const double trip : of_pair) seconds[at].push_back(trip / 2);
      std::vector<double>& all = samples_[structure::pair_key(pair.from, pair.to)];
      all.insert(all.end(), seconds[at].begin(), seconds[at].end());
      if (samples > structure::kGlance)
        farthest_trip_s_ = std::max(farthest_trip_s_, *std::min_element(of_pair.begin(), of_pair.end()));
    }
  }
  cost_.network_s += clock_() - start;
  cost_.messages += static_cast<long>(open.size()) * (2L * samples + 6);
  return seconds;
}

LiveProbe::Shape LiveProbe::shape(const Pair& flow, double seconds) const {
  const auto expected = expected_.find(way(flow));
  if (expected == expected_.end()) return {kShortestEager, kFewest};
  const double total = seconds * expected->second;
  std::size_t bytes = kLongestEager;
  while (bytes > kShortestEager && static_cast<double>(bytes) * kFewest > total) bytes /= 2;
  const int count =
      static_cast<int>(std::min(total / static_cast<double>(bytes), static_cast<double>(kMost)));
  return {bytes, std::max(count, kFewest)};
}

std::vector<double> LiveProbe::stream(const std::vector<Pair>& flows, double seconds, double& lasted_s) {
  std::vector<Stream> streams;
  const std::vector<Flow> of_ranks = flows_of(flows, rank_of_host_);
  for (std::size_t f = 0; f < flows.size(); ++f) {
    const auto [bytes, count] = shape(flows[f], seconds);
    streams.push_back({of_ranks[f], bytes, count});
    cost_.messages += count + 5;
  }
  const auto times = conductor_.arrivals(streams);
  const auto is_awake = [](const std::vector<double>& of_flow) {
    return of_flow.back() - of_flow.front() >= kAwake * of_flow.back();
  };
  double begun = 0;
  double ended = 1e300;
  double shortest = 1e300;
  lasted_s = 0;
  for (const std::vector<double>& of_flow : times) {
    lasted_s = std::max(lasted_s, of_flow.back());
    if (!is_awake(of_flow)) continue;
    begun = std::max(begun, of_flow.front());
    ended = std::min(ended, of_flow.back());
    shortest = std::min(shortest, of_flow.back() - of_flow.front());
  }
  const bool is_together = ended - begun >= kTogether * shortest;
  std::vector<double> rates;
  for (std::size_t f = 0; f < flows.size(); ++f) {
    const double own = rate_within(times[f], streams[f].bytes, times[f].front(), times[f].back());
    const double beside = is_together ? rate_within(times[f], streams[f].bytes, begun, ended) : 0;
    const double at_least =
        static_cast<double>(streams[f].bytes) * streams[f].count / std::max(times[f].back(), 1e-6);
    const double rate = !is_awake(times[f]) ? at_least : beside > 0 ? beside : own;
    rates.push_back(rate);
    expected_[way(flows[f])] = rate;
  }
  return rates;
}

std::vector<double> LiveProbe::rates(const std::vector<Pair>& flows, double seconds) {
  asked_();
  const double start = clock_();
  const double wanted_s = std::max(seconds, kShortestStream_s);
  std::vector<double> rates;
  for (int i = 0; i < kTries; ++i) {
    const bool all_expected = std::all_of(flows.begin(), flows.end(),
                                          [this](const Pair& flow) { return expected_.contains(way(flow)); });
    double lasted_s = 0;
    rates = stream(flows, wanted_s, lasted_s);
    if (all_expected && lasted_s >= kTooShort * wanted_s) break;
  }
  cost_.network_s += clock_() - start;
  return rates;
}

}  // namespace eco::measure
