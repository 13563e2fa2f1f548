// The contract of transport.h, held by every transport that needs no MPI; MPI's is held by the programs of tests/mpi, but for
// peers that die: of those it reports none, its launcher ends the job (test_a_rank_that_leaves_ends_the_job).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "eco/transport/joined.h"
#include "eco/transport/loopback/loopback.h"
#include "eco/transport/tcp/hostile.h"
#include "eco/transport/tcp/testing.h"
#include "eco/transport/ucx/testing.h"

namespace eco::transport {
namespace {

using Body = std::function<void(Transport&)>;

// Thrown by a body: its rank is dead, and its transport ends in the middle of whatever it did.
struct Death {};

// Runs the body for each of so many ranks, each a thread with a transport of its own. Throws what one of them throws.
struct Kind {
  std::string name;
  std::function<void(int, const Body&)> run;
  std::string (*why_not)() = nullptr;  // why it can't be run here; empty: it can
};
void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

std::function<void(int, const Body&)> loopback(LoopbackOptions options) {
  return [options](int n_ranks, const Body& body) {
    Hub hub(n_ranks, options);
    run_ranks(hub, [&](LoopbackTransport& transport, LoopbackNative&) { body(transport); });
  };
}

std::function<void(int, const Body&)> over_tcp(int n_rails, tcp::TcpOptions options = {}) {
  return [=](int n_ranks, const Body& body) {
    tcp::run_tcp_ranks(n_ranks, n_rails, options, [&](tcp::TcpTransport& transport) { body(transport); });
  };
}

void ask_for_rails(Transport& transport) {
  for (int tag = 0; tag < 64; ++tag) {
    const std::array<std::uint8_t, 1> rail{static_cast<std::uint8_t>(tag % 3)};
    transport.set_rails(tag, rail);
  }
}

// Hosts of which some lack a rail; each tag asks for another one.
std::function<void(int, const Body&)> over_mixed_tcp(tcp::TcpOptions options = {}) {
  return [=](int n_ranks, const Body& body) {
    tcp::run_tcp_ranks(n_ranks, tcp::mixed_addresses, options, [&](tcp::TcpTransport& transport) {
      ask_for_rails(transport);
      body(transport);
    });
  };
}

std::function<void(int, const Body&)> over_ucx(int n_rails, ucx::UcxOptions options = {}) {
  return [=](int n_ranks, const Body& body) {
    ucx::run_ucx_ranks(n_ranks, n_rails, options, [&](RailTransport& transport) { body(transport); });
  };
}

// One half of a job's ranks is the group, in reverse order, and has some of its tags.
std::function<void(int, const Body&)> over_a_share() {
  return [](int n_ranks, const Body& body) {
    tcp::run_tcp_shares(n_ranks, 2, [&](RailShare& share) { body(share); });
  };
}

std::function<void(int, const Body&)> over_a_share_of_ucx() {
  return [](int n_ranks, const Body& body) {
    ucx::run_ucx_shares(n_ranks, 2, [&](RailShare& share) { body(share); });
  };
}

// Tags whose number is odd have a rail.
std::function<void(int, const Body&)> joined() {
  return [](int n_ranks, const Body& body) {
    Hub hub(n_ranks, {});
    std::vector<Transport*> firsts(static_cast<std::size_t>(n_ranks));
    std::barrier both(2 * n_ranks);
    const std::jthread first([&] {
      run_ranks(hub, [&](LoopbackTransport& transport, LoopbackNative&) {
        firsts[static_cast<std::size_t>(transport.rank())] = &transport;
        both.arrive_and_wait();
        both.arrive_and_wait();
      });
    });
    tcp::run_tcp_shares(n_ranks, 2, [&](RailShare& share) {
      both.arrive_and_wait();
      JoinedTransport joined(*firsts[static_cast<std::size_t>(share.rank())], share);
      for (int tag = 1; tag < 64; tag += 2) {
        const std::array<std::uint8_t, 1> rail{static_cast<std::uint8_t>(tag / 2 % 2)};
        joined.set_rails(tag, rail);
      }
      try {
        body(joined);
      } catch (...) {
        joined.abandon();
        hub.lose(share.rank());
        both.arrive_and_wait();
        throw;
      }
      both.arrive_and_wait();
    });
  };
}

std::vector<std::string> all_three(int) { return tcp::loopback_addresses(3); }
std::vector<std::string> without_the_second(int rank) {
  std::vector<std::string> addresses = tcp::loopback_addresses(3);
  if (rank % 2 == 1) addresses[1].clear();
  return addresses;
}

// Two of three rails end at random, at any byte. Ranks leave when all have what they wait for: what a proxy holds counts as
// delivered for its sender, who would leave while it is lost with its rail.
std::function<void(int, const Body&)> over_failing_rails(
    unsigned seed, tcp::TcpOptions options = {}, std::vector<std::string> (*addresses_of)(int) = all_three) {
  options.rail_lost_after_s = 0.3;  // so long leavers stay, while a busy machine lets others wait
  return [=](int n_ranks, const Body& body) {
    std::minstd_rand random(seed);
    const tcp::Fates fates = [&random](int, int) {
      tcp::Fate fate{.resets = random() % 2 == 0};
      fate.forth = random() % (1U << (random() % 20));
      if (random() % 3 == 0) fate.back = random() % 1000;
      return fate;
    };
    std::atomic<int> n_over = 0;
    struct Over {
      std::atomic<int>& n;
      ~Over() { ++n; }
    };
    tcp::run_hostile_ranks(n_ranks, addresses_of, options, fates, [&](tcp::TcpTransport& transport) {
      if (addresses_of != all_three) ask_for_rails(transport);
      {
        const Over over{n_over};
        body(transport);
      }
      for (; n_over < n_ranks; std::this_thread::yield()) transport.look();
    });
  };
}

// Everything of more than 64 bytes asks first, and two small messages use the credit up.
constexpr tcp::TcpOptions kTight{.eager_bytes = 64, .credit_bytes = 192};
constexpr ucx::UcxOptions kTightUcx{.eager_bytes = 64, .credit_bytes = 192};

class Contract : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    if (const auto why_not = GetParam().why_not; why_not != nullptr && !why_not().empty())
      GTEST_SKIP() << why_not();
  }
  static void run(int n_ranks, const Body& body) { GetParam().run(n_ranks, body); }
};

