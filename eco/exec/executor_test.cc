#include "eco/exec/executor.h"

#include <gtest/gtest.h>

#include <array>

#include "eco/transport/loopback/loopback.h"

namespace eco::exec {
namespace {

using sched::Buffer;
using sched::Emitter;
using sched::Schedule;
using transport::Hub;
using transport::LoopbackNative;
using transport::LoopbackTransport;
using transport::Status;

Schedule ping(int rank, std::size_t n) {
  Schedule s(rank, 2);
  s.repeat(n, [rank](std::size_t j, Emitter& e) {
    const sched::Region byte{Buffer::output, j, 1};
    if (rank == 0) e.send(1, byte);
    if (rank == 1) e.recv(0, byte);
  });
  return s;
}

TEST(Executor, MovesBytes) {
  Hub hub(2, {.seed = 3});
  run_ranks(hub, [](LoopbackTransport& transport, LoopbackNative&) {
    std::array<std::byte, 2000> memory{};
    if (transport.rank() == 0) memory.fill(std::byte{7});
    Executor executor(transport);
    ASSERT_EQ(executor.run(ping(transport.rank(), memory.size()), {.input = {}, .output = memory}, 5),
              Status::ok);
    for (const std::byte b : memory) ASSERT_EQ(b, std::byte{7});
    EXPECT_EQ(executor.recorder().describe(), "idle after 1 calls");
  });
}

TEST(Executor, ACallRunsInPieces) {
  Hub hub(2, {.seed = 4});
  run_ranks(hub, [](LoopbackTransport& transport, LoopbackNative&) {
    constexpr std::size_t kCalls = 2;
    std::array<std::array<std::byte, 1500>, kCalls> memory{};
    if (transport.rank() == 0) memory[0].fill(std::byte{5}), memory[1].fill(std::byte{6});
    const Schedule schedule = ping(transport.rank(), memory[0].size());
    for (std::size_t i = 0; i < kCalls; ++i) {
      Executor executor(transport);
      ASSERT_TRUE(executor.begin(schedule, {.input = {}, .output = memory[i]}, static_cast<int>(i)));
      bool ended = false;
      while (!ended) ASSERT_EQ(executor.progress(ended), Status::ok);
      EXPECT_EQ(executor.recorder().describe(), "idle after 1 calls");
    }
    for (const std::byte b : memory[0]) ASSERT_EQ(b, std::byte{5});
    for (const std::byte b : memory[1]) ASSERT_EQ(b, std::byte{6});
  });
}

TEST(Executor, ALostPeerEndsInAStatusNotInAHang) {
  Hub hub(2);
  run_ranks(hub, [&](LoopbackTransport& transport, LoopbackNative&) {
    if (transport.rank() == 0) return hub.lose(0);
    std::array<std::byte, 1> memory{};
    Executor executor(transport);
    EXPECT_EQ(executor.run(ping(1, 1), {.input = {}, .output = memory}, 0), Status::lost_peer);
  });
}

// Takes receives and reports an error when asked for them.
class Failing final : public transport::Transport {
 public:
  int rank() const override { return 1; }
  int n_ranks() const override { return 2; }
  int max_tag() const override { return 100; }
  Status post_send(int, int, std::span<const std::byte>, transport::SendMode, transport::Ticket) override {
    return Status::ok;
  }
  Status post_recv(int, int, std::span<std::byte>, transport::Ticket) override {
    ++posted;
    return Status::ok;
  }
  Status wait_some(std::span<transport::Ticket>, std::size_t&) override { return Status::failed; }
  Status test_some(std::span<transport::Ticket>, std::size_t&) override { return Status::failed; }
  void abandon() override { posted = 0; }

  int posted = 0;
};

TEST(Executor, LeavesNothingPostedAfterAFailure) {
  Failing transport;
  std::array<std::byte, 3> memory{};
  Executor executor(transport);
  EXPECT_EQ(executor.run(ping(1, 3), {.input = {}, .output = memory}, 0), Status::failed);
  EXPECT_EQ(transport.posted, 0);
}

TEST(Executor, RefusesScratchThatDoesNotExist) {
  Hub hub(1);
  LoopbackTransport transport(hub, 0);
  Executor executor(transport);
  EXPECT_TRUE(executor.reserve(1 << 20));
  EXPECT_FALSE(executor.reserve(std::size_t{1} << 60));
}

TEST(FlightRecorder, SaysWhoIsAwaited) {
  FlightRecorder recorder;
  recorder.begin_call(0x9f3a, 8);
  recorder.message_posted(4, false);
  recorder.message_posted(4, false);
  recorder.message_posted(2, true);
  const auto before = recorder.progress();
  EXPECT_EQ(recorder.describe(),
            "call 1, recipe 0000000000009f3a: awaiting 1 send(s) to rank 2, 2 message(s) from rank 4");
  recorder.message_done(4, false);
  EXPECT_GT(recorder.progress(), before);
  EXPECT_TRUE(recorder.in_call());
  recorder.end_call();
  EXPECT_FALSE(recorder.in_call());
}

}  // namespace
}  // namespace eco::exec
