// Who is let in, and what comes of whoever is not: strangers, malformed frames, peers that are silent.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <thread>
#include <vector>

#include "eco/transport/tcp/greeting.h"
#include "eco/transport/tcp/tcp_transport.h"

namespace eco::transport::tcp {
namespace {

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

}  // namespace
}  // namespace eco::transport::tcp