std::vector<std::byte> pattern(std::size_t n, unsigned seed) {
  std::vector<std::byte> bytes(n);
  std::minstd_rand random(seed + 1);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random() >> 8);
  return bytes;
}

// Hands back tickets one by one as they are asked for.
class Tickets {
 public:
  explicit Tickets(Transport& transport) : transport_(transport) {}

  bool is_done(Ticket ticket) const { return done_.contains(ticket); }
  void wait_for(Ticket ticket) {
    while (!is_done(ticket)) {
      std::size_t n = 0;
      ASSERT_EQ(transport_.wait_some(room_, n), Status::ok);
      ASSERT_GT(n, 0u);
      keep(n);
    }
  }
  void test() {
    std::size_t n = 0;
    ASSERT_EQ(transport_.test_some(room_, n), Status::ok);
    keep(n);
  }

 private:
  void keep(std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) EXPECT_TRUE(done_.insert({room_[i], true}).second) << "twice";
  }

  Transport& transport_;
  std::array<Ticket, 3> room_{};
  std::map<Ticket, bool> done_;
};

TEST_P(Contract, MessagesOfOneTagArriveInOrder) {
  constexpr unsigned kMessages = 200;
  run(2, [](Transport& transport) {
    Tickets tickets(transport);
    const int peer = 1 - transport.rank();
    std::vector<std::vector<std::byte>> out, in;
    for (unsigned i = 0; i < kMessages; ++i) {
      const std::size_t n = i * 37 % 500;
      out.push_back(pattern(n, i));
      in.emplace_back(n);
      ASSERT_EQ(transport.post_recv(peer, 9, in.back(), 2 * i), Status::ok);
      ASSERT_EQ(transport.post_send(peer, 9, out.back(), SendMode::eager, 2 * i + 1), Status::ok);
    }
    for (unsigned i = 0; i < 2 * kMessages; ++i) tickets.wait_for(i);
    EXPECT_EQ(in, out);
  });
}

