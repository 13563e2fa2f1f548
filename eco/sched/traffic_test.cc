// Counts that can be made by hand.
#include "eco/sched/traffic.h"

#include <gtest/gtest.h>

#include "eco/base/errors.h"
#include "eco/sched/testing.h"

namespace eco::sched {
namespace {

using testing::out;
using testing::scratch;

std::vector<Schedule> ranks(const std::vector<Body>& bodies) {
  std::vector<Schedule> schedules;
  for (std::size_t rank = 0; rank < bodies.size(); ++rank) {
    schedules.emplace_back(static_cast<int>(rank), static_cast<int>(bodies.size()));
    schedules.back().once(bodies[rank]);
  }
  return schedules;
}

// A root that serves three others, and a chain of four.
TEST(Traffic, TellsAFanFromAChain) {
  const auto leaf = [](int from) { return [from](std::size_t, Emitter& e) { e.recv(from, out(0, 8)); }; };
  const Traffic fan = count_traffic(ranks({[](std::size_t, Emitter& e) {
                                             for (const int to : {1, 2, 3}) e.send(to, out(0, 8));
                                           },
                                           leaf(0), leaf(0), leaf(0)}));
  EXPECT_EQ(fan.rounds, 3);
  EXPECT_EQ(fan.chain, 1);
  EXPECT_EQ(fan.bytes, 24U);
  EXPECT_EQ(fan.most_sent_bytes, 24U);
  EXPECT_EQ(fan.most_received_bytes, 8U);
  EXPECT_EQ(fan.bytes_between(std::vector<int>{0, 0, 1, 1}), 16U);

  const auto link = [](int rank) {
    return [rank](std::size_t, Emitter& e) {
      e.recv(rank - 1, out(0, 8));
      e.send(rank + 1, out(0, 8));
    };
  };
  const Traffic chain = count_traffic(
      ranks({[](std::size_t, Emitter& e) { e.send(1, out(0, 8)); }, link(1), link(2), leaf(2)}));
  EXPECT_EQ(chain.rounds, 3);
  EXPECT_EQ(chain.chain, 3);
  EXPECT_EQ(chain.most_sent_bytes, 8U);
  EXPECT_EQ(chain.bytes_between(std::vector<int>{0, 0, 1, 1}), 8U);
  EXPECT_EQ(draw(chain, {{0, 1}, {2, 3}}),
            "round    0    1  |    2    3\n"
            "    1   >1   <0  |    .    .\n"
            "    2    .   >2  |   <1    .\n"
            "    3    .    .  |   >3   <2\n");
  EXPECT_EQ(draw(chain, {{0, 1, 2, 3}}, 1),
            "round    0    1    2    3\n    1   >1   <0    .    .\nand 2 rounds more\n");
}

// Two pairs exchange, combine and exchange across: two rounds of four messages each, sent and received at once.
TEST(Traffic, FollowsWhatIsCombined) {
  const auto body = [](int rank) {
    return [rank](std::size_t, Emitter& e) {
      for (const int bit : {1, 2}) {
        e.send(rank ^ bit, out(0, 16), bit);
        e.recv(rank ^ bit, scratch(0, 16), bit);
        e.reduce(scratch(0, 16), out(0, 16));
      }
    };
  };
  std::vector<Schedule> schedules = ranks({body(0), body(1), body(2), body(3)});
  for (Schedule& schedule : schedules) schedule.n_channels = 3;
  const Traffic traffic = count_traffic(schedules);
  EXPECT_EQ(traffic.rounds, 2);
  EXPECT_EQ(traffic.chain, 2);
  EXPECT_EQ(traffic.messages.size(), 8U);
  EXPECT_EQ(traffic.most_combined_bytes, 32U);
  EXPECT_EQ(traffic.most_received_bytes, 32U);
  EXPECT_EQ(draw(traffic, {{0, 1, 2, 3}}),
            "round    0    1    2    3\n"
            "    1 >1<1 >0<0 >3<3 >2<2\n"
            "    2 >2<2 >3<3 >0<0 >1<1\n");
}

// Pipelining: two segments down a chain of three take three rounds, not four.
TEST(Traffic, OverlapsSegments) {
  std::vector<Schedule> schedules{Schedule(0, 3), Schedule(1, 3), Schedule(2, 3)};
  const auto segment = [](std::size_t j) { return out(j * 8, 8); };
  schedules[0].repeat(2, [=](std::size_t j, Emitter& e) { e.send(1, segment(j)); });
  schedules[1].repeat(2, [=](std::size_t j, Emitter& e) { e.recv(0, segment(j)), e.send(2, segment(j)); });
  schedules[2].repeat(2, [=](std::size_t j, Emitter& e) { e.recv(1, segment(j)); });
  const Traffic traffic = count_traffic(schedules);
  EXPECT_EQ(traffic.rounds, 3);
  EXPECT_EQ(traffic.chain, 2);
}

TEST(Traffic, CrossingsOfRanksAddUpToWhatIsSentBetweenGroups) {
  const std::vector<int> groups = {0, 1, 1, 0};
  std::vector<Schedule> all;
  for (int rank = 0; rank < 4; ++rank) {
    all.emplace_back(rank, 4);
    all.back().repeat(3, [rank](std::size_t j, Emitter& e) {  // a ring: 0 to 1 and 2 to 3 cross
      e.send((rank + 1) % 4, out(8 * j, 5));
      e.recv((rank + 3) % 4, scratch(8 * j, 5));
    });
  }
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  for (const Schedule& schedule : all) {
    const Crossing crossing = count_crossing(schedule, groups);
    messages += crossing.messages;
    bytes += crossing.bytes;
    EXPECT_EQ(crossing.messages, schedule.rank() % 2 == 0 ? 3U : 0U) << schedule.rank();
  }
  EXPECT_EQ(messages, 6U);
  EXPECT_EQ(bytes, count_traffic(all).bytes_between(groups));
}

TEST(Traffic, RefusesSchedulesThatStandStill) {
  EXPECT_THROW(count_traffic(ranks({[](std::size_t, Emitter& e) { e.recv(1, out(0, 8)); },
                                    [](std::size_t, Emitter& e) { e.recv(0, out(0, 8)); }})),
               InvalidArgument);
}

}  // namespace
}  // namespace eco::sched
