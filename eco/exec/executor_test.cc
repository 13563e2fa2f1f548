#include "eco/exec/executor.h"

#include <gtest/gtest.h>

#include <array>
#include <span>
#include <vector>

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

std::int64_t steps = 0;
std::int64_t count_steps() { return ++steps; }

// Completes what it was given at the next wait, the last first.
class Backwards final : public transport::Transport {
 public:
  int rank() const override { return 0; }
  int n_ranks() const override { return 2; }
  int max_tag() const override { return 100; }
  Status post_send(int, int, std::span<const std::byte>, transport::SendMode,
                   transport::Ticket ticket) override {
    posted_.push_back(ticket);
    return Status::ok;
  }
  Status post_recv(int, int, std::span<std::byte>, transport::Ticket ticket) override {
    posted_.push_back(ticket);
    return Status::ok;
  }
  Status wait_some(std::span<transport::Ticket> done, std::size_t& n_done) override {
    n_done = 1;
    done[0] = posted_.back();
    posted_.pop_back();
    return Status::ok;
  }
  Status test_some(std::span<transport::Ticket> done, std::size_t& n_done) override {
    return wait_some(done, n_done);
  }

 private:
  std::vector<transport::Ticket> posted_;
};

TEST(Executor, TracesEveryOperationWhereAsked) {
  Schedule schedule(0, 2);
  schedule.repeat(3, [](std::size_t j, Emitter& e) {
    const sched::Region arrived{Buffer::scratch, 8 * j, 8};
    e.recv(1, arrived);
    e.reduce(arrived, {Buffer::output, 8 * j, 8});
    e.send(1, {Buffer::output, 8 * j, 8}, 1);
  });
  schedule.scratch_bytes = 24;
  schedule.n_channels = 2;
  std::array<std::byte, 24> memory{};
  const Buffers buffers{
      .input = {}, .output = memory, .combine = {[](void*, const void*, void*, std::size_t) {}, nullptr}};
  Backwards transport;
  Executor executor(transport);
  Trace trace(count_steps);
  const std::int64_t before = steps;
  ASSERT_EQ(executor.run(schedule, buffers, 0), Status::ok);
  EXPECT_EQ(steps, before) << "the clock is not looked at";

  executor.trace_into(&trace);
  for (int call = 0; call < 2; ++call) {  // the second forgets the first
    ASSERT_EQ(executor.run(schedule, buffers, 0), Status::ok);
    ASSERT_EQ(trace.ops().size(), 9u);
    for (std::size_t j = 0; j < 3; ++j) {
      const TracedOp& recv = trace.ops()[3 * j];
      const TracedOp& reduce = trace.ops()[3 * j + 1];
      const TracedOp& send = trace.ops()[3 * j + 2];
      EXPECT_EQ(recv.kind, sched::OpKind::recv);
      EXPECT_EQ(reduce.kind, sched::OpKind::reduce);
      EXPECT_EQ(send.kind, sched::OpKind::send);
      EXPECT_EQ(send.channel, 1);
      EXPECT_EQ(send.peer, 1);
      EXPECT_EQ(recv.bytes, 8u);
      EXPECT_EQ(send.bytes, 8u);
      for (const TracedOp* op : {&recv, &reduce, &send}) EXPECT_LT(op->start_ns, op->end_ns);
      EXPECT_LT(recv.end_ns, reduce.start_ns);
      EXPECT_LT(reduce.end_ns, send.start_ns);
    }
    EXPECT_GT(trace.ops()[0].end_ns, trace.ops()[6].end_ns) << "the last was complete first";
    EXPECT_EQ(trace.waited_ns(), 6) << "six waits of a message each, a tick long";
  }

  executor.trace_into(nullptr);
  const std::int64_t after = steps;
  ASSERT_EQ(executor.run(schedule, buffers, 0), Status::ok);
  EXPECT_EQ(steps, after);
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
  EXPECT_EQ(executor.scratch().size(), std::size_t{1} << 20);
}

