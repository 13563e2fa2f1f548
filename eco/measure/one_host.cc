#include "eco/measure/one_host.h"

#include <algorithm>
#include <limits>

#include "eco/measure/common.h"

namespace eco::measure {
namespace {

constexpr int kTimes = 3;
constexpr std::size_t kLongBytes = 262144;
constexpr double kNever_s = std::numeric_limits<double>::infinity();

// Until the last rank has all that the one before it sends, all ranks at once.
double round_s(Conductor& conductor, const std::vector<int>& ranks, std::size_t n_messages,
               const std::function<bool()>& in_time) {
  constexpr double kEnough_s = 0.05;  // what takes so long need not be repeated
  std::vector<Flow> round;
  for (std::size_t i = 0; i < ranks.size(); ++i) round.push_back({ranks[i], ranks[(i + 1) % ranks.size()]});
  double seconds = kNever_s;
  for (int i = 0; i < kTimes && in_time(); ++i) {
    double slowest = 0;
    for (const Answer& answer : conductor.streams(round, kLongBytes, n_messages))
      slowest = std::max(slowest, answer.elapsed_s);
    seconds = std::min(seconds, slowest);
    if (slowest > kEnough_s) break;
  }
  return seconds;
}

}  // namespace

void measure_memory(Conductor& conductor, net::Network& network, const Flow& neighbours) {
  constexpr std::size_t kShortBytes = 8;
  double small = kNever_s;
  double large = kNever_s;
  for (int i = 0; i < kTimes; ++i) {
    small = std::min(small, conductor.ping(neighbours.from, neighbours.to, kShortBytes, 3));
    large = std::min(large, conductor.ping(neighbours.from, neighbours.to, kLongBytes, 3));
  }
  if (large > small)
    network.memory_bytes_per_s = static_cast<double>(kLongBytes - kShortBytes) / (large - small);
  network.memory_latency_s = std::max(0.0, small - network.send_overhead_s - network.receive_overhead_s);
}

void measure_host(Conductor& conductor, net::Network& network, int host, const std::vector<int>& ranks,
                  const std::function<bool()>& in_time) {
  constexpr std::size_t kMessages = 8;
  const double seconds = round_s(conductor, ranks, kMessages, in_time);
  if (seconds > 0 && seconds < kNever_s) {
    network.memory_pair_bytes_per_s = network.memory_bytes_per_s;
    network.memory_bytes_per_s = static_cast<double>(ranks.size() * kMessages * kLongBytes) / seconds;
  }
  const Common processors = measure_processors(conductor, network, host, ranks, in_time);
  network.memory_message_s = processors.message_s;
  network.memory_wake_s = processors.wake_s;
  network.memory_latency_s =
      std::max(0.0, network.memory_latency_s - processors.message_s - processors.wake_s);
}

}  // namespace eco::measure
