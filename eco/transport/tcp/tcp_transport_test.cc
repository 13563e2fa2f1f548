#include "eco/transport/tcp/tcp_transport.h"

#include <gtest/gtest.h>

#include <array>
#include <barrier>
#include <chrono>
#include <filesystem>
#include <thread>
#include <vector>

#include "eco/transport/tcp/testing.h"

namespace eco::transport::tcp {
namespace {

namespace fs = std::filesystem;

TEST(TcpTransport, OpensOneConnectionForEachPeerRailAndDirectionThatIsUsed) {
  std::barrier all(3);
  run_tcp_ranks(3, 2, {}, [&](TcpTransport& transport) {
    EXPECT_EQ(transport.n_connections(), 0u);
    EXPECT_EQ(transport.n_rails(), 2);
    const std::array<std::uint8_t, 3> rails{0, 1, 1};
    transport.set_rails(10, rails);
    std::array<std::byte, 4> word{};
    std::array<std::array<std::byte, 4>, 3> got{};
    if (transport.rank() == 0) {
      for (int i = 0; i < 3; ++i) {
        ASSERT_EQ(transport.post_send(1, 10 + i, word, SendMode::synchronous, 0), Status::ok);
        ASSERT_EQ(wait(transport), Status::ok);
      }
    } else if (transport.rank() == 1) {
      for (int i = 0; i < 3; ++i) {
        ASSERT_EQ(transport.post_recv(0, 10 + i, got[static_cast<std::size_t>(i)], 0), Status::ok);
        ASSERT_EQ(wait(transport), Status::ok);
      }
    }
    all.arrive_and_wait();
    EXPECT_EQ(transport.n_connections(), transport.rank() == 2 ? 0u : 2u);
    all.arrive_and_wait();  // nobody leaves before everybody has counted
  });
}

TEST(TcpTransport, WhatWaitsInAReceiversMemoryIsBounded) {
  constexpr TcpOptions kOptions{.eager_bytes = 1000, .credit_bytes = 4000};
  run_tcp_ranks(2, 1, kOptions, [&](TcpTransport& transport) {
    constexpr std::size_t kMessages = 50;
    std::vector<std::array<std::byte, 900>> messages(kMessages);
    std::array<std::byte, 1> word{};
    if (transport.rank() == 0) {
      for (std::size_t i = 0; i < kMessages; ++i)
        ASSERT_EQ(transport.post_send(1, 1, messages[i], SendMode::eager, 0), Status::ok);
      ASSERT_EQ(transport.post_send(1, 2, word, SendMode::eager, 0), Status::ok);
      ASSERT_EQ(wait(transport, kMessages + 1), Status::ok);
    } else {
      ASSERT_EQ(transport.post_recv(0, 2, word, 0), Status::ok);
      ASSERT_EQ(wait(transport), Status::ok);
      EXPECT_GT(transport.waiting_bytes(), 0u);
      EXPECT_LE(transport.waiting_bytes(), kOptions.credit_bytes);
      for (std::size_t i = 0; i < kMessages; ++i)
        ASSERT_EQ(transport.post_recv(0, 1, messages[i], 0), Status::ok);
      ASSERT_EQ(wait(transport, kMessages), Status::ok);
      EXPECT_EQ(transport.waiting_bytes(), 0u);
    }
  });
}

TEST(TcpTransport, ASendFromMemoryThatIsNotThereEndsForBoth) {
  run_tcp_ranks(2, 1, {}, [&](TcpTransport& transport) {
    std::array<std::byte, 4> word{};
    if (transport.rank() == 0) {
      const std::span<const std::byte> nowhere(reinterpret_cast<const std::byte*>(8), word.size());
      ASSERT_EQ(transport.post_send(1, 0, nowhere, SendMode::eager, 0), Status::ok);
    } else {
      ASSERT_EQ(transport.post_recv(0, 0, word, 0), Status::ok);
    }
    EXPECT_EQ(wait(transport), Status::lost_peer);
  });
}

// One rank leaves, the other waits for something of it.
void lose_one(bool has_met, bool abandons) {
  run_tcp_ranks(2, 2, {}, [&](TcpTransport& transport) {
    std::array<std::byte, 4> word{};
    if (has_met) {
      const Status posted = transport.rank() == 0 ? transport.post_send(1, 0, word, SendMode::synchronous, 0)
                                                  : transport.post_recv(0, 0, word, 0);
      ASSERT_EQ(posted, Status::ok);
      ASSERT_EQ(wait(transport), Status::ok);
    }
    if (transport.rank() == 0) {
      if (abandons) transport.abandon();
      return;
    }
    ASSERT_EQ(transport.post_recv(0, 1, word, 0), Status::ok);
    EXPECT_EQ(wait(transport), Status::lost_peer);
    EXPECT_EQ(transport.n_refused(), 0u);
  });
}

TEST(TcpTransport, APeerThatDiesIsLost) { lose_one(true, true); }
TEST(TcpTransport, APeerThatLeavesIsLostToWhoStillWaits) { lose_one(true, false); }
TEST(TcpTransport, APeerThatNothingWasHeardOfIsLostToo) { lose_one(false, true); }

TEST(TcpTransport, WhatWasSentArrivesThoughItsSenderLeaves) {
  const std::vector<std::byte> message(200'000, std::byte{3});  // more than the kernel takes at once
  run_tcp_ranks(2, 1, {}, [&](TcpTransport& transport) {
    if (transport.rank() == 0) {
      ASSERT_EQ(transport.post_send(1, 0, message, SendMode::eager, 0), Status::ok);
      ASSERT_EQ(transport.post_send(1, 0, message, SendMode::eager, 0), Status::ok);
      ASSERT_EQ(wait(transport, 2), Status::ok);
      return;
    }
    std::vector<std::byte> got(message.size()), more(message.size());
    ASSERT_EQ(transport.post_recv(0, 0, got, 0), Status::ok);
    ASSERT_EQ(wait(transport), Status::ok);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // the other is gone, or about to be
    ASSERT_EQ(transport.post_recv(0, 0, more, 0), Status::ok);
    ASSERT_EQ(wait(transport), Status::ok);
    EXPECT_EQ(got, message);
    EXPECT_EQ(more, message);
  });
}

TEST(TcpTransport, WhatALeaverSentIsCreditedToNobodyElse) {
  constexpr TcpOptions kOptions{.eager_bytes = 1000, .credit_bytes = 4000};
  std::barrier sent(2), gone(2);
  run_tcp_ranks(3, 1, kOptions, [&](TcpTransport& transport) {
    std::array<std::array<std::byte, 900>, 3> messages{};  // so many that their credit is due
    std::array<std::byte, 1> word{};
    if (transport.rank() == 1) {
      for (const auto& message : messages)
        ASSERT_EQ(transport.post_send(0, 1, message, SendMode::eager, 0), Status::ok);
      ASSERT_EQ(transport.post_send(0, 2, word, SendMode::eager, 0), Status::ok);
      ASSERT_EQ(wait(transport, messages.size() + 1), Status::ok);
      sent.arrive_and_wait();
    } else if (transport.rank() == 2) {
      gone.arrive_and_wait();
      ASSERT_EQ(transport.post_send(0, 3, word, SendMode::synchronous, 0), Status::ok);
      ASSERT_EQ(wait(transport), Status::ok);
      ASSERT_EQ(transport.post_recv(0, 4, word, 0), Status::ok);
      EXPECT_EQ(wait(transport), Status::ok);
    } else {
      ASSERT_EQ(transport.post_recv(1, 2, word, 0), Status::ok);
      ASSERT_EQ(wait(transport), Status::ok);
      sent.arrive_and_wait();
      ASSERT_EQ(transport.post_recv(2, 3, word, 0), Status::ok);
      std::array<Ticket, 1> room{};
      std::size_t n = 0;
      for (int i = 0; i < 50; ++i) {  // until rank 1 is gone, before rank 2 comes and gets its place
        ASSERT_EQ(transport.test_some(room, n), Status::ok);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      gone.arrive_and_wait();
      ASSERT_EQ(wait(transport), Status::ok);
      for (auto& message : messages) {
        ASSERT_EQ(transport.post_recv(1, 1, message, 0), Status::ok);
        ASSERT_EQ(wait(transport), Status::ok);
      }
      ASSERT_EQ(transport.post_send(2, 4, word, SendMode::synchronous, 0), Status::ok);
      EXPECT_EQ(wait(transport), Status::ok);
    }
  });
}

std::size_t n_descriptors() {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()));
}

TEST(TcpTransport, AThousandConnectionsLeaveNothingBehind) {
  const std::size_t before = n_descriptors();
  for (int round = 0; round < 84; ++round) {  // 12 connections each: 3 ranks, 2 rails
    run_tcp_ranks(3, 2, {}, [](TcpTransport& transport) {
      const std::array<std::uint8_t, 2> rails{0, 1};
      transport.set_rails(0, rails);
      std::array<std::array<std::byte, 8>, 8> words{};
      for (int k = 1; k < 3; ++k) {
        const int peer = (transport.rank() + k) % 3;
        for (int tag = 0; tag < 2; ++tag) {
          const auto at = static_cast<std::size_t>(4 * tag + k);
          ASSERT_EQ(transport.post_send(peer, tag, words[0], SendMode::eager, 0), Status::ok);
          ASSERT_EQ(transport.post_recv(peer, tag, words[at], 0), Status::ok);
        }
      }
      ASSERT_EQ(wait(transport, 8), Status::ok);
    });
  }
  EXPECT_EQ(n_descriptors(), before);
}

}  // namespace
}  // namespace eco::transport::tcp
