// Sources live: ranks as threads that come late, on loopback with and without its nastiness.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <new>
#include <random>
#include <thread>

#include "eco/exec/executor.h"
#include "eco/late/channels.h"
#include "eco/late/proving.h"
#include "eco/transport/loopback/loopback.h"

namespace eco::late {
namespace {

using transport::Status;

coll::CommonProblem broadcast_of(std::size_t bytes, int root, int n_ranks) {
  return {.collective = coll::Collective::broadcast, .n_ranks = n_ranks, .root = root, .bytes = bytes};
}

struct Nastiness {
  std::uint64_t seed;
  bool synchronous;
};

class LateRun : public ::testing::TestWithParam<Nastiness> {};

TEST_P(LateRun, EveryPlanBringsEveryByteWhoeverIsLate) {
  constexpr int kRanks = 6;
  constexpr std::size_t kBytes = 5000;
  constexpr int kCalls = 8;
  for (std::size_t plan = 0; plan < kPlans; ++plan) {
    transport::Hub hub(kRanks, {.synchronous = GetParam().synchronous, .seed = GetParam().seed});
    transport::run_ranks(hub, [&](transport::LoopbackTransport& transport, transport::LoopbackNative&) {
      exec::Executor executor(transport);
      std::mt19937 chance(static_cast<unsigned>(transport.rank()));
      for (int call = 0; call < kCalls; ++call) {
        const int root = call % kRanks;
        const auto tree = algo::shape_tree(call % 2 == 0 ? algo::Shape::chain : algo::Shape::binomial,
                                           algo::rank_ring(kRanks, root), kRanks);
        const Form form(static_cast<Plan>(plan), broadcast_of(kBytes, root, kRanks), tree, {512, call % 3},
                        0.0005);
        std::vector<std::byte> message(kBytes);
        if (transport.rank() == root) message.assign(kBytes, static_cast<std::byte>(call + 1));
        if (chance() % 3 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(chance() % 4));
        const auto source = form.source(transport.rank(), {.input = {}, .output = message}, {});
        // Tags come again after so many turns as there are ranks.
        ASSERT_EQ(executor.run(*source, call % kRanks * kChannels), Status::ok);
        EXPECT_TRUE(message == std::vector<std::byte>(kBytes, static_cast<std::byte>(call + 1)))
            << name(static_cast<Plan>(plan)) << ", rank " << transport.rank() << ", call " << call;
      }
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Nastiness, LateRun,
                         ::testing::Values(Nastiness{0, false}, Nastiness{0, true}, Nastiness{3, false},
                                           Nastiness{4, true}));

TEST(LateRun, ALostPeerEndsTheCall) {
  constexpr int kRanks = 3;
  transport::Hub hub(kRanks);
  const auto tree = algo::shape_tree(algo::Shape::chain, algo::rank_ring(kRanks, 0), kRanks);
  const Form form(Plan::mended, broadcast_of(1000, 0, kRanks), tree, {100, 0});
  // They outlive the ranks: the receives of a call that has failed are still posted, and others may send yet.
  std::vector<std::vector<std::byte>> messages(kRanks, std::vector<std::byte>(1000));
  std::vector<std::unique_ptr<ScheduleSource>> sources(kRanks);
  transport::run_ranks(hub, [&](transport::LoopbackTransport& transport, transport::LoopbackNative&) {
    const auto rank = static_cast<std::size_t>(transport.rank());
    if (rank == 2) {
      hub.lose(2);
      return;
    }
    exec::Executor executor(transport);
    sources[rank] = form.source(transport.rank(), {.input = {}, .output = messages[rank]}, {});
    const Status status = executor.run(*sources[rank], 0);
    if (transport.rank() == 1) {
      EXPECT_EQ(status, Status::lost_peer);
      EXPECT_FALSE(executor.recorder().in_call());
    }
  });
}

// Posts a receive that nothing will come for, and then finds no memory.
class OutOfMemory final : public ScheduleSource {
 public:
  explicit OutOfMemory(std::span<std::byte> memory) : memory_(memory) {}
  void enter() override {
    book_.recv(0, 0, memory_, {});
    book_.wake(0, {});
  }
  void on_done(Ticket) override { throw std::bad_alloc(); }
  bool is_done() const override { return false; }

 private:
  std::span<std::byte> memory_;
};

TEST(LateRun, ASourceWithoutMemoryEndsTheCall) {
  transport::Hub hub(1);
  transport::run_ranks(hub, [&](transport::LoopbackTransport& transport, transport::LoopbackNative&) {
    exec::Executor executor(transport);
    std::vector<std::byte> memory(10);
    OutOfMemory source(memory);
    EXPECT_EQ(executor.run(source, 0), Status::failed);
    EXPECT_FALSE(executor.recorder().in_call());
  });
}

}  // namespace
}  // namespace eco::late
