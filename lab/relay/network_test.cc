#include "lab/relay/network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace eco::lab {
namespace {

constexpr Nanos kMicro = 1000;
constexpr Nanos kSecond = 1'000'000'000;

ServerSpec fifo(double mbit, Nanos delay_ns = 0, std::int64_t queue_bytes = 1 << 20) {
  return {.name = "f", .bits_per_s = mbit * 1e6, .delay_ns = delay_ns, .queue_bytes = queue_bytes};
}

ServerSpec bus(double mbit, int stations, std::int64_t queue_bytes = 1 << 20) {
  return {.name = "b",
          .discipline = Discipline::bus,
          .bits_per_s = mbit * 1e6,
          .queue_bytes = queue_bytes,
          .n_stations = stations};
}

class NetworkTest : public ::testing::Test {
 protected:
  Packet* packet(int bytes_on_wire, int path, int port = 1) {
    Packet* p = pool_.take(0);
    p->wire_bytes = bytes_on_wire;
    p->path = path;
    p->port = port;
    return p;
  }

  std::vector<Delivery> play(Network& net, Nanos until = kSecond) {
    std::vector<Delivery> out;
    net.advance(until, out);
    return out;
  }

  PacketPool pool_;
};

TEST_F(NetworkTest, EveryServerSerialisesEveryPacketTheFirstIncluded) {
  // 1250 bytes are 1 ms at 10 Mbit/s and 0.5 ms at 20: stored and forwarded, the times add up.
  Network net({fifo(10), fifo(20, 3000 * kMicro)}, {{0, 1, {{0, 0}, {1, 0}}}}, pool_);
  net.inject(0, packet(1250, 0));
  net.inject(0, packet(1250, 0));
  const auto out = play(net);
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0].due, (1000 + 500 + 3000) * kMicro);
  EXPECT_EQ(out[1].due, (2000 + 500 + 3000) * kMicro);  // only the slow server makes it wait
}

TEST_F(NetworkTest, AnIdleLinkEarnsNoCredit) {
  Network net({fifo(10)}, {{0, 1, {{0, 0}}}}, pool_);
  net.inject(kSecond / 2, packet(1250, 0));
  EXPECT_EQ(play(net).at(0).due, kSecond / 2 + 1000 * kMicro);
}

TEST_F(NetworkTest, NothingIsDeliveredBeforeItsTime) {
  Network net({fifo(10)}, {{0, 1, {{0, 0}}}}, pool_);
  net.inject(0, packet(1250, 0));
  EXPECT_TRUE(play(net, 999 * kMicro).empty());
  EXPECT_EQ(net.next_event(), 1000 * kMicro);
  EXPECT_EQ(play(net, 1000 * kMicro).size(), 1u);
  EXPECT_FALSE(net.next_event().has_value());
}

TEST_F(NetworkTest, ABusCarriesOnePacketAtATimeAndServesStationsInTurn) {
  // Station 0 has three packets, station 1 one: it need not wait for all three.
  Network net({bus(10, 2)}, {{0, 1, {{0, 0}}}, {1, 0, {{0, 1}}}}, pool_);
  for (int i = 0; i < 3; ++i) net.inject(0, packet(1250, 0, 10 + i));
  net.inject(1, packet(1250, 1, 20));
  const auto out = play(net);
  ASSERT_EQ(out.size(), 4u);
  const int expected[] = {10, 20, 11, 12};
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(out[i].packet->port, expected[i]);
    EXPECT_EQ(out[i].due, (i + 1) * 1000 * kMicro);
  }
}

TEST_F(NetworkTest, ABridgeBetweenBusesSerialisesAgain) {
  Network net({bus(10, 2), fifo(0, 100 * kMicro), bus(10, 2)}, {{0, 1, {{0, 0}, {1, 0}, {2, 1}}}}, pool_);
  net.inject(0, packet(1250, 0));
  EXPECT_EQ(play(net).at(0).due, 2100 * kMicro);
}

