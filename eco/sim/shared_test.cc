// What messages hold beside the links that they cross: the other direction of a link, what all hosts have in common, and the
// memory and processors of one host; and who is woken by them.
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "eco/sim/predict.h"
#include "eco/sim/testing.h"

namespace eco::sim {
namespace {

using sched::Emitter;
using sched::Region;
using sched::Schedule;

// Ranks 2i and 2i + 1 send to each other.
std::vector<Schedule> exchange(int n_ranks, std::size_t bytes) {
  std::vector<Schedule> schedules;
  for (int rank = 0; rank < n_ranks; ++rank) {
    schedules.emplace_back(rank, n_ranks);
    schedules.back().once([=](std::size_t, Emitter& e) {
      e.send(rank ^ 1, output(0, bytes));
      e.recv(rank ^ 1, output(bytes, bytes));
    });
  }
  return schedules;
}

TEST(Predict, AcknowledgementsTakeOfTheOtherDirection) {
  const auto network = network_of({2}, net::SubnetKind::switched);
  const double alone = predict(view_of(network), exchange(2, 100000)).seconds;
  network->reverse_share = 0.05;
  EXPECT_NEAR(predict(view_of(network), exchange(2, 100000)).seconds - alone, 0.05 * 100000 / kRate, 1e-3);
  network->subnets[0].kind = net::SubnetKind::bus;  // whose measured rate knows of them
  network->finish();
  const double on_bus = predict(view_of(network), exchange(2, 100000)).seconds;
  network->reverse_share = 0;
  EXPECT_EQ(predict(view_of(network), exchange(2, 100000)).seconds, on_bus);
}

TEST(Predict, MessagesQueueForWhatAllHostsHaveInCommon) {
  const auto network = network_of({4}, net::SubnetKind::switched);
  const auto both = [&] { return predict(view_of(network), exchange(4, 1)).seconds; };
  const double apart = both();
  network->common_message_s = 1e-3;
  network->finish();
  EXPECT_NEAR(both() - apart, 4e-3, 1e-9);  // four messages, one after the other
}

// Ranks 2i send to ranks 2i + 1, which answer.
std::vector<Schedule> confirmed(int n_ranks) {
  std::vector<Schedule> schedules;
  for (int rank = 0; rank < n_ranks; ++rank) {
    schedules.emplace_back(rank, n_ranks);
    schedules.back().window = {1, true};
    schedules.back().once([=](std::size_t, Emitter& e) {
      rank % 2 == 0 ? e.send(rank + 1, output(0, 1)) : e.recv(rank - 1, output(0, 1));
    });
  }
  return schedules;
}

// Messages hold what is common until 1, 2 and 3 ms and come at 2, 3 and 4 ms; answers hold it until 4, 5 and 6 ms.
TEST(Predict, AnswersQueueForItAsMessagesDo) {
  const auto network = network_of({6}, net::SubnetKind::switched);
  network->common_message_s = 1e-3;
  network->finish();
  EXPECT_NEAR(predict(view_of(network), confirmed(6)).seconds, 7e-3, 1e-4);
}

// Rank 1 answers after 5 s of work; rank 3 sends to rank 2 after 1 s.
TEST(Predict, AnswersHoldItWhenTheyAreGiven) {
  const auto network = network_of({4}, net::SubnetKind::switched);
  network->common_message_s = 1e-3;
  network->combine_bytes_per_s = 1;
  network->finish();
  std::vector<Schedule> schedules;
  for (int rank = 0; rank < 4; ++rank) schedules.emplace_back(rank, 4);
  const auto work = [](Emitter& e, std::size_t seconds) {
    e.reduce({sched::Buffer::scratch, 0, seconds}, output(0, seconds));
  };
  schedules[0].window = {1, true};
  schedules[0].once([](std::size_t, Emitter& e) { e.send(1, output(0, 1)); });
  schedules[1].scratch_bytes = 5;
  schedules[1].once([=](std::size_t, Emitter& e) { work(e, 5), e.recv(0, output(0, 1)); });
  schedules[2].once([](std::size_t, Emitter& e) { e.recv(3, output(0, 1)); });
  schedules[3].scratch_bytes = 1;
  schedules[3].once([=](std::size_t, Emitter& e) { work(e, 1), e.send(2, output(0, 1)); });
  const Prediction p = predict(view_of(network), schedules);
  EXPECT_GT(p.rank_end_s[0], 5);
  EXPECT_LT(p.rank_end_s[2], 1.1);
}

TEST(Predict, AnswersCrossLinksWithEnvelopeAndFrame) {
  const auto network = network_of({2}, net::SubnetKind::bus);
  const double bare = predict(view_of(network), confirmed(2)).seconds;
  network->envelope_bytes = 40;
  network->frame_bytes = 66;
  const double more = network->wire_bytes(1) - 1 + network->wire_bytes(0);
  EXPECT_NEAR(predict(view_of(network), confirmed(2)).seconds - bare, more / kRate, 1e-9);
}

TEST(Predict, RequestsDoToo) {
  const auto network = network_of({2}, net::SubnetKind::bus);
  network->envelope_bytes = 40;
  network->frame_bytes = 66;
  std::vector<Schedule> schedules = confirmed(2);
  for (Schedule& schedule : schedules) schedule.window = {};
  PredictOptions options;
  const double eager = predict(view_of(network), schedules, options).seconds;
  options.eager_bytes = 1;
  for (int rank = 0; rank < 2; ++rank) {
    schedules[static_cast<std::size_t>(rank)] = Schedule(rank, 2);
    schedules[static_cast<std::size_t>(rank)].once(
        [=](std::size_t, Emitter& e) { rank == 0 ? e.send(1, output(0, 2)) : e.recv(0, output(0, 2)); });
  }
  const double asked = 2 * (network->wire_bytes(0) / kRate + kLatency);
  const double longer = (network->wire_bytes(2) - network->wire_bytes(1)) / kRate;
  EXPECT_NEAR(predict(view_of(network), schedules, options).seconds - eager, asked + longer, 1e-9);
}

// Rank 0 sends `n` messages to rank 1, which answers each before the next one is sent, or none.
std::vector<Schedule> questions(int n, bool one_by_one) {
  std::vector<Schedule> schedules;
  for (int rank = 0; rank < 2; ++rank) {
    schedules.emplace_back(rank, 2);
    schedules.back().repeat(static_cast<std::size_t>(n), [=](std::size_t i, Emitter& e) {
      const Region at = output(one_by_one ? 0 : i, 1);  // one place can't be sent again before it was filled
      rank == 0 ? e.send(1, at) : e.recv(0, at);
      if (one_by_one) rank == 0 ? e.recv(1, at) : e.send(0, at);
    });
  }
  return schedules;
}

TEST(Predict, WhoeverWaitsIsWokenByTurns) {
  const auto network = network_of({2}, net::SubnetKind::switched);
  const auto seconds = [&](int n, bool one_by_one) {
    return predict(view_of(network), questions(n, one_by_one)).seconds;
  };
  const double apart = seconds(5, true);
  const double together = seconds(5, false);
  network->common_wake_s = 1e-3;
  network->finish();
  EXPECT_NEAR(seconds(5, true) - apart, 2e-3 + 10e-3,
              1e-9);  // both when they call, then each for each message
  EXPECT_NEAR(seconds(5, false) - together, 2e-3 + 1e-3,
              1e-5);  // the receiver sleeps once, and finds the others there
}

// Four ranks of one host send their neighbours a long message: all share the memory, each receiver copies by itself.
TEST(Predict, AReceiverCopiesWhatItsHostsMemoryCouldCarryFaster) {
  const auto network = network_of({1}, net::SubnetKind::switched);
  network->memory_bytes_per_s = 4e9;
  network->memory_pair_bytes_per_s = 1e9;
  network->finish();
  const auto view = net::make_view(network, {0, 0, 0, 0});
  constexpr std::size_t kBytes = 1 << 20;
  std::vector<Schedule> schedules;
  for (int rank = 0; rank < 4; ++rank) {
    schedules.emplace_back(rank, 4);
    schedules.back().repeat(1, [=](std::size_t, Emitter& e) {
      e.send((rank + 1) % 4, output(0, kBytes));
      e.recv((rank + 3) % 4, output(kBytes, kBytes));
    });
  }
  const double alone_s = kBytes / 1e9;
  const double all_s = kBytes / 4e9 * 4 + kBytes * (1 / 1e9 - 1 / 4e9);
  EXPECT_NEAR(network->message_s(0, 0, kBytes), alone_s + network->memory_latency_s, 1e-6);
  EXPECT_NEAR(predict(view, schedules).seconds, all_s + network->memory_latency_s, 1e-6);
}

// Five questions of rank 0 and the answers of its partner; the others have nothing to do.
double asked_s(const std::shared_ptr<net::Network>& network, std::vector<int> host_of_rank, int partner) {
  const int n_ranks = static_cast<int>(host_of_rank.size());
  std::vector<Schedule> schedules;
  for (int rank = 0; rank < n_ranks; ++rank) {
    schedules.emplace_back(rank, n_ranks);
    if (rank != 0 && rank != partner) continue;
    schedules.back().repeat(5, [=](std::size_t, Emitter& e) {
      const Region at = output(0, 1);
      rank == 0 ? e.send(partner, at) : e.recv(0, at);
      rank == 0 ? e.recv(partner, at) : e.send(0, at);
    });
  }
  return predict(net::make_view(network, std::move(host_of_rank)), schedules).seconds;
}

TEST(Predict, RanksOfACrowdedHostAreWokenByTurns) {
  const auto network = network_of({2}, net::SubnetKind::switched);
  const auto more_s = [&](const std::vector<int>& host_of_rank, int partner) {
    network->memory_wake_s = network->memory_message_s = 0;
    network->finish();
    const double apart = asked_s(network, host_of_rank, partner);
    network->memory_wake_s = 1e-3;
    network->memory_message_s = 1e-4;
    network->finish();
    return asked_s(network, host_of_rank, partner) - apart;
  };
  // All three when they call, then each for each of the ten messages.
  EXPECT_NEAR(more_s({0, 0, 0, 1, 1, 1}, 1), 3e-3 + 10 * 1.1e-3, 1e-9)
      << "two hosts that do not share processors";
  // The first message is under way while the other host's ranks are still woken for the call.
  EXPECT_NEAR(more_s({0, 0, 0, 1, 1, 1}, 3), 3e-3 - kLatency + 10 * 1e-3, 1e-5)
      << "and what comes from another host wakes too";
  EXPECT_NEAR(more_s({0, 0, 1, 1}, 1), 10 * 1e-4, 1e-9) << "two ranks have a processor each";
}

}  // namespace
}  // namespace eco::sim
