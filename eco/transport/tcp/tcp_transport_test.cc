#include "eco/transport/tcp/tcp_transport.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <barrier>
#include <chrono>
#include <filesystem>
#include <thread>
#include <vector>

#include "eco/base/errors.h"
#include "eco/transport/loopback/loopback.h"
#include "eco/transport/tcp/greeting.h"
#include "eco/transport/tcp/testing.h"

namespace eco::transport::tcp {
namespace {

namespace fs = std::filesystem;

// Waits until one ticket, or nothing more, comes.
Status wait(TcpTransport& transport, std::size_t n_tickets = 1) {
  std::array<Ticket, 8> room{};
  for (std::size_t done = 0; done < n_tickets;) {
    std::size_t n = 0;
    const Status status = transport.wait_some(room, n);
    if (status != Status::ok) return status;
    done += n;
  }
  return Status::ok;
}

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

// A rank made by hand, which listens where the test can send it anything. Its peer is the test.
struct Target {
  explicit Target(TcpOptions options = {}) {
    options.farewell_s = 0;
    fill_randomly(key);
    std::vector<Socket> listening;
    listening.push_back(listen_on("127.0.0.1"));
    port = port_of(listening.front());
    const Endpoint endpoint{"127.0.0.1", port};
    Socket other = listen_on("127.0.0.1");
    Job job{.rank = 0,
            .key = key,
            .addresses = {"127.0.0.1"},
            .endpoints = {{endpoint}, {{"127.0.0.1", port_of(other)}}}};
    transport = std::make_unique<TcpTransport>(std::move(job), std::move(listening), options);
    silent = std::move(other);
    socket = connect_from("127.0.0.1", endpoint);
    prepare(socket, 0);
    // Something has to be owed, or waiting does nothing.
    EXPECT_EQ(transport->post_recv(1, 0, memory, 0), Status::ok);
  }

