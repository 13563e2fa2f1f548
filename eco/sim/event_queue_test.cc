#include "eco/sim/event_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <utility>

namespace eco::sim {
namespace {

// Against a sorted set, with many events at equal times and pushes in every position between two pops. Streams 0 to 2
// are in order, stream 3 often is not.
TEST(EventQueue, GivesEventsByTimeAndThoseOfOneTimeAsTheyWereCreated) {
  std::mt19937 random(1);
  EventQueue queue(4);
  std::set<std::pair<double, std::uint32_t>> expected;  // messages are numbered as they are created
  std::uint32_t n = 0;
  double now = 0;
  double last_s[3] = {};
  const auto push = [&] {
    const std::size_t stream = random() % 4;
    double s = now + static_cast<double>(random() % 8);
    if (stream < 3) s = last_s[stream] = std::max(s, last_s[stream]);
    queue.push(s, n, EventKind::arrival, stream);
    expected.emplace(s, n++);
  };
  for (int i = 0; i < 5000; ++i) {
    // Grows, then shrinks to nothing, again and again.
    for (auto left = random() % (i / 500 % 2 == 0 ? 4 : 2); left > 0; --left) push();
    ASSERT_EQ(queue.is_empty(), expected.empty());
    if (expected.empty()) continue;
    const Event event = queue.pop();
    ASSERT_EQ(std::pair(event.s, event.message), *expected.begin());
    EXPECT_EQ(event.kind, EventKind::arrival);
    now = event.s;
    expected.erase(expected.begin());
  }
  while (!queue.is_empty()) {
    ASSERT_EQ(queue.pop().message, expected.begin()->second);
    expected.erase(expected.begin());
  }
  EXPECT_TRUE(expected.empty());
}

}  // namespace
}  // namespace eco::sim
