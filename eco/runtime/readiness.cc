#include "eco/runtime/readiness.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace eco::runtime {
namespace {

// Times are agreed in these: as seconds they have no digits that a rank could round otherwise.
constexpr int kTicksPerSecond_log2 = 20;
// What a communicator loses that ends just when it is armed: a twentieth.
constexpr std::int64_t kWorthArming = 20;
// Sending these takes about as long as a short call does on the networks at hand (1 to 100 Gbit/s, 30 us to 1 us).
constexpr std::size_t kBytesPerShortCall = 4096;

std::int64_t ticks(double seconds) {
  return std::llround(std::ldexp(std::clamp(seconds, 0.0, 1e9), kTicksPerSecond_log2));
}

double seconds_of(std::int64_t ticks) {
  return std::ldexp(static_cast<double>(ticks), -kTicksPerSecond_log2);
}

}  // namespace

Readiness agree_on_readiness(transport::Native& native, const Standing& mine) {
  // Least of all ranks: the call's own time is that of the rank that came last, which waited for nobody. Of costs the
  // largest. A digest is equal everywhere if the least is also the largest; in halves, so that both have a negative.
  const auto low = static_cast<std::int64_t>(mine.known_digest & 0xffffffffu);
  const auto high = static_cast<std::int64_t>(mine.known_digest >> 32);
  std::array<std::int64_t, 15> least = {mine.has_room ? 1 : 0,
                                        mine.is_first ? 1 : 0,
                                        ticks(mine.budget_left_s),
                                        ticks(mine.passed_s),
                                        -ticks(mine.arming_s),
                                        -ticks(mine.known_arming_s),
                                        ticks(mine.known_gain_s),
                                        ticks(mine.missed_gain_s),
                                        ticks(mine.early_s),
                                        low,
                                        -low,
                                        high,
                                        -high,
                                        mine.proposed_tags,
                                        -mine.proposed_tags};
  native.allreduce_min(least);
  const auto [has_room, is_first, budget, passed, arming, known_arming, known_gain, missed_gain, early,
              low_least, low_most, high_least, high_most, tags_least, tags_most] = least;
  Readiness ready;
  ready.has_room = has_room == 1;
  ready.budget_left_s = seconds_of(budget);
  ready.is_known = low_least == -low_most && high_least == -high_most && (low_least != 0 || high_least != 0);
  const std::int64_t costs = -(ready.is_known ? known_arming : arming);
  ready.pays = is_first == 1 || passed >= kWorthArming * costs || (ready.is_known && known_gain > costs) ||
               (ready.is_known && missed_gain >= costs && early >= costs);
  ready.same_tags = tags_least == -tags_most;
  return ready;
}

void Pace::note(std::size_t bytes) { passed_ += 1 + static_cast<std::int64_t>(bytes / kBytesPerShortCall); }

bool Pace::is_due(std::size_t bytes) {
  note(bytes);
  if (passed_ < next_) return false;
  next_ = passed_ + passed_ / 2;
  return true;
}

}  // namespace eco::runtime