// The first two ranks reduce by themselves, segment after segment, and rank 1 hands the result on.
TEST(Executor, RunsCollectivesOfGroups) {
  constexpr std::size_t kSegments = 100;
  const auto schedule_of = [](int rank) {
    Schedule schedule(rank, 3);
    schedule.groups = {{0, 1}};
    schedule.scratch_bytes = kSegments * sizeof(double);
    schedule.repeat(kSegments, [rank](std::size_t j, Emitter& e) {
      const sched::Region mine{Buffer::input, j * sizeof(double), sizeof(double)};
      const sched::Region sum{Buffer::output, j * sizeof(double), sizeof(double)};
      if (rank < 2) e.group(0, coll::Collective::reduce, 1, mine, rank == 1 ? sum : sched::Region{});
      if (rank == 1) e.send(2, sum);
      if (rank == 2) e.recv(1, sum);
    });
    return schedule;
  };
  const Combine combine{.function = [](void*, const void* in, void* inout, std::size_t bytes) {
    ASSERT_EQ(bytes, sizeof(double));
    *static_cast<double*>(inout) += *static_cast<const double*>(in);
  }};
  const std::vector<transport::LoopbackOptions> loopbacks = {{}, {.synchronous = true}, {.seed = 9}};
  for (const transport::LoopbackOptions& options : loopbacks) {
    Hub hub(3, options);
    run_ranks(hub, [&](LoopbackTransport& transport, LoopbackNative&) {
      const int rank = transport.rank();
      std::vector<double> mine(kSegments, rank + 1.0);
      std::vector<double> sums(kSegments);
      const Buffers buffers{.input = std::as_bytes(std::span(mine)),
                            .output = std::as_writable_bytes(std::span(sums)),
                            .combine = combine};
      Executor executor(transport);
      ASSERT_TRUE(transport.open_groups({{0, 1}}));
      for (int call = 0; call < 2; ++call) {
        ASSERT_EQ(executor.run(schedule_of(rank), buffers, 0), Status::ok);
        if (rank > 0) {
          EXPECT_EQ(sums, std::vector<double>(kSegments, 3.0));
        }
      }
    });
  }
}

TEST(Executor, FailsWhereAGroupIsNotOpen) {
  Hub hub(2);
  run_ranks(hub, [](LoopbackTransport& transport, LoopbackNative&) {
    Schedule schedule(transport.rank(), 2);
    schedule.groups = {{0, 1}};
    schedule.once([&](std::size_t, Emitter& e) {
      e.group(0, coll::Collective::allgather, 0, {Buffer::input, 0, 1}, {Buffer::output, 0, 2});
    });
    const std::array<std::byte, 1> mine{};
    std::array<std::byte, 2> all{};
    Executor executor(transport);
    ASSERT_TRUE(transport.open_groups({{0, 1}}));
    EXPECT_EQ(executor.run(schedule, {.input = mine, .output = all}, 0), Status::ok);
    transport.close_groups_but({});
    EXPECT_EQ(executor.run(schedule, {.input = mine, .output = all}, 0), Status::failed);
  });
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
  recorder.group_started();
  EXPECT_EQ(recorder.describe(),
            "call 1, recipe 0000000000009f3a: awaiting 1 send(s) to rank 2, 2 message(s) from rank 4, "
            "1 native step(s) of an island");
  recorder.group_done();
  recorder.message_done(4, false);
  EXPECT_GT(recorder.progress(), before);
  EXPECT_TRUE(recorder.in_call());
  recorder.end_call();
  EXPECT_FALSE(recorder.in_call());
}

TEST(FlightRecorder, NamesACallWithoutARecipe) {
  FlightRecorder recorder;
  recorder.begin_call("MPI_Bcast", 3);
  recorder.message_posted(2, false);
  EXPECT_EQ(recorder.describe(), "call 1, MPI_Bcast: awaiting 1 message(s) from rank 2");
  recorder.message_posted(transport::kAnyPeer, false);
  recorder.message_done(2, false);
  EXPECT_EQ(recorder.describe(), "call 1, MPI_Bcast: awaiting 1 message(s) from anybody");
  recorder.message_done(transport::kAnyPeer, false);
  EXPECT_EQ(recorder.describe(), "call 1, MPI_Bcast");
}

}  // namespace
}  // namespace eco::exec
