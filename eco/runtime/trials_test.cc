#include "eco/runtime/trials.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>

#include "eco/net/synthetic.h"
#include "eco/runtime/testing.h"
#include "eco/transport/loopback/loopback.h"

namespace eco::runtime {
namespace {

struct Outcome {
  TrialResult result;
  int asked = 0;  // how often to run
};

// Every message takes so long.
struct Slow final : testing::PassingTransport {
  Slow(transport::Transport& below, double seconds) : PassingTransport(below), seconds_(seconds) {}
  transport::Status post_send(int peer, int tag, std::span<const std::byte> bytes, transport::SendMode mode,
                              transport::Ticket ticket) override {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds_));
    return below_.post_send(peer, tag, bytes, mode, ticket);
  }
  double seconds_;
};

// The library's own allreduce, which takes so long, beside one of messages that take so long; on four threads.
Outcome trial_beside(double native_s, double message_s) {
  const auto network = std::make_shared<const net::Network>(net::synthetic_network(testing::kNetwork));
  const net::GroupView view = net::make_view(network, {0, 1, 2, 3});
  Outcome outcome;
  transport::Hub hub(4);
  transport::run_ranks(hub, [&](transport::LoopbackTransport& transport, transport::LoopbackNative& native) {
    testing::PacedNative paced(native, native_s);
    Slow slow(transport, message_s);
    Trials trials(slow, paced, view, CommonStart(paced, true, 5'000'000));
    if (transport.rank() != 0) return trials.follow();
    const Trial trial{testing::problem_of(coll::Collective::allreduce, 4096),
                      {std::nullopt, algo::parse_recipe("allreduce/chain")}};
    outcome.result = trials.order(trial, [&](double) {
      ++outcome.asked;
      return Repetitions{2, 1};
    });
    trials.end();
  });
  return outcome;
}

TEST(Trials, RunEveryCandidateInTurn) {
  const Outcome outcome = trial_beside(0.001, 0);
  EXPECT_EQ(outcome.asked, 1);
  for (const auto& seconds : outcome.result.seconds) EXPECT_LE(seconds.size(), 2U);
}

TEST(Trials, AreDecidedByOneRunWhereItIsLongAndClear) {
  const Outcome outcome = trial_beside(3, 0.1);
  EXPECT_EQ(outcome.asked, 0);
  ASSERT_EQ(outcome.result.seconds.size(), 2U);
  for (const auto& seconds : outcome.result.seconds) EXPECT_EQ(seconds.size(), 1U);
  EXPECT_EQ(trial_beside(0.5, 0).asked, 1) << "the other one is short, whatever the ratio";
}

}  // namespace
}  // namespace eco::runtime