TEST_P(Contract, TagsAreApartAndReceivesMayComeLate) {
  constexpr unsigned kTags = 40;
  run(2, [](Transport& transport) {
    Tickets tickets(transport);
    const int peer = 1 - transport.rank();
    std::vector<std::vector<std::byte>> out, in(kTags);
    for (unsigned i = 0; i < kTags; ++i) out.push_back(pattern(300, i));
    if (transport.rank() == 0) {
      for (unsigned i = 0; i < kTags; ++i)
        ASSERT_EQ(transport.post_send(peer, static_cast<int>(i), out[i], SendMode::eager, i), Status::ok);
      for (unsigned i = 0; i < kTags; ++i) tickets.wait_for(i);
    } else {
      for (unsigned i = kTags; i-- > 0;) {  // the last first
        in[i].resize(300);
        ASSERT_EQ(transport.post_recv(peer, static_cast<int>(i), in[i], i), Status::ok);
        if (i % 2 == 0) tickets.wait_for(i);
      }
      for (unsigned i = 0; i < kTags; ++i) tickets.wait_for(i);
      EXPECT_EQ(in, out);
    }
  });
}

TEST_P(Contract, LargeMessagesCrossEachOther) {
  constexpr std::size_t kBytes = std::size_t{3} << 20;
  run(3, [](Transport& transport) {
    Tickets tickets(transport);
    const int next = (transport.rank() + 1) % 3;
    const int previous = (transport.rank() + 2) % 3;
    const std::vector<std::byte> out = pattern(kBytes, static_cast<unsigned>(transport.rank()));
    std::vector<std::byte> in(kBytes);
    ASSERT_EQ(transport.post_send(next, 0, out, SendMode::eager, 1), Status::ok);
    ASSERT_EQ(transport.post_recv(previous, 0, in, 2), Status::ok);
    tickets.wait_for(1);
    tickets.wait_for(2);
    EXPECT_EQ(in, pattern(kBytes, static_cast<unsigned>(previous)));
  });
}

TEST_P(Contract, SynchronousSendsWaitForTheirReceive) {
  run(2, [](Transport& transport) {
    Tickets tickets(transport);
    std::array<std::byte, 200> memory{};
    std::array<std::byte, 1> word{};
    if (transport.rank() == 0) {
      const std::vector<std::byte> small = pattern(20, 1), large = pattern(200, 2);
      ASSERT_EQ(transport.post_send(1, 1, small, SendMode::synchronous, 1), Status::ok);
      ASSERT_EQ(transport.post_send(1, 2, large, SendMode::synchronous, 2), Status::ok);
      ASSERT_EQ(transport.post_recv(1, 3, word, 3), Status::ok);
      tickets.wait_for(3);  // the other has progressed since, and posted neither
      for (int i = 0; i < 10; ++i) tickets.test();
      EXPECT_FALSE(tickets.is_done(1) || tickets.is_done(2));
      ASSERT_EQ(transport.post_send(1, 4, word, SendMode::eager, 4), Status::ok);
      for (Ticket t = 1; t <= 4; ++t) tickets.wait_for(t);
    } else {
      ASSERT_EQ(transport.post_send(0, 3, word, SendMode::synchronous, 1), Status::ok);
      tickets.wait_for(1);
      ASSERT_EQ(transport.post_recv(0, 4, word, 2), Status::ok);
      tickets.wait_for(2);
      ASSERT_EQ(transport.post_recv(0, 2, memory, 3), Status::ok);
      ASSERT_EQ(transport.post_recv(0, 1, std::span(memory).first(20), 4), Status::ok);
      tickets.wait_for(3);
      tickets.wait_for(4);
    }
  });
}

TEST_P(Contract, NothingPostedIsNothingToWaitFor) {
  run(2, [](Transport& transport) {
    std::array<Ticket, 2> room{};
    std::size_t n = 7;
    EXPECT_EQ(transport.wait_some(room, n), Status::ok);
    EXPECT_EQ(n, 0u);
    n = 7;
    EXPECT_EQ(transport.test_some(room, n), Status::ok);
    EXPECT_EQ(n, 0u);
  });
}

