#include "eco/sched/window.h"

#include <gtest/gtest.h>

#include "eco/sched/testing.h"
#include "eco/sched/text.h"

namespace eco::sched {
namespace {

using testing::out;
using testing::scratch;

TEST(Window, ASendWaitsForTheReceiveItForwards) {
  Schedule s(1, 3);
  s.once([](std::size_t, Emitter& e) {
    e.recv(0, out(0, 100));
    e.send(2, out(0, 100));
  });
  Window window(s, 8, false);
  EXPECT_FALSE(window.take_ready(OpKind::send));
  const auto recv = window.take_ready(OpKind::recv);
  ASSERT_TRUE(recv);
  window.posted(*recv);
  EXPECT_FALSE(window.take_ready(OpKind::send)) << "posted is not arrived";
  window.complete(*recv);
  const auto send = window.take_ready(OpKind::send);
  ASSERT_TRUE(send);
  window.posted(*send);
  EXPECT_FALSE(window.done());
  window.complete(*send);
  EXPECT_TRUE(window.done());
}

TEST(Window, NeighboursInOneCellDoNotWaitForEachOther) {
  Schedule s(0, 2);
  s.once([](std::size_t, Emitter& e) {
    e.recv(1, out(0, 1000));
    e.send(1, out(1000, 24));  // shares a cell with the first, but no byte
    e.send(1, out(999, 24));   // shares a byte
  });
  Window window(s, 8, false);
  const auto send = window.take_ready(OpKind::send);
  ASSERT_TRUE(send);
  EXPECT_EQ(window.op(*send).source.offset, 1000U);
  window.posted(*send);
  EXPECT_FALSE(window.take_ready(OpKind::send));
}

TEST(Window, TwoReadsDoNotConflictAWriteAfterAReadDoes) {
  Schedule s(0, 3);
  s.once([](std::size_t, Emitter& e) {
    e.send(1, out(0, 8));
    e.send(2, out(0, 8));
    e.recv(1, out(4, 8));
  });
  Window window(s, 8, false);
  const auto first = window.take_ready(OpKind::send);
  const auto second = window.take_ready(OpKind::send);
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(window.take_ready(OpKind::recv));
  window.posted(*first), window.posted(*second);
  window.complete(*second);
  EXPECT_FALSE(window.take_ready(OpKind::recv));
  window.complete(*first);
  EXPECT_TRUE(window.take_ready(OpKind::recv));
}

TEST(Window, MessagesOfOneChannelArePostedInProgramOrder) {
  Schedule s(1, 3);
  s.n_channels = 2;
  s.once([](std::size_t, Emitter& e) {
    e.recv(0, out(0, 8));
    e.send(2, out(0, 8), 0);   // waits for the receive
    e.send(2, out(8, 8), 0);   // ready, but second on its channel
    e.send(2, out(16, 8), 1);  // another channel
  });
  Window window(s, 8, false);
  const auto other = window.take_ready(OpKind::send);
  ASSERT_TRUE(other);
  EXPECT_EQ(window.op(*other).channel, 1);
  window.posted(*other);
  EXPECT_FALSE(window.take_ready(OpKind::send));
  const auto recv = window.take_ready(OpKind::recv);
  window.posted(*recv);
  window.complete(*recv);
  for (const std::size_t offset : {std::size_t{0}, std::size_t{8}}) {
    const auto send = window.take_ready(OpKind::send);
    ASSERT_TRUE(send);
    EXPECT_EQ(window.op(*send).source.offset, offset);
    window.posted(*send);
  }
}

TEST(Window, ScratchSlotsAreReusedOnlyWhenFree) {
  Schedule s(0, 2);
  s.repeat(3, [](std::size_t j, Emitter& e) {
    e.recv(1, scratch(j % 2 * 8, 8));
    e.reduce(scratch(j % 2 * 8, 8), out(0, 8));
  });
  Window window(s, 16, false);
  const auto a = window.take_ready(OpKind::recv);
  window.posted(*a);
  const auto b = window.take_ready(OpKind::recv);
  window.posted(*b);
  EXPECT_FALSE(window.take_ready(OpKind::recv)) << "the third uses the first's slot";
  window.complete(*a);
  EXPECT_FALSE(window.take_ready(OpKind::recv)) << "still read by the reduction";
  const auto reduce = window.take_ready(OpKind::reduce);
  ASSERT_TRUE(reduce);
  window.complete(*reduce);
  EXPECT_TRUE(window.take_ready(OpKind::recv));
}

TEST(Window, InputIsOutputWhenInPlace) {
  for (const bool in_place : {false, true}) {
    Schedule s(0, 2);
    s.once([](std::size_t, Emitter& e) {
      e.send(1, {Buffer::input, 0, 8});
      e.recv(1, out(0, 8));
    });
    Window window(s, 8, in_place);
    EXPECT_EQ(window.take_ready(OpKind::recv).has_value(), !in_place);
  }
}

TEST(Window, LooksAheadOnlySoFar) {
  Schedule s(0, 2);
  s.repeat(1000, [](std::size_t j, Emitter& e) { e.recv(1, out(j * 8, 8)); });
  Window window(s, 4, false);
  EXPECT_EQ(window.n_unfinished(), 4U);
  std::size_t n = 0;
  while (const auto id = window.take_ready(OpKind::recv)) {
    EXPECT_EQ(window.sequence(*id), n++);
    window.posted(*id);
    window.complete(*id);
    EXPECT_LE(window.n_unfinished(), 4U);
  }
  EXPECT_EQ(n, 1000U);
  EXPECT_TRUE(window.done());
  window.restart(s, false);
  EXPECT_FALSE(window.done());
}

TEST(Window, AFullChannelLetsOthersPass) {
  Schedule s(0, 2);
  s.n_channels = 2;
  s.window = {1, true};
  s.once([](std::size_t, Emitter& e) {
    e.send(1, out(0, 8), 0);
    e.send(1, out(8, 8), 0);
    e.send(1, out(16, 8), 1);
  });
  Window window(s, 8, false);
  const auto first = window.take_ready(OpKind::send);
  window.posted(*first);
  const auto other = window.take_ready(OpKind::send);
  ASSERT_TRUE(other);
  EXPECT_EQ(window.op(*other).channel, 1);
  window.posted(*other);
  EXPECT_FALSE(window.take_ready(OpKind::send)) << "one message under way on channel 0 already";
  window.complete(*first);
  const auto second = window.take_ready(OpKind::send);
  ASSERT_TRUE(second);
  EXPECT_EQ(window.op(*second).source.offset, 8U);
}

TEST(Window, AWideRegionMeetsEveryNarrowOne) {
  Schedule s(0, 2);
  s.once([](std::size_t, Emitter& e) {
    for (std::size_t j = 0; j < 3; ++j) e.recv(1, out(j * 64, 64));
    e.send(1, out(0, std::size_t{64} << 10));
    e.recv(1, out(60000, 8));
  });
  Window window(s, 16, false);
  for (int j = 0; j < 3; ++j) {
    EXPECT_FALSE(window.take_ready(OpKind::send));
    const auto id = window.take_ready(OpKind::recv);
    ASSERT_TRUE(id);
    window.posted(*id);
    window.complete(*id);
  }
  EXPECT_FALSE(window.take_ready(OpKind::recv)) << "the wide send still reads it";
  EXPECT_TRUE(window.take_ready(OpKind::send));
}

TEST(Window, ManySegmentsOfABlockThatWasTouchedWhole) {
  constexpr std::size_t kSegments = 300;
  Schedule s(0, 2);
  s.once([](std::size_t, Emitter& e) { e.copy({Buffer::input, 0, 1 << 20}, out(0, 1 << 20)); });
  s.repeat(kSegments, [](std::size_t j, Emitter& e) { e.recv(1, out(j * 2000, 2000)); });
  s.once([](std::size_t, Emitter& e) {
    e.send(1, out(1999, 2));     // touches two segments
    e.send(1, out(900000, 10));  // none, but the copy wrote there
  });
  Window window(s, 512, false);
  EXPECT_FALSE(window.take_ready(OpKind::recv)) << "the copy writes all of it";
  EXPECT_FALSE(window.take_ready(OpKind::send));
  window.complete(*window.take_ready(OpKind::copy));
  for (std::size_t j = 0; j < kSegments; ++j) {
    EXPECT_FALSE(j < 2 && window.take_ready(OpKind::send)) << "segment " << j << " is on its way";
    const auto id = window.take_ready(OpKind::recv);
    ASSERT_TRUE(id) << "segments do not wait for each other";
    ASSERT_EQ(window.op(*id).target.offset, j * 2000);
    window.posted(*id);
    window.complete(*id);
  }
  for (int i = 0; i < 2; ++i) {
    const auto id = window.take_ready(OpKind::send);
    ASSERT_TRUE(id);
    window.posted(*id);
    window.complete(*id);
  }
  EXPECT_TRUE(window.done());
}

TEST(Text, PrintsAndCounts) {
  Schedule s(1, 3);
  s.repeat(2, [](std::size_t j, Emitter& e) {
    e.recv(0, out(j * 8, 8));
    e.send(2, out(j * 8, 8));
  });
  const std::string text = to_text(s, 3);
  EXPECT_EQ(text,
            "rank 1 of 3, scratch 0, channels 1\n"
            "  recv   output[0+8]              <- 0\n"
            "  send   output[0+8]              -> 2\n"
            "  recv   output[8+8]              <- 0\n"
            "  and 1 more\n");
  EXPECT_NE(to_dot({s}, "t").find("1 -> 2 [label=\"2 x, 16 B\"]"), std::string::npos);
}

}  // namespace
}  // namespace eco::sched
