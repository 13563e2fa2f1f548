#include "eco/transport/shared_rails.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "eco/transport/joined.h"
#include "eco/transport/tcp/testing.h"

namespace eco::transport::tcp {
namespace {

using Word = std::array<std::byte, 4>;

// Rank 0 sends it, the other receives it.
Status post_word(RailShare& share, Word& word, int tag = 0, SendMode mode = SendMode::eager) {
  return share.rank() == 0 ? share.post_send(1, tag, word, mode, 0) : share.post_recv(0, tag, word, 0);
}

Status wait_for_one(Transport& transport) {
  std::array<Ticket, 4> room{};
  std::size_t n = 0;
  return transport.wait_some(room, n);
}

TEST(SharedRails, WhoWaitsLetsTheOtherLibraryGoOn) {
  std::atomic<int> looks{0};
  std::atomic<bool> sends{false};
  run_tcp_shares(
      2, 1,
      [&](RailShare& share) {
        Word word{};
        if (share.rank() == 0) {
          // Sent only once the other rank, which waits, has looked elsewhere many times.
          while (looks < 20) std::this_thread::yield();
          sends = true;
        }
        ASSERT_EQ(post_word(share, word), Status::ok);
        EXPECT_EQ(wait_for_one(share), Status::ok);
        EXPECT_TRUE(sends);
      },
      [&] { ++looks; });
}

TEST(SharedRails, WhoLooksAndDoesNothingElseLetsTheOtherLibraryGoOnToo) {
  std::atomic<int> looks{0};
  run_tcp_shares(
      2, 1,
      [&](RailShare& share) {
        Word word{};
        while (share.rank() == 0 && looks < 20) std::this_thread::yield();
        ASSERT_EQ(post_word(share, word), Status::ok);
        if (share.rank() == 0) {
          EXPECT_EQ(wait_for_one(share), Status::ok);
          return;
        }
        std::array<Ticket, 4> room{};
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        for (std::size_t n = 0; n == 0 && std::chrono::steady_clock::now() < until;)
          ASSERT_EQ(share.poll_some(room, n), Status::ok);
        EXPECT_GE(looks.exchange(20), 20);
      },
      [&] { ++looks; });
}

TEST(SharedRails, WhatAGroupLeavesUnsaidIsCarriedFromThenOn) {
  // Over two rails a send is handed back before its arrival is known.
  std::atomic<int> n_left{0};
  run_tcp_shares(
      2, 2,
      [&](RailShare& share) {
        Word word{};
        ASSERT_EQ(post_word(share, word), Status::ok);
        EXPECT_EQ(wait_for_one(share), Status::ok);
        EXPECT_TRUE(share.rank() != 0 || n_left > 0);
      },
      [] {}, [&] { ++n_left; });
}

TEST(SharedRails, GroupsOnSeveralThreadsHaveTagsAndRanksOfTheirOwn) {
  // Two groups of the same two ranks, the second the other way round; each rank runs both at once.
  constexpr int kMessages = 200;
  MemoryStore store;
  std::array<std::shared_ptr<SharedRails>, 2> jobs;
  {
    std::jthread other([&] {
      jobs[1] = std::make_shared<SharedRails>(meet(store, 1, 2, {"127.0.0.1"}), std::vector<std::string>{"a"},
                                              [] {});
    });
    jobs[0] =
        std::make_shared<SharedRails>(meet(store, 0, 2, {"127.0.0.1"}), std::vector<std::string>{"a"}, [] {});
  }
  const auto run = [&](std::size_t process, int group) {
    const std::vector<int> ranks = group == 0 ? std::vector<int>{0, 1} : std::vector<int>{1, 0};
    const int rank = ranks[process];  // its place: the list is its own inverse
    RailShare share(jobs[process], {.first_tag = 16 * group, .n_tags = 16, .rank = rank, .ranks = ranks});
    for (int i = 0; i < kMessages; ++i) {
      std::array<int, 2> mine{group, i};
      std::array<int, 2> theirs{};
      ASSERT_EQ(share.post_recv(1 - rank, 3, std::as_writable_bytes(std::span(theirs)), 1), Status::ok);
      ASSERT_EQ(share.post_send(1 - rank, 3, std::as_bytes(std::span(mine)), SendMode::eager, 2), Status::ok);
      std::array<Ticket, 4> room{};
      for (std::size_t done = 0; done < 2;) {
        std::size_t n = 0;
        ASSERT_EQ(share.wait_some(room, n), Status::ok);
        for (std::size_t k = 0; k < n; ++k) EXPECT_LE(room[k], 2u);
        done += n;
      }
      EXPECT_EQ(theirs, mine);
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t process : {0u, 1u})
      for (int group : {0, 1}) threads.emplace_back(run, process, group);
  }
  std::jthread other([&] { jobs[1]->close(); });
  jobs[0]->close();
}

TEST(SharedRails, WhatOneGroupLosesIsLostToAll) {
  std::barrier both(2);
  run_tcp_shares(2, 1, [&](RailShare& share) {
    Word word{};
    ASSERT_EQ(share.post_recv(1 - share.rank(), 0, word, 0), Status::ok);
    both.arrive_and_wait();
    if (share.rank() == 0) {
      share.abandon();  // a call of it has failed
      EXPECT_EQ(share.post_recv(1, 1, word, 0), Status::failed);
    } else {
      EXPECT_NE(wait_for_one(share), Status::ok) << "the peer has gone while it owes a message";
    }
    both.arrive_and_wait();
  });
}

TEST(SharedRails, ChosenRailsAreTheNetworks) {
  run_tcp_shares(2, 3, [&](RailShare& share) {
    share.choose_rails({2, 0});
    EXPECT_EQ(share.n_rails(), 2);
    const std::array<std::uint8_t, 2> rails{1, kNoRail};
    share.set_rails(0, rails);
    Word word{};
    for (int tag : {0, 1}) {
      ASSERT_EQ(post_word(share, word, tag, SendMode::synchronous), Status::ok);
      EXPECT_EQ(wait_for_one(share), Status::ok);
    }
    share.choose_rails({});
    EXPECT_EQ(share.post_send(1 - share.rank(), 0, word, SendMode::eager, 0), Status::failed) << "given up";
  });
}

}  // namespace
}  // namespace eco::transport::tcp