TEST_F(NetworkTest, AFullQueueDropsItsTailAndCountsIt) {
  Network net({fifo(10, 0, 3000)}, {{0, 1, {{0, 0}}}}, pool_);
  for (int i = 0; i < 5; ++i) net.inject(0, packet(1250, 0));
  EXPECT_EQ(play(net).size(), 2u);
  EXPECT_EQ(net.stats()[0].drops, 3);
  EXPECT_EQ(net.stats()[0].packets, 2);
  EXPECT_EQ(net.stats()[0].wire_bytes, 2500);
  EXPECT_EQ(net.stats()[0].busy_ns, 2000 * kMicro);
}

TEST_F(NetworkTest, ABusDropsPerStation) {
  Network net({bus(10, 2, 1300)}, {{0, 1, {{0, 0}}}, {1, 0, {{0, 1}}}}, pool_);
  for (int i = 0; i < 4; ++i) net.inject(0, packet(1250, 0));  // one on the wire, one waiting, two too many
  net.inject(0, packet(1250, 1));
  EXPECT_EQ(play(net).size(), 3u);
  EXPECT_EQ(net.stats()[0].drops, 2);
}

TEST_F(NetworkTest, BackgroundTrafficTakesItsShareAndVanishes) {
  Network net({fifo(10)}, {{0, 1, {{0, 0}}}}, pool_);
  net.add_traffic({.path = 0, .bits_per_s = 5e6, .frame_bytes = 1250, .arrivals = Arrivals::constant}, 0);
  EXPECT_TRUE(play(net, kSecond - 1).empty());
  EXPECT_EQ(net.stats()[0].packets, 500);  // 1250 wire bytes at 5 Mbit/s: one every 2 ms
  net.inject(kSecond - 1, packet(1250, 0));
  std::vector<Delivery> out;
  net.advance(kSecond + 10'000 * kMicro, out);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].due, kSecond - 1 + 1000 * kMicro);  // the last one had left the link by then
}

TEST_F(NetworkTest, PoissonTrafficHasTheRateItWasGivenAndRepeatsBySeed) {
  std::int64_t packets[2];
  for (auto& n : packets) {
    Network net({fifo(100)}, {{0, 1, {{0, 0}}}}, pool_);
    net.add_traffic(
        {.path = 0, .bits_per_s = 20e6, .frame_bytes = 1250, .arrivals = Arrivals::poisson, .seed = 7}, 0);
    play(net, 5 * kSecond);
    n = net.stats()[0].packets;
  }
  EXPECT_EQ(packets[0], packets[1]);
  EXPECT_NEAR(static_cast<double>(packets[0]), 10'000, 400);  // four standard deviations
}

TEST_F(NetworkTest, OnOffTrafficIsSilentInBetween) {
  Network net({fifo(100)}, {{0, 1, {{0, 0}}}}, pool_);
  net.add_traffic({.path = 0,
                   .bits_per_s = 10e6,
                   .frame_bytes = 1250,
                   .arrivals = Arrivals::on_off,
                   .on_ns = 10'000 * kMicro,
                   .off_ns = 90'000 * kMicro},
                  0);
  play(net, kSecond - 1);
  EXPECT_EQ(net.stats()[0].packets, 100);  // 10 bursts of 10 ms, a packet each millisecond
}

TEST_F(NetworkTest, PathsAreFoundByTheirEnds) {
  Network net({fifo(10)}, {{0, 1, {{0, 0}}}, {1, 0, {{0, 0}}}}, pool_);
  EXPECT_EQ(net.path_between(1, 0), 1);
  EXPECT_FALSE(net.path_between(0, 0).has_value());
  EXPECT_FALSE(net.path_between(0, 5).has_value());
}

TEST(PacketPool, GivesBackWhatItGotAndRefusesTooMuch) {
  PacketPool pool;
  Packet* small = pool.take(60);
  Packet* large = pool.take(1524);
  EXPECT_EQ(small->room_bytes, PacketPool::kSmallBytes);
  EXPECT_EQ(large->room_bytes, PacketPool::kLargeBytes);
  std::fill_n(large->data, large->room_bytes, 'x');
  pool.give_back(large);
  EXPECT_EQ(pool.take(1000), large);
  EXPECT_THROW((void)pool.take(4000), std::length_error);
}

TEST(WireBytes, AreThoseOfTheFrameWithShortOnesPadded) {
  EXPECT_EQ(wire_bytes(1514), 1514);
  EXPECT_EQ(wire_bytes(42), 60);
}

}  // namespace
}  // namespace eco::lab
