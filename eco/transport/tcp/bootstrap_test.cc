#include "eco/transport/tcp/bootstrap.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <thread>
#include <vector>

#include "eco/base/errors.h"
#include "eco/transport/loopback/loopback.h"
#include "eco/transport/tcp/testing.h"

namespace eco::transport::tcp {
namespace {

namespace fs = std::filesystem;

TEST(TcpBootstrap, OverTheLibrary) {
  Hub hub(3);
  run_ranks(hub, [](LoopbackTransport& library, LoopbackNative& native) {
    const int rank = library.rank();
    const auto transport = meet(native, rank, 3, loopback_addresses(2));
    std::array<std::byte, 1> word{static_cast<std::byte>(rank)}, got{};
    ASSERT_EQ(transport->post_send((rank + 1) % 3, 0, word, SendMode::eager, 0), Status::ok);
    ASSERT_EQ(transport->post_recv((rank + 2) % 3, 0, got, 1), Status::ok);
    EXPECT_EQ(wait(*transport, 2), Status::ok);
    EXPECT_EQ(got[0], static_cast<std::byte>((rank + 2) % 3));
    // Where one can't listen all hear of it: none is left behind in a collective.
    const std::vector<std::string> addresses =
        rank == 1 ? std::vector<std::string>{"203.0.113.7"} : loopback_addresses(1);
    EXPECT_THROW(meet(native, rank, 3, addresses), TransportError);
  });
}

TEST(TcpBootstrap, OverFilesAndWithMoreRailsHereThanThere) {
  const fs::path directory = fs::path(testing::TempDir()) / ("eco-tcp-" + std::to_string(::getpid()));
  fs::remove_all(directory);
  run_rank_threads(2, [&](int rank) {
    FileStore store(directory.string());
    const auto transport = meet(store, rank, 2, loopback_addresses(1 + rank));
    std::array<std::byte, 4> word{}, got{};
    const std::array<std::uint8_t, 1> rails{1};
    transport->set_rails(0, rails);  // which one of them lacks
    ASSERT_EQ(transport->post_send(1 - rank, 0, word, SendMode::eager, 0), Status::ok);
    ASSERT_EQ(transport->post_recv(1 - rank, 0, got, 1), Status::ok);
    EXPECT_EQ(wait(*transport, 2), Status::ok);
  });
  EXPECT_EQ(fs::status(directory / "rank-0").permissions() & fs::perms::others_read, fs::perms::none);
  fs::remove_all(directory);
}

TEST(TcpBootstrap, WhatOneSideLacksGoesOverRail0) {
  std::atomic<int> n_here = 0;
  run_tcp_ranks(3, mixed_addresses, {}, [&](TcpTransport& transport) {
    const int me = transport.rank();
    EXPECT_EQ(transport.n_rails(), 3);
    for (int rank = 0; rank < 3; ++rank) {
      for (int rail = 0; rail < 3; ++rail)
        EXPECT_EQ(transport.has_rail(rank, rail), rail == 0 || rail != rank) << rank << " " << rail;
    }
    const std::array<std::uint8_t, 3> rails{0, 1, 2};
    transport.set_rails(0, rails);
    std::array<std::byte, 4> word{}, got{};
    for (int peer = 0; peer < 3; ++peer) {
      if (peer == me) continue;
      for (int tag = 0; tag < 3; ++tag) {
        ASSERT_EQ(transport.post_send(peer, tag, word, SendMode::eager, 0), Status::ok);
        ASSERT_EQ(transport.post_recv(peer, tag, got, 1), Status::ok);
      }
    }
    EXPECT_EQ(wait(transport, 12), Status::ok);
    // One each way for each rail that both have: rank 0 shares two with each, the others rail 0 alone.
    EXPECT_EQ(transport.n_connections(), me == 0 ? 8U : 6U);
    for (++n_here; n_here < 3;) transport.look();
  });
}

TEST(TcpBootstrap, RefusesWhatCannotBe) {
  MemoryStore lonely;
  EXPECT_THROW(meet(lonely, 0, 2, {""}), InvalidArgument);
  EXPECT_THROW(meet(lonely, 0, 2, loopback_addresses(1), {}, 0.05), Timeout);
  EXPECT_THROW(meet(lonely, 0, 2, {"203.0.113.7"}), InvalidArgument);
  EXPECT_THROW(meet(lonely, 0, 2, {"eth0"}), InvalidArgument);
  EXPECT_THROW(meet(lonely, 0, 2, {}), InvalidArgument);
  lonely.put("rank-1", "not a line of ours");
  EXPECT_THROW(meet(lonely, 0, 2, loopback_addresses(1)), TransportError);
}

}  // namespace
}  // namespace eco::transport::tcp