TEST_P(Contract, ManyMessagesWaitForOneWhoIsLate) {
  constexpr unsigned kMessages = 300;
  run(2, [](Transport& transport) {
    Tickets tickets(transport);
    std::array<std::byte, 1> word{};
    std::vector<std::vector<std::byte>> all;
    for (unsigned i = 0; i < kMessages; ++i) all.push_back(pattern(10 + i * 131 % 40000, i));
    if (transport.rank() == 0) {
      for (unsigned i = 0; i < kMessages; ++i)
        ASSERT_EQ(transport.post_send(1, static_cast<int>(i % 5), all[i], SendMode::eager, i), Status::ok);
      ASSERT_EQ(transport.post_send(1, 100, word, SendMode::eager, kMessages), Status::ok);
      for (unsigned i = 0; i <= kMessages; ++i) tickets.wait_for(i);
    } else {
      // Behind all of them, and yet it comes first.
      ASSERT_EQ(transport.post_recv(0, 100, word, kMessages), Status::ok);
      tickets.wait_for(kMessages);
      std::vector<std::vector<std::byte>> in(kMessages);
      for (unsigned i = 0; i < kMessages; ++i) {
        in[i].resize(all[i].size());
        ASSERT_EQ(transport.post_recv(0, static_cast<int>(i % 5), in[i], i), Status::ok);
      }
      for (unsigned i = 0; i < kMessages; ++i) tickets.wait_for(i);
      EXPECT_EQ(in, all);
    }
  });
}

TEST_P(Contract, RandomTrafficBetweenAll) {
  constexpr int kRanks = 4;
  constexpr unsigned kMessages = 120;  // from each to each
  run(kRanks, [](Transport& transport) {
    Tickets tickets(transport);
    struct Receive {
      std::vector<std::byte> memory, expected;
    };
    std::vector<std::vector<std::byte>> out;
    std::vector<Receive> in(static_cast<std::size_t>(kRanks) * kMessages);
    Ticket n = 0;
    const auto sizes = [](int from, int to, unsigned i) {
      return static_cast<std::size_t>(from * 7919 + to * 104729 + static_cast<int>(i) * 611) % 9000;
    };
    const int me = transport.rank();
    for (unsigned i = 0; i < kMessages; ++i) {
      for (int k = 1; k < kRanks; ++k) {
        const int to = (me + k) % kRanks, from = (me + kRanks - k) % kRanks;
        // Over another rail each time, where there are rails: of one tag the order has to hold all the same.
        const std::array<std::uint8_t, 1> rail{static_cast<std::uint8_t>(i % 2)};
        transport.set_rails(static_cast<int>(i % 3), rail);
        out.push_back(pattern(sizes(me, to, i), i));
        const auto mode = i % 4 == 0 ? SendMode::synchronous : SendMode::eager;
        ASSERT_EQ(transport.post_send(to, static_cast<int>(i % 3), out.back(), mode, n++), Status::ok);
        Receive& receive = in[static_cast<std::size_t>(from) * kMessages + i];
        receive.expected = pattern(sizes(from, me, i), i);
        receive.memory.resize(receive.expected.size());
        ASSERT_EQ(transport.post_recv(from, static_cast<int>(i % 3), receive.memory, n++), Status::ok);
      }
      if (i % 16 == 0) tickets.test();
    }
    for (Ticket t = 0; t < n; ++t) tickets.wait_for(t);
    for (const Receive& receive : in) EXPECT_EQ(receive.memory, receive.expected);
  });
}

TEST_P(Contract, AMessageLongerThanItsReceiveFails) {
  run(2, [](Transport& transport) {
    std::array<std::byte, 100> memory{};
    std::array<Ticket, 1> room{};
    std::size_t n = 0;
    if (transport.rank() == 0) {
      ASSERT_EQ(transport.post_send(1, 0, memory, SendMode::eager, 1), Status::ok);
      (void)transport.wait_some(room, n);  // whether it ever left is not its concern
    } else {
      ASSERT_EQ(transport.post_recv(0, 0, std::span(memory).first(10), 1), Status::ok);
      Status status = Status::ok;
      while (status == Status::ok && n == 0) status = transport.wait_some(room, n);
      EXPECT_EQ(status, Status::failed);
    }
  });
}

