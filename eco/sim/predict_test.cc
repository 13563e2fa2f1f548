// The time of one message, of chains and trees that can be worked out by hand, of long messages and of fair sharing; what a
// prediction says beside its seconds. What messages hold beside their links: shared_test.cc.
#include "eco/sim/predict.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "eco/base/errors.h"
#include "eco/sim/testing.h"

namespace eco::sim {
namespace {

using sched::Buffer;
using sched::Emitter;
using sched::Region;
using sched::Schedule;

// Ranks 0, 1, ... in a line, the message in equal segments.
std::vector<Schedule> chain(int n_ranks, std::size_t n_segments, std::size_t segment,
                            sched::SendWindow window = {}) {
  std::vector<Schedule> schedules;
  for (int rank = 0; rank < n_ranks; ++rank) {
    schedules.emplace_back(rank, n_ranks);
    schedules.back().window = window;
    schedules.back().repeat(n_segments, [=](std::size_t j, Emitter& e) {
      if (rank > 0) e.recv(rank - 1, output(j * segment, segment));
      if (rank + 1 < n_ranks) e.send(rank + 1, output(j * segment, segment));
    });
  }
  return schedules;
}

// The whole message down a binomial tree from rank 0, the farthest child first.
std::vector<Schedule> binomial(int n_ranks, std::size_t bytes) {
  std::vector<Schedule> schedules;
  for (int rank = 0; rank < n_ranks; ++rank) {
    schedules.emplace_back(rank, n_ranks);
    schedules.back().once([=](std::size_t, Emitter& e) {
      int mask = 1;
      while (mask < n_ranks && (rank & mask) == 0) mask *= 2;
      if (rank > 0) e.recv(rank - mask, output(0, bytes));
      for (mask /= 2; mask > 0; mask /= 2) {
        if (rank + mask < n_ranks) e.send(rank + mask, output(0, bytes));
      }
    });
  }
  return schedules;
}

void expect_terms_add_up(const Prediction& prediction) {
  const Terms& terms = prediction.terms;
  EXPECT_NEAR(terms.transfer_s + terms.latency_s + terms.overhead_s + terms.combine_s, prediction.seconds,
              1e-9 * prediction.seconds);
}

TEST(Predict, OneMessageCrossesTwoPortsAPacketApart) {
  const auto network = network_of({2}, net::SubnetKind::switched);
  const Prediction p = predict(view_of(network), chain(2, 1, 10000));
  // The second port starts one packet after the first and is as fast.
  EXPECT_NEAR(p.seconds, 10000 / kRate + kPacket / kRate + kLatency, 1e-12);
  EXPECT_NEAR(p.terms.latency_s, kLatency, 1e-15);
  EXPECT_EQ(p.terms.overhead_s, 0);
  EXPECT_EQ(p.n_messages, 1u);
  EXPECT_EQ(p.n_operations, 2u);
  expect_terms_add_up(p);
}

TEST(Predict, ShortMessagesAreStoredAndForwardedWhole) {
  const auto network = network_of({2}, net::SubnetKind::switched);
  EXPECT_NEAR(predict(view_of(network), chain(2, 1, 10)).seconds, 2 * 10 / kRate + kLatency, 1e-12);
}

TEST(Predict, OverheadsAreSpentByTheRanks) {
  const auto network = network_of({2}, net::SubnetKind::switched);
  network->send_overhead_s = 1e-4;
  network->receive_overhead_s = 3e-4;
  const Prediction p = predict(view_of(network), chain(2, 1, 1000));
  EXPECT_NEAR(p.seconds, 1e-4 + 2 * 1000 / kRate + kLatency + 3e-4, 1e-12);
  EXPECT_NEAR(p.terms.overhead_s, 4e-4, 1e-12);
  expect_terms_add_up(p);
}

TEST(Predict, APipelinedChainTakesTheClosedForm) {
  constexpr std::size_t kSegments = 50;
  constexpr std::size_t kSegment = 4000;
  for (const int n_ranks : {2, 3, 8}) {
    const auto network = network_of({n_ranks}, net::SubnetKind::switched);
    const Prediction p = predict(view_of(network), chain(n_ranks, kSegments, kSegment));
    // A segment needs one hop time per link; the others follow at the rate of one port.
    const double hop = kSegment / kRate + kPacket / kRate + kLatency;
    EXPECT_NEAR(p.seconds, (n_ranks - 1) * hop + (kSegments - 1) * kSegment / kRate, 1e-9) << n_ranks;
    expect_terms_add_up(p);
  }
}

TEST(Predict, ABinomialTreeOnASwitchTakesTheClosedForm) {
  const auto network = network_of({8}, net::SubnetKind::switched);
  const Prediction p = predict(view_of(network), binomial(8, 100000));
  // Three rounds one after the other: every sender's last child is reached when its port is free again, and
  // that path costs a transfer per round, and per hop of the path a packet and a latency. Rank 7 is three
  // hops away.
  EXPECT_NEAR(p.seconds, 3 * (100000 / kRate + kPacket / kRate + kLatency), 1e-9);
  EXPECT_EQ(p.n_messages, 7u);
}

TEST(Predict, ABusCarriesOneMessageAtATime) {
  const auto bus = network_of({4}, net::SubnetKind::bus);
  // 0 -> 1 and 2 -> 3 at once: on a switch they do not disturb each other, on a bus the second waits.
  std::vector<Schedule> schedules;
  for (int rank = 0; rank < 4; ++rank) {
    schedules.emplace_back(rank, 4);
    schedules.back().once([=](std::size_t, Emitter& e) {
      if (rank % 2 == 0) {
        e.send(rank + 1, output(0, 5000));
      } else {
        e.recv(rank - 1, output(0, 5000));
      }
    });
  }
  const Prediction on_bus = predict(view_of(bus), schedules);
  EXPECT_NEAR(on_bus.seconds, 2 * 5000 / kRate + kLatency, 1e-12);
  EXPECT_NEAR(on_bus.rank_end_s[1], 5000 / kRate + kLatency, 1e-12);
  EXPECT_EQ(bus->resources[static_cast<std::size_t>(on_bus.binding)].kind, net::ResourceKind::bus);
  EXPECT_NEAR(on_bus.resource_busy_s[static_cast<std::size_t>(on_bus.binding)], 2 * 5000 / kRate, 1e-12);

  const auto one_switch = network_of({4}, net::SubnetKind::switched);
  EXPECT_NEAR(predict(view_of(one_switch), schedules).seconds, (5000 + kPacket) / kRate + kLatency, 1e-12);
}

TEST(Predict, ARouteOverTwoBusesHoldsBoth) {
  const auto network = network_of({2, 2}, net::SubnetKind::bus);
  std::vector<Schedule> schedules;
  for (int rank = 0; rank < 4; ++rank) schedules.emplace_back(rank, 4);
  // Rank 0 to rank 3 on the other bus, while rank 2 sends to rank 3 a moment later: it finds its bus busy.
  schedules[0].once([](std::size_t, Emitter& e) { e.send(3, output(0, 8000)); });
  schedules[2].once([](std::size_t, Emitter& e) { e.recv(1, output(0, 1000)), e.send(3, output(0, 1000)); });
  schedules[1].once([](std::size_t, Emitter& e) { e.send(2, output(0, 1000)); });
  schedules[3].once(
      [](std::size_t, Emitter& e) { e.recv(0, output(0, 8000)), e.recv(2, output(8000, 1000)); });
  const Prediction p = predict(view_of(network), schedules);
  // Bus 0: 0..8 ms and 8..9 ms. Bus 1: 1..9 ms for the first, then 9..10 ms for rank 1's, which arrives at 12
  // ms and starts rank 2's message: 12..13 ms, and one latency.
  EXPECT_NEAR(p.rank_end_s[2], 0.012, 1e-9);
  EXPECT_NEAR(p.seconds, 0.014, 1e-9);
}

TEST(Predict, ReceiverConfirmedWindowsSlowALongPath) {
  const auto network = network_of({2}, net::SubnetKind::switched);
  const net::GroupView view = view_of(network);
  const double free_running = predict(view, chain(2, 10, 1000)).seconds;
  const double stop_and_wait = predict(view, chain(2, 10, 1000, {1, true})).seconds;
  // With one message under way each costs its two ports, its latency and the confirmation's.
  EXPECT_NEAR(stop_and_wait, 10 * (2 * 1000 / kRate + 2 * kLatency), 1e-9);
  EXPECT_NEAR(free_running, 11 * 1000 / kRate + kLatency, 1e-9);
  // A window of one round trip's bytes costs nothing but the last confirmation.
  EXPECT_NEAR(predict(view, chain(2, 10, 1000, {5, true})).seconds, free_running + kLatency, 1e-9);
  EXPECT_NEAR(predict(view, chain(2, 10, 1000, {1, false})).seconds, free_running, 1e-12)
      << "a window counted on eager sends controls nothing";
}

TEST(Predict, LocalWorkTakesTheRanksTime) {
  const auto network = network_of({2}, net::SubnetKind::switched);
  network->combine_bytes_per_s = 1e6;
  std::vector<Schedule> schedules;
  schedules.emplace_back(0, 2);
  schedules.emplace_back(1, 2);
  schedules[0].once([](std::size_t, Emitter& e) { e.send(1, output(0, 1000)); });
  schedules[1].scratch_bytes = 1000;
  schedules[1].once([](std::size_t, Emitter& e) {
    e.recv(0, {Buffer::scratch, 0, 1000});
    e.reduce({Buffer::scratch, 0, 1000}, output(0, 1000));
  });
  const Prediction p = predict(view_of(network), schedules);
  EXPECT_NEAR(p.seconds, 2 * 1000 / kRate + kLatency + 1000 / 1e6, 1e-12);
  EXPECT_NEAR(p.terms.combine_s, 1e-3, 1e-12);
}

TEST(Predict, LongMessagesWaitForTheirReceive) {
  const auto network = network_of({2}, net::SubnetKind::switched);
  const net::GroupView view = view_of(network);
  const double transfer = 10000 / kRate + kPacket / kRate;
  PredictOptions options;
  options.eager_bytes = 10000;
  EXPECT_NEAR(predict(view, chain(2, 1, 10000), options).seconds, transfer + kLatency, 1e-12);
  options.eager_bytes = 9999;
  const Prediction p = predict(view, chain(2, 1, 10000), options);
  EXPECT_NEAR(p.seconds, transfer + 3 * kLatency, 1e-12) << "request and answer first";
  EXPECT_NEAR(p.terms.latency_s, 3 * kLatency, 1e-12);
  EXPECT_EQ(p.n_messages, 1u);
  EXPECT_EQ(p.n_answers, 1u);
  expect_terms_add_up(p);

  // A receiver that copies for 5 ms before it has room answers after that.
  network->memory_bytes_per_s = 1e6;
  std::vector<Schedule> schedules = chain(2, 1, 10000);
  schedules[1] = Schedule(1, 2);
  schedules[1].scratch_bytes = 5000;
  schedules[1].once([](std::size_t, Emitter& e) {
    e.copy({Buffer::input, 0, 5000}, output(0, 5000));
    e.recv(0, output(0, 10000));
  });
  EXPECT_NEAR(predict(view, schedules, options).seconds, 0.005 + transfer + 2 * kLatency, 1e-12);
}

TEST(Predict, RequestsKeepTheirPlaceAmongShortMessages) {
  const auto network = network_of({2}, net::SubnetKind::switched);
  std::vector<Schedule> schedules;
  for (int rank = 0; rank < 2; ++rank) {
    schedules.emplace_back(rank, 2);
    schedules.back().once([=](std::size_t, Emitter& e) {
      std::size_t at = 0;
      for (const std::size_t bytes : {std::size_t{3000}, std::size_t{5000}, std::size_t{100}}) {
        if (rank == 0) e.send(1, output(at, bytes));
        if (rank == 1) e.recv(0, output(at, bytes));
        at += bytes;
      }
    });
  }
  PredictOptions options;
  options.eager_bytes = 4000;
  options.keep_intervals = true;
  const Prediction p = predict(view_of(network), schedules, options);
  // The request follows the first message's bytes, 3 + 1 ms, and there and back takes 2 ms; meanwhile the third passes.
  EXPECT_NEAR(p.seconds, 0.004 + 2 * kLatency + 0.006 + kLatency, 1e-9);
  ASSERT_EQ(p.intervals.size(), 6u) << "requests are no intervals";
}

TEST(Predict, GivesUpWhereTold) {
  const auto network = network_of({8}, net::SubnetKind::switched);
  PredictOptions options;
  options.stop_after_s = 0.01;
  const Prediction p = predict(view_of(network), chain(8, 50, 4000), options);
  EXPECT_FALSE(p.finished);
  EXPECT_EQ(p.seconds, 0.01);
}

TEST(Predict, SaysThatSchedulesCannotEnd) {
  const auto network = network_of({2}, net::SubnetKind::switched);
  std::vector<Schedule> schedules = chain(2, 3, 1000);
  schedules[0] = Schedule(0, 2);  // sends nothing
  EXPECT_THROW(predict(view_of(network), schedules), InvalidArgument);
}

TEST(Predict, IsDeterministicAndKeepsIntervalsForDrawing) {
  const auto network = network_of({3, 3, 2}, net::SubnetKind::bus);
  PredictOptions options;
  options.keep_intervals = true;
  const Prediction once = predict(view_of(network), chain(8, 20, 1500), options);
  const Prediction again = predict(view_of(network), chain(8, 20, 1500), options);
  EXPECT_EQ(once.seconds, again.seconds);
  EXPECT_EQ(once.rank_end_s, again.rank_end_s);
  EXPECT_EQ(once.resource_busy_s, again.resource_busy_s);
  ASSERT_EQ(once.intervals.size(), again.intervals.size());
  // Seven links a segment, of which the two between buses hold two of them.
  EXPECT_EQ(once.intervals.size(), 20u * (7 + 2));
  std::vector<double> free(network->resources.size(), 0.0);
  for (const Interval& interval : once.intervals) {
    const auto resource = static_cast<std::size_t>(interval.resource);
    EXPECT_GE(interval.start_s, free[resource] - 1e-12)
        << "two messages at once on " << network->resources[resource].name;
    free[resource] = interval.start_s + static_cast<double>(interval.bytes) / kRate;
  }
}

TEST(Predict, KeepsOperationsAsATraceDoes) {
  const auto network = network_of({2}, net::SubnetKind::switched);
  network->send_overhead_s = 1e-4;
  network->receive_overhead_s = 3e-4;
  std::vector<Schedule> schedules = chain(2, 2, 1000);
  schedules[1].once([](std::size_t, Emitter& e) { e.reduce(output(0, 1000), {Buffer::output, 1000, 1000}); });
  PredictOptions options;
  const Prediction without = predict(view_of(network), schedules, options);
  EXPECT_TRUE(without.rank_operations.empty());
  options.keep_operations = true;
  const Prediction p = predict(view_of(network), schedules, options);
  EXPECT_EQ(p.seconds, without.seconds);
  ASSERT_EQ(p.rank_operations.size(), 2u);
  ASSERT_EQ(p.rank_operations[0].size(), 2u);
  ASSERT_EQ(p.rank_operations[1].size(), 3u);

  const double hop_s = 2 * 1000 / kRate + kLatency;
  const auto& sends = p.rank_operations[0];
  EXPECT_EQ(sends[0].kind, sched::OpKind::send);
  EXPECT_EQ(sends[0].peer, 1);
  EXPECT_EQ(sends[0].bytes, 1000u);
  EXPECT_NEAR(sends[0].start_s, 0, 1e-12);
  EXPECT_NEAR(sends[0].end_s, 1e-4, 1e-12) << "the socket holds the bytes";
  EXPECT_NEAR(sends[1].end_s, 2e-4, 1e-12);
  const auto& receives = p.rank_operations[1];
  EXPECT_EQ(receives[1].kind, sched::OpKind::recv);
  EXPECT_EQ(receives[1].start_s, 0) << "posted at once";
  EXPECT_NEAR(receives[0].end_s, 1e-4 + hop_s + 3e-4, 1e-12);
  EXPECT_EQ(receives[2].kind, sched::OpKind::reduce);
  EXPECT_NEAR(receives[2].start_s, receives[1].end_s, 1e-12) << "the second receive writes what it reads";
  EXPECT_NEAR(receives[2].end_s, p.seconds, 1e-12);

  EXPECT_NEAR(p.rank_busy_s[0], 2e-4, 1e-12);
  EXPECT_NEAR(p.rank_busy_s[1], 1000 / 1e9, 1e-15) << "receiving counts as waiting";
}

TEST(Predict, CountsTheOperationsOfLongPipelines) {
  const auto network = network_of({8}, net::SubnetKind::switched);
  const net::GroupView view = view_of(network);
  const std::vector<Schedule> schedules = chain(8, 20000, 1400);
  const Prediction p = predict(view, schedules);
  EXPECT_EQ(p.n_operations, 2u * 7 * 20000) << "each simulated once";
}

TEST(Predict, UnderFairSharingMessagesDivideAPort) {
  const auto network = network_of({3}, net::SubnetKind::switched);
  std::vector<Schedule> star;
  for (int rank = 0; rank < 3; ++rank) {
    star.emplace_back(rank, 3);
    star.back().once([=](std::size_t, Emitter& e) {
      if (rank > 0) return e.recv(0, output(0, 10000));
      e.send(1, output(0, 10000));
      e.send(2, output(0, 10000));
    });
  }
  PredictOptions options;
  options.sharing = Sharing::fair;
  options.keep_intervals = true;
  // With what messages queue for only in turn, and bytes do not take time on.
  network->common_message_s = 1e-3;
  network->finish();
  const Prediction p = predict(view_of(network), star, options);
  EXPECT_NEAR(p.rank_end_s[1], kLatency + 20000 / kRate, 1e-9);
  EXPECT_NEAR(p.rank_end_s[2], p.rank_end_s[1], 1e-9);
  EXPECT_NEAR(p.resource_busy_s[static_cast<std::size_t>(p.binding)], 20000 / kRate, 1e-9);
  EXPECT_FALSE(p.intervals.empty());
  expect_terms_add_up(p);
  options.stop_after_s = 0.01;
  EXPECT_FALSE(predict(view_of(network), star, options).finished);
  options.sharing = Sharing::in_turn;
  options.stop_after_s = 1;
  const Prediction in_turn = predict(view_of(network), star, options);
  EXPECT_LT(in_turn.rank_end_s[1], in_turn.rank_end_s[2] - 0.9 * 10000 / kRate);
}

}  // namespace
}  // namespace eco::sim
