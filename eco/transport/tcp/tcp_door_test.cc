// Ranks that are turned away before they were let in, because strangers crowd there or many come at once: they come again,
// and nothing of what they bring is lost.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "eco/transport/tcp/greeting.h"
#include "eco/transport/tcp/tcp_transport.h"

namespace eco::transport::tcp {
namespace {

using std::chrono::milliseconds;
constexpr std::chrono::seconds kLongEnough(20);
const std::string kHere = "127.0.0.1";

// So many ranks on one rail of this host; the test has the listening sockets of those that it makes no transport for.
struct Ranks {
  explicit Ranks(int n) {
    job.addresses = {kHere};
    fill_randomly(job.key);
    for (int rank = 0; rank < n; ++rank) {
      listening.push_back(rank < 2 ? listen_on(kHere) : Socket());
      job.endpoints.push_back({{kHere, rank < 2 ? port_of(listening.back()) : 1}});
    }
  }
  // Ranks from 2 on listen nowhere: nobody sends to them.
  std::unique_ptr<TcpTransport> make(int rank) {
    Job mine = job;
    mine.rank = rank;
    std::vector<Socket> sockets;
    if (rank < 2) sockets.push_back(std::move(listening[static_cast<std::size_t>(rank)]));
    return std::make_unique<TcpTransport>(std::move(mine), std::move(sockets), TcpOptions{.farewell_s = 0});
  }
  Job job;
  std::vector<Socket> listening;
};

// One round; false where it has ended badly.
bool look(TcpTransport& transport, std::size_t& n_done) {
  std::array<Ticket, 8> room{};
  std::size_t n = 0;
  const Status status = transport.test_some(room, n);
  n_done += n;
  return status == Status::ok;
}

// What comes until then, at most so many bytes.
std::vector<std::byte> read(const Socket& socket, std::size_t n, const std::function<void()>& meanwhile) {
  std::vector<std::byte> bytes(n);
  std::size_t got = 0;
  const auto deadline = std::chrono::steady_clock::now() + kLongEnough;
  while (got < n && std::chrono::steady_clock::now() < deadline) {
    meanwhile();
    const ssize_t more = ::recv(socket.get(), bytes.data() + got, n - got, MSG_DONTWAIT);
    if (more == 0) break;
    if (more > 0) got += static_cast<std::size_t>(more);
  }
  bytes.resize(got);
  return bytes;
}

void write(const Socket& socket, std::span<const std::byte> bytes) {
  ASSERT_EQ(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(bytes.size()));
}

enum class Closes { at_once, after_hello, after_answer, after_proof, never };

// As the rank that is knocked at, by hand.
class Door {
 public:
  Door(const Socket& listening, const Key& key, std::function<void()> meanwhile)
      : listening_(listening), key_(key), meanwhile_(std::move(meanwhile)) {}

  Socket answer_next(Closes closes) {
    Socket socket;
    const auto deadline = std::chrono::steady_clock::now() + kLongEnough;
    while (!socket && std::chrono::steady_clock::now() < deadline) {
      meanwhile_();
      socket = accept(listening_);
    }
    EXPECT_TRUE(socket) << "nobody came";
    if (closes == Closes::at_once) return {};
    const std::vector<std::byte> words = read(socket, sizeof(HelloBytes), meanwhile_);
    HelloBytes hello{};
    EXPECT_EQ(words.size(), hello.size());
    std::copy(words.begin(), words.end(), hello.begin());
    EXPECT_TRUE(decode(hello));
    if (closes == Closes::after_hello) return {};
    const AnswerBytes answered = answer(key_, hello, Nonce{});
    write(socket, answered);
    if (closes == Closes::after_answer) return {};
    const ProofBytes right = proof(key_, hello, answered);
    EXPECT_EQ(read(socket, right.size(), meanwhile_), std::vector<std::byte>(right.begin(), right.end()));
    if (closes == Closes::after_proof) return {};
    write(socket, kWelcome);
    return socket;
  }