// Between ranks that have met: one waits, one looks now and then. (What only dies while it is met is each transport's own
// test: UCX 1.13 ends the process then.) Who hung would end by ctest's limit.
TEST_P(Contract, ADeadPeerIsLostToWhoWaitsForIt) {
  using Clock = std::chrono::steady_clock;
  for (const int tag : {0, 1}) {
    SCOPED_TRACE(tag);
    const auto body = [tag](Transport& transport) {
      Tickets tickets(transport);
      const int me = transport.rank();
      const std::array<std::uint8_t, 2> rails{kNoRail, 1};
      transport.set_rails(0, rails);
      std::array<std::byte, 8> out{};
      std::array<std::array<std::byte, 8>, 4> in{};
      Ticket n = 0;
      for (const int peer : {(me + 1) % 3, (me + 2) % 3}) {
        for (const int both : {0, 1}) {
          ASSERT_EQ(transport.post_recv(peer, both, in[n / 2], n), Status::ok);
          ASSERT_EQ(transport.post_send(peer, both, out, SendMode::synchronous, n + 1), Status::ok);
          n += 2;
        }
      }
      for (Ticket t = 0; t < n; ++t) tickets.wait_for(t);
      // Who dies has heard that the others have met each other too.
      for (const int peer : {1, 2}) {
        if (me == 0) {
          ASSERT_EQ(transport.post_recv(peer, 0, in[0], n), Status::ok);
          tickets.wait_for(n++);
        } else if (me == peer) {
          ASSERT_EQ(transport.post_send(0, 0, out, SendMode::eager, n), Status::ok);
          tickets.wait_for(n++);
        }
      }

      if (me == 0) {
        ASSERT_EQ(transport.post_recv(1, tag, in[0], n), Status::ok);
        throw Death();
      }
      const auto until = Clock::now() + std::chrono::seconds(30);
      std::array<Ticket, 2> room{};
      const auto end = [&] {
        Status status = Status::ok;
        for (std::size_t done = 0; status == Status::ok && done == 0 && Clock::now() < until;)
          status = me == 1 ? transport.wait_some(room, done) : transport.test_some(room, done);
        return status;
      };
      if (me == 1) {
        ASSERT_EQ(transport.post_recv(0, tag, in[0], n), Status::ok);
        EXPECT_EQ(end(), Status::lost_peer);
      } else if (const Status posted = transport.post_send(0, tag, out, SendMode::synchronous, n);
                 posted != Status::lost_peer) {
        ASSERT_EQ(posted, Status::ok);
        EXPECT_EQ(end(), Status::lost_peer);
      }
      EXPECT_LT(Clock::now(), until);
      EXPECT_EQ(transport.post_send(0, tag, out, SendMode::eager, n + 1), Status::lost_peer) << "it stays so";
      transport.abandon();
    };
    EXPECT_THROW(run(3, body), Death);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Transports, Contract,
    testing::Values(
        Kind{"loopback", loopback({})}, Kind{"loopback_synchronous", loopback({.synchronous = true})},
        Kind{"loopback_nasty", loopback({.seed = 5})}, Kind{"tcp", over_tcp(1)},
        Kind{"tcp_two_rails", over_tcp(2)}, Kind{"tcp_tight", over_tcp(2, kTight)},
        Kind{"tcp_mixed", over_mixed_tcp()}, Kind{"tcp_mixed_tight", over_mixed_tcp(kTight)},
        Kind{"tcp_failing", over_failing_rails(1)}, Kind{"tcp_failing_tight", over_failing_rails(2, kTight)},
        Kind{"tcp_failing_mixed", over_failing_rails(3, {}, without_the_second)},
        Kind{"tcp_share", over_a_share()}, Kind{"joined", joined()},
        Kind{"ucx", over_ucx(1), &ucx::why_no_ucx}, Kind{"ucx_two_rails", over_ucx(2), &ucx::why_no_ucx},
        Kind{"ucx_tight", over_ucx(2, kTightUcx), &ucx::why_no_ucx},
        Kind{"ucx_share", over_a_share_of_ucx(), &ucx::why_no_ucx}),
    [](const auto& kind) { return kind.param.name; });

}  // namespace
}  // namespace eco::transport