  void send(std::span<const std::byte> bytes) {
    ASSERT_EQ(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
    look();
  }
  template <std::size_t n>
  std::array<std::byte, n> receive() {
    std::array<std::byte, n> bytes{};
    for (std::size_t got = 0; got < n;) {
      const ssize_t more = ::recv(socket.get(), bytes.data() + got, n - got, MSG_DONTWAIT);
      if (more > 0) got += static_cast<std::size_t>(more);
      if (more == 0) return bytes;
      if (more < 0) look();
    }
    return bytes;
  }
  // Lets the transport see what has come; kernels take a moment even on the loopback.
  Status look() {
    std::array<Ticket, 1> room{};
    Status status = Status::ok;
    for (int i = 0; i < 20 && status == Status::ok; ++i) {
      std::size_t n = 0;
      status = transport->test_some(room, n);
      n_done += n;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return status;
  }
  // The greeting as rank 1 gives it, with the key or another.
  void greet(const Key& with, std::uint32_t to = 0) {
    const HelloBytes hello = encode(Hello{.from = 1, .to = to, .rail = 0, .n_ranks = 2, .nonce = {}});
    send(hello);
    if (transport->n_refused() > 0) return;
    const auto answered = receive<sizeof(AnswerBytes)>();
    EXPECT_TRUE(is_answer(key, hello, answered));
    send(proof(with, hello, answered));
  }
  void send_frame(const Frame& frame, std::size_t body_bytes = 0) {
    FrameHead head;
    encode(frame, head);
    std::vector<std::byte> all(head.begin(), head.end());
    all.resize(all.size() + body_bytes, std::byte{9});
    send(all);
  }

  Key key{};
  int port = 0;
  std::unique_ptr<TcpTransport> transport;
  Socket silent;  // where rank 1 would listen
  Socket socket;
  std::array<std::byte, 16> memory{};
  std::size_t n_done = 0;
};

TEST(TcpTransport, ARankOfTheJobIsLetIn) {
  Target target;
  target.greet(target.key);
  target.send_frame({.kind = FrameKind::eager, .tag = 0, .bytes = 16}, 16);
  EXPECT_EQ(target.n_done, 1u);
  EXPECT_EQ(target.memory[15], std::byte{9});
  EXPECT_EQ(target.transport->n_refused(), 0u);
}

TEST(TcpTransport, ASilentPeerIsMissedThoughStrangersKnock) {
  for (const bool waits : {true, false}) {
    Target target;
    target.silent.close();  // its host is up, it is not
    const int port = target.port;
    std::jthread stranger([port](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        connect_from("127.0.0.1", {"127.0.0.1", port});
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
    });
    std::array<Ticket, 1> room{};
    std::size_t n = 0;
    Status status = Status::ok;
    while (status == Status::ok)
      status = waits ? target.transport->wait_some(room, n) : target.transport->test_some(room, n);
    EXPECT_EQ(status, Status::lost_peer);
  }
}

TEST(TcpTransport, StrangersAreTurnedAwayAndDisturbNobody) {
  Target target;
  const Key wrong{};
  target.greet(wrong);
  EXPECT_EQ(target.transport->n_refused(), 1u);
  EXPECT_EQ(target.transport->n_connections(), 0u);
  target.send_frame({.kind = FrameKind::eager, .tag = 0, .bytes = 0});
  EXPECT_EQ(target.n_done, 0u);
  EXPECT_EQ(target.look(), Status::ok) << "the job goes on";
}

TEST(TcpTransport, StrangersTakeNoDescriptorsFromPeers) {
  Target target;
  std::vector<Socket> strangers;
  for (int i = 0; i < 5; ++i) strangers.push_back(connect_from("127.0.0.1", {"127.0.0.1", target.port}));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int free = ::dup(target.socket.get());
  ::close(free);
  const rlimit tight{static_cast<rlim_t>(free) + 1, before.rlim_max};  // the only one left
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &tight), 0);
  const Status status = target.look();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(status, Status::ok);
  EXPECT_EQ(target.transport->n_refused(), 5u) << "all but the last that came";
}

TEST(TcpTransport, WhoWantsAnotherRankOrSpeaksAnotherLanguageIsTurnedAway) {
  for (const bool is_noise : {true, false}) {
    Target target;
    if (is_noise) {
      target.send(std::vector<std::byte>(64, std::byte{'G'}));
    } else {
      target.greet(target.key, 1);
    }
    EXPECT_EQ(target.transport->n_refused(), 1u);
    EXPECT_EQ(target.look(), Status::ok);
  }
}

TEST(TcpTransport, MalformedFramesEndTheJobTheyCameFrom) {
  const std::vector<Frame> bad = {
      {.kind = FrameKind::eager, .tag = 0, .sequence = 0, .bytes = std::uint64_t{1} << 30},  // never eager
      {.kind = FrameKind::data, .tag = 0, .sequence = 0, .bytes = 16},                       // not asked for
      {.kind = FrameKind::matched, .tag = 0, .id = 3},  // of no send, and not its to say
      {.kind = FrameKind::credit, .bytes = 1},          // likewise
  };
  for (const Frame& frame : bad) {
    Target target;
    target.greet(target.key);
    target.send_frame(frame);
    EXPECT_EQ(target.look(), Status::failed);
    EXPECT_EQ(target.n_done, 0u);
    EXPECT_EQ(target.transport->n_refused(), 1u);
  }
  Target noise;
  noise.greet(noise.key);
  noise.send(std::vector<std::byte>(kFrameBytes, std::byte{'x'}));
  EXPECT_EQ(noise.look(), Status::failed);
  Target greedy({.eager_bytes = 1000, .credit_bytes = 4000});
  greedy.greet(greedy.key);
  for (std::uint64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(greedy.look(), Status::ok);
    EXPECT_LE(greedy.transport->waiting_bytes(), 4000u);
    greedy.send_frame({.kind = FrameKind::eager, .tag = 1, .sequence = i, .bytes = 900}, 900);
  }
  EXPECT_EQ(greedy.look(), Status::failed) << "more than its credit";
  Target twice;
  twice.greet(twice.key);
  twice.send_frame({.kind = FrameKind::eager, .tag = 0, .bytes = 16}, 16);
  twice.send_frame({.kind = FrameKind::eager, .tag = 0, .bytes = 16}, 16);
  EXPECT_EQ(twice.n_done, 1u);
  ASSERT_EQ(twice.transport->post_recv(1, 0, twice.memory, 0), Status::ok);
  EXPECT_EQ(twice.look(), Status::failed) << "a message that came already";
}

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
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 2; ++rank) {
    ranks.emplace_back([&, rank] {
      FileStore store(directory.string());
      const auto transport = meet(store, rank, 2, loopback_addresses(1 + rank));
      std::array<std::byte, 4> word{}, got{};
      const std::array<std::uint8_t, 1> rails{1};
      transport->set_rails(0, rails);  // which one of them lacks
      ASSERT_EQ(transport->post_send(1 - rank, 0, word, SendMode::eager, 0), Status::ok);
      ASSERT_EQ(transport->post_recv(1 - rank, 0, got, 1), Status::ok);
      EXPECT_EQ(wait(*transport, 2), Status::ok);
    });
  }
  for (std::thread& rank : ranks) rank.join();
  EXPECT_EQ(fs::status(directory / "rank-0").permissions() & fs::perms::others_read, fs::perms::none);
  fs::remove_all(directory);
}

TEST(TcpBootstrap, RefusesWhatCannotBe) {
  MemoryStore lonely;
  EXPECT_THROW(meet(lonely, 0, 2, loopback_addresses(1), {}, 0.05), Timeout);
  EXPECT_THROW(meet(lonely, 0, 2, {"203.0.113.7"}), InvalidArgument);
  EXPECT_THROW(meet(lonely, 0, 2, {"eth0"}), InvalidArgument);
  EXPECT_THROW(meet(lonely, 0, 2, {}), InvalidArgument);
  lonely.put("rank-1", "not a line of ours");
  EXPECT_THROW(meet(lonely, 0, 2, loopback_addresses(1)), TransportError);
}

}  // namespace
}  // namespace eco::transport::tcp