 private:
  const Socket& listening_;
  Key key_;
  std::function<void()> meanwhile_;
};

TEST(TcpDoor, WhoeverIsTurnedAwayComesAgainWithAllThatItBrings) {
  Ranks ranks(2);
  const std::unique_ptr<TcpTransport> opener = ranks.make(0);
  const std::array<std::byte, 3> bytes{std::byte{7}, std::byte{8}, std::byte{9}};
  ASSERT_EQ(opener->post_send(1, 5, bytes, SendMode::eager, 0), Status::ok);
  std::size_t n_done = 0;
  bool good = true;
  Door door(ranks.listening[1], ranks.job.key, [&] { good = good && look(*opener, n_done); });
  for (const Closes closes : {Closes::at_once, Closes::after_hello, Closes::after_answer, Closes::after_proof,
                              Closes::after_proof}) {
    door.answer_next(closes);
    EXPECT_EQ(n_done, 0u) << "nothing is on its way before it is welcome";
  }
  const Socket socket = door.answer_next(Closes::never);
  const std::vector<std::byte> frame =
      read(socket, kFrameBytes + bytes.size(), [&] { good = good && look(*opener, n_done); });
  ASSERT_EQ(frame.size(), kFrameBytes + bytes.size());
  EXPECT_EQ(frame.back(), std::byte{9});
  EXPECT_EQ(n_done, 1u);
  EXPECT_TRUE(good);
  EXPECT_TRUE(read(socket, 1,
                   [&] {
                     look(*opener, n_done);
                     opener->abandon();
                   })
                  .empty())
      << "it came once";
}

TEST(TcpDoor, APeerThatAlwaysTurnsAwayIsLost) {
  Ranks ranks(2);
  const std::unique_ptr<TcpTransport> opener = ranks.make(0);
  const std::array<std::byte, 3> bytes{};
  ASSERT_EQ(opener->post_send(1, 5, bytes, SendMode::eager, 0), Status::ok);
  std::jthread closer([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      accept(ranks.listening[1]);
      std::this_thread::sleep_for(milliseconds(1));
    }
  });
  std::array<Ticket, 1> room{};
  std::size_t n = 0;
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(opener->wait_some(room, n), Status::lost_peer);
  EXPECT_GT(std::chrono::steady_clock::now() - began, milliseconds(1000));
}

// Each knocks as often as it can until it is told to stop; of those that it has, the oldest go.
void crowd(const std::stop_token& stop, const Endpoint& door, bool introduces_itself, int n_ranks) {
  std::deque<Socket> crowd;
  const HelloBytes hello = encode(
      Hello{.from = 1, .to = 0, .rail = 0, .n_ranks = static_cast<std::uint32_t>(n_ranks), .nonce = {}});
  while (!stop.stop_requested()) {
    Socket socket = connect_from(kHere, door);
    if (introduces_itself && socket) (void)::send(socket.get(), hello.data(), hello.size(), MSG_NOSIGNAL);
    crowd.push_back(std::move(socket));
    if (crowd.size() > 150) crowd.pop_front();
  }
}

TEST(TcpDoor, StrangersShutNoRankOut) {
  for (const bool introduce_themselves : {false, true}) {
    SCOPED_TRACE(introduce_themselves);
    for (int turn = 0; turn < 10; ++turn) {
      Ranks ranks(2);
      const std::unique_ptr<TcpTransport> target = ranks.make(0);
      const std::unique_ptr<TcpTransport> opener = ranks.make(1);
      std::jthread strangers([&](const std::stop_token& stop) {
        crowd(stop, ranks.job.endpoints[0][0], introduce_themselves, 2);
      });
      std::array<std::byte, 16> memory{}, bytes{};
      bytes.fill(std::byte{5});
      std::size_t n_in = 0, n_out = 0;
      ASSERT_EQ(target->post_recv(1, 0, memory, 0), Status::ok);
      while (target->n_refused() < 200 && look(*target, n_in)) {
      }
      ASSERT_EQ(opener->post_send(0, 0, bytes, SendMode::synchronous, 0), Status::ok);
      const auto deadline = std::chrono::steady_clock::now() + kLongEnough;
      bool good = true;
      while (good && n_in + n_out < 2 && std::chrono::steady_clock::now() < deadline)
        good = look(*target, n_in) && look(*opener, n_out);
      EXPECT_TRUE(good);
      EXPECT_EQ(n_in + n_out, 2u);
      EXPECT_EQ(memory, bytes);
    }
  }
}

TEST(TcpDoor, TwoHundredRanksMayComeToOneAtOnce) {
  constexpr int kRanks = 200;
  rlimit descriptors{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &descriptors), 0);
  const rlimit before = descriptors;
  descriptors.rlim_cur = std::min<rlim_t>(descriptors.rlim_max, std::max<rlim_t>(descriptors.rlim_cur, 2000));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &descriptors), 0);
  {
    Ranks ranks(kRanks);
    const std::unique_ptr<TcpTransport> target = ranks.make(0);
    std::vector<std::unique_ptr<TcpTransport>> openers;
    std::vector<std::array<std::byte, 8>> memory(kRanks);
    const std::array<std::byte, 8> bytes{std::byte{3}};
    std::size_t n_in = 0, n_out = 0;
    bool good = true;
    for (int rank = 1; rank < kRanks; ++rank) {
      openers.push_back(ranks.make(rank));
      ASSERT_EQ(target->post_recv(rank, 0, memory[static_cast<std::size_t>(rank)], 0), Status::ok);
      ASSERT_EQ(openers.back()->post_send(0, 0, bytes, SendMode::synchronous, 0), Status::ok);
    }
    const auto deadline = std::chrono::steady_clock::now() + kLongEnough;
    while (good && n_in + n_out < 2 * (kRanks - 1) && std::chrono::steady_clock::now() < deadline) {
      for (const auto& opener : openers) good = good && look(*opener, n_out);
      good = good && look(*target, n_in);
    }
    EXPECT_TRUE(good);
    EXPECT_EQ(n_in, static_cast<std::size_t>(kRanks - 1));
    EXPECT_EQ(n_out, static_cast<std::size_t>(kRanks - 1));
    for (int rank = 1; rank < kRanks; ++rank) EXPECT_EQ(memory[static_cast<std::size_t>(rank)], bytes);
    EXPECT_EQ(target->n_refused(), 0u);
  }
  ::setrlimit(RLIMIT_NOFILE, &before);
}

}  // namespace
}  // namespace eco::transport::tcp
