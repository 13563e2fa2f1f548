#include "eco/structure/streams.h"

#include <algorithm>

namespace eco::structure {
namespace {

constexpr int kRepeats = 4;
constexpr int kMostRepeats = 8;
// Of hundreds of streams some have two times that are spoilt alike.
constexpr std::size_t kConfirmations = 2;
constexpr double kAgreement = 0.9;
// A stream lasts this long, or so many of its latencies: what it takes to begin must not matter.
constexpr double kStream_s = 0.02;
constexpr double kLatencies = 4;
// Flows whose latency is looked at for that.
constexpr std::size_t kLookedAt = 8;

}  // namespace

std::vector<double> Streams::rates(const std::vector<Pair>& flows) {
  std::vector<Pair> farthest(flows.begin(),
                             flows.begin() + static_cast<std::ptrdiff_t>(std::min(flows.size(), kLookedAt)));
  sampler_.want(farthest);
  double stream_s = kStream_s;
  for (const Pair& flow : farthest) {
    stream_s = std::max(stream_s, kLatencies * sampler_.latency_s(flow.from, flow.to));
  }
  std::vector<std::vector<double>> seconds_per_byte(flows.size());
  for (int repeat = 0; repeat < kMostRepeats; ++repeat) {
    const std::vector<double> rates = probe_.rates(flows, stream_s);
    for (std::size_t f = 0; f < flows.size(); ++f) seconds_per_byte[f].push_back(1 / rates[f]);
    if (repeat + 1 < kRepeats) continue;
    // Of many flows at once a few are always off; of few each counts.
    const auto in_doubt =
        std::count_if(seconds_per_byte.begin(), seconds_per_byte.end(),
                      [](const auto& seconds) { return !is_confirmed(seconds, kAgreement, kConfirmations); });
    if (20 * static_cast<std::size_t>(in_doubt) <= flows.size()) break;
  }
  std::vector<double> confirmed;
  for (const auto& seconds : seconds_per_byte)
    confirmed.push_back(1 / confirmed_minimum(seconds, kAgreement, kConfirmations));
  return confirmed;
}

}  // namespace eco::structure
