// Rails that fail: at every byte, under load, without a word. Nothing is lost, doubled or out of order, and nobody hangs.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include "eco/transport/tcp/hostile.h"
#include "eco/transport/tcp/tcp_transport.h"

namespace eco::transport::tcp {
namespace {

using Bytes = std::vector<std::byte>;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
constexpr std::chrono::seconds kAtOnceAnywhere(60);  // for what comes at once, on the busiest machine

Bytes pattern(std::size_t n, unsigned seed) {
  Bytes bytes(n);
  std::minstd_rand random(seed + 1);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random() >> 8);
  return bytes;
}

// Ranks wait for each other and make progress: what a rail has lost is its sender's to send again.
class Meeting {
 public:
  explicit Meeting(int n_ranks) : n_ranks_(n_ranks) {}
  void hold(TcpTransport& transport) {
    const int until = (n_here_.fetch_add(1) / n_ranks_ + 1) * n_ranks_;
    while (n_here_ < until) {
      std::array<Ticket, 1> room{};
      std::size_t n = 0;
      ASSERT_EQ(transport.test_some(room, n), Status::ok);
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  }

 private:
  int n_ranks_;
  std::atomic<int> n_here_ = 0;
};

constexpr std::array<std::uint8_t, 8> kFirstRail{};
// Everything of more than 64 bytes asks first, and little may be outstanding: requests, credit and copies in few bytes.
constexpr TcpOptions kSmall{.eager_bytes = 64, .credit_bytes = 400};

// Rank 0 sends so many messages of all kinds, rank 1 sends each back; whole and in order, or the test fails.
void exchange(TcpTransport& transport, unsigned n_messages, bool is_late) {
  const int peer = 1 - transport.rank();
  std::vector<Bytes> in;
  std::vector<Bytes> expected;
  for (unsigned i = 0; i < n_messages; ++i) expected.push_back(pattern(i * 29 % 150, i));
  for (const Bytes& each : expected) in.emplace_back(each.size());
  const auto send = [&](unsigned i) {
    const SendMode mode = i % 3 == 1 ? SendMode::synchronous : SendMode::eager;
    return transport.post_send(peer, static_cast<int>(i % 2), expected[i], mode, 0);
  };
  const auto receive = [&](unsigned i) {
    return transport.post_recv(peer, static_cast<int>(i % 2), in[i], 0);
  };
  if (transport.rank() == 0) {
    for (unsigned i = 0; i < n_messages; ++i) ASSERT_EQ(send(i), Status::ok);
    for (unsigned i = 0; i < n_messages; ++i) ASSERT_EQ(receive(i), Status::ok);
    ASSERT_EQ(wait(transport, 2 * n_messages), Status::ok);
  } else {
    if (is_late) {  // the first ones wait for their receives
      ASSERT_EQ(receive(0), Status::ok);
      ASSERT_EQ(wait(transport), Status::ok);
      for (int i = 0; i < 3; ++i) {
        std::array<Ticket, 1> room{};
        std::size_t n = 0;
        ASSERT_EQ(transport.test_some(room, n), Status::ok);
        std::this_thread::sleep_for(milliseconds(1));
      }
    }
    for (unsigned i = is_late ? 1 : 0; i < n_messages; ++i) ASSERT_EQ(receive(i), Status::ok);
    ASSERT_EQ(wait(transport, n_messages - (is_late ? 1 : 0)), Status::ok);
    for (unsigned i = 0; i < n_messages; ++i) ASSERT_EQ(send(i), Status::ok);
    ASSERT_EQ(wait(transport, n_messages), Status::ok);
  }
  EXPECT_EQ(in, expected);
}

// All connections stand, and both ranks know it.
void meet_on_first_rail(TcpTransport& transport, Meeting& all) {
  transport.set_rails(0, kFirstRail);
  exchange(transport, 3, false);
  all.hold(transport);
}

TEST(TcpRails, AConnectionMayBeCutAtEveryByte) {
  for (const bool is_forth : {true, false}) {
    std::size_t n_cut = 1;
    for (std::size_t at = 0; n_cut > 0; ++at) {
      ASSERT_LT(at, 5000u);
      SCOPED_TRACE((is_forth ? "forth, byte " : "back, byte ") + std::to_string(at));
      const Fates fates = [&](int rank, int) {
        if (rank != 1) return Fate{};
        Fate fate{.resets = at % 2 == 1};
        (is_forth ? fate.forth : fate.back) = at;
        return fate;
      };
      Meeting all(2);
      n_cut = run_hostile_ranks(2, 2, kSmall, fates, [&](TcpTransport& transport) {
        exchange(transport, 9, at % 4 < 2);
        EXPECT_EQ(transport.waiting_bytes(), 0u);
        EXPECT_LE(transport.kept_bytes(), 4 * kSmall.credit_bytes);
        all.hold(transport);
        transport.abandon();  // all is there: a farewell would wait for kernels' delayed acknowledgements
      });
      if (HasFatalFailure() || HasNonfatalFailure()) return;
    }
  }
}

// Every rank sends to every other, in all modes and lengths, receives posted before and after.
void flood(TcpTransport& transport, unsigned n_messages, unsigned seed, std::size_t longest) {
  const int n_ranks = transport.n_ranks();
  const int me = transport.rank();
  const auto bytes_of = [&](int from, int to, unsigned i) {
    std::minstd_rand random(seed * 31 + static_cast<unsigned>(from * 4099 + to * 257) + i * 65537);
    return pattern((random(), random() % longest), i + seed);
  };
  struct Receive {
    Bytes memory, expected;
  };
  std::vector<Bytes> out;
  std::vector<Receive> in;
  out.reserve(n_messages * static_cast<std::size_t>(n_ranks));
  in.reserve(n_messages * static_cast<std::size_t>(n_ranks));
  std::minstd_rand random(seed + static_cast<unsigned>(me));
  std::size_t n_pending = 0;
  for (unsigned i = 0; i < n_messages; ++i) {
    for (int k = 1; k < n_ranks; ++k) {
      const int to = (me + k) % n_ranks, from = (me + n_ranks - k) % n_ranks;
      const int tag = static_cast<int>(i % 5);
      const std::array<std::uint8_t, 1> rail{static_cast<std::uint8_t>((i + seed) % 3)};
      transport.set_rails(tag, rail);
      out.push_back(bytes_of(me, to, i));
      const SendMode mode = random() % 3 == 0 ? SendMode::synchronous : SendMode::eager;
      in.push_back({.memory = {}, .expected = bytes_of(from, me, i)});
      in.back().memory.resize(in.back().expected.size());
      ASSERT_EQ(transport.post_send(to, tag, out.back(), mode, 0), Status::ok);
      ASSERT_EQ(transport.post_recv(from, tag, in.back().memory, 0), Status::ok);
      n_pending += 2;
    }
    std::array<Ticket, 8> room{};
    std::size_t n = 0;
    ASSERT_EQ(random() % 4 == 0 ? transport.wait_some(room, n) : transport.test_some(room, n), Status::ok);
    n_pending -= n;
  }
  ASSERT_EQ(wait(transport, n_pending), Status::ok);
  for (const Receive& each : in) ASSERT_EQ(each.memory, each.expected);
}

TEST(TcpRails, CutsUnderLoadLoseNothing) {
  std::size_t n_cut = 0, n_repeated = 0, n_lost = 0;
  std::mutex mutex;
  for (unsigned seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::minstd_rand random(seed + 7);
    random.discard(5);
    const Fates fates = [&](int, int) {
      Fate fate{.resets = random() % 2 == 0};
      if (random() % 4 != 0) fate.forth = random() % (1u << (6 + random() % 15));
      if (random() % 4 == 0) fate.back = random() % 4000;
      return fate;
    };
    const TcpOptions options{.eager_bytes = 6000, .credit_bytes = 40000};
    Meeting all(4);
    n_cut += run_hostile_ranks(4, 3, options, fates, [&](TcpTransport& transport) {
      flood(transport, 60, seed, seed % 3 == 0 ? 40000 : 8000);
      all.hold(transport);
      const std::lock_guard lock(mutex);
      n_repeated += transport.n_repeated();
      n_lost += transport.lost_rails().size();
      transport.abandon();
    });
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(n_cut, 50u);
  EXPECT_GT(n_lost, 100u) << "each of a pair knows";
  EXPECT_GT(n_repeated, 10u) << "or this proves little";
}

TEST(TcpRails, ARailThatGoesSilentUnderLoadIsGivenUp) {
  const TcpOptions options{.eager_bytes = 6000, .credit_bytes = 40000, .rail_lost_after_s = 0.4};
  Meeting all(3);
  run_tcp_ranks(3, 2, options, [&](TcpTransport& transport) {
    flood(transport, 20, 1, 20000);
    all.hold(transport);
    EXPECT_TRUE(transport.lost_rails().empty());
    all.hold(transport);
    if (transport.rank() == 0) {
      std::thread([] {
        std::this_thread::sleep_for(milliseconds(2));
        EXPECT_GT(deafen(0), 5);
      }).detach();
    }
    flood(transport, 300, 2, 20000);
    flood(transport, 20, 3, 20000);
    EXPECT_EQ(transport.lost_rails().size(), 2u) << "to both others, once";
    for (const TcpTransport::LostRail& each : transport.lost_rails()) EXPECT_EQ(each.rail, 0);
    all.hold(transport);
  });
}

// One connection whose segments are lost in a crowd is not a rail that is cut off.
TEST(TcpRails, ARailThatCarriesOthersIsGivenUpLater) {
  const TcpOptions options{.rail_lost_after_s = 1.0};
  const Bytes message = pattern(500, 3);
  Meeting all(3);
  std::atomic<bool> is_over = false;
  run_tcp_ranks(3, 2, options, [&](TcpTransport& transport) {
    transport.set_rails(0, std::array<std::uint8_t, 3>{0, 0, 0});
    const int me = transport.rank();
    Bytes got(message.size());
    const auto pass_on = [&] {
      ASSERT_EQ(me == 0 ? transport.post_send(1, 0, message, SendMode::synchronous, 0)
                        : transport.post_recv(0, 0, got, 0),
                Status::ok);
    };
    if (me < 2) {
      pass_on();
      ASSERT_EQ(wait(transport), Status::ok);
    }
    all.hold(transport);
    if (me == 0) {
      EXPECT_EQ(deafen(0, Ears::connected), 2);  // the two, who alone have met there
    }
    all.hold(transport);
    const auto began = steady_clock::now();
    if (me < 2) pass_on();
    // Both go on with rank 2 over the same rail.
    std::array<std::array<std::byte, 8>, 2> there{};
    std::array<std::array<std::byte, 8>, 2> back{};
    std::array<int, 2> n_trip{};  // of rank 2's with each
    bool is_open = me < 2;
    while (is_open || !is_over) {
      for (int way = 0; way < (me == 2 ? 2 : 1); ++way) {
        const auto w = static_cast<std::size_t>(way);
        if (n_trip[w] > 0 || is_over) continue;
        const int peer = me == 2 ? way : 2;
        const auto ticket = static_cast<Ticket>(1 + way);
        ASSERT_EQ(transport.post_send(peer, 1, there[w], SendMode::eager, ticket), Status::ok);
        ASSERT_EQ(transport.post_recv(peer, 1, back[w], ticket), Status::ok);
        n_trip[w] = 2;
      }
      std::array<Ticket, 8> done{};
      std::size_t n = 0;
      ASSERT_EQ(transport.poll_some(done, n), Status::ok);
      for (std::size_t i = 0; i < n; ++i) {
        if (done[i] == 0) {
          is_open = false;
        } else {
          --n_trip[done[i] - 1];
        }
      }
      if (me == 1 && !is_open) is_over = true;
      std::this_thread::sleep_for(milliseconds(1));
    }
    if (me == 1) {
      EXPECT_EQ(got, message);
      EXPECT_GT(steady_clock::now() - began, milliseconds(4000)) << "it waited for the crowd to clear";
    }
    if (me < 2) {
      EXPECT_EQ(transport.lost_rails().size(), 1u);
    }
    all.hold(transport);
    transport.abandon();
  });
}

TEST(TcpRails, ARailThatIsSilentFromTheStartIsGivenUp) {
  const TcpOptions options{.rail_lost_after_s = 0.5};
  Meeting all(2);
  run_tcp_ranks(2, 2, options, [&](TcpTransport& transport) {
    all.hold(transport);
    if (transport.rank() == 0) deafen(0);
    all.hold(transport);
    transport.set_rails(0, kFirstRail);
    exchange(transport, 9, false);
    EXPECT_EQ(transport.lost_rails().size(), 1u);
    all.hold(transport);
  });
}

// A rank that has all it waited for sits in another library from then on, whose progress carries what is pending here: its
// peer may wait for a word of it that the rail has lost.
TEST(TcpRails, AWordThatARailLosesComesFromARankThatIsElsewhere) {
  const TcpOptions options{.rail_lost_after_s = 0.3};
  const Bytes message = pattern(500, 3);
  Meeting all(2);
  std::atomic<bool> is_over = false;
  run_tcp_ranks(2, 2, options, [&](TcpTransport& transport) {
    transport.set_rails(0, kFirstRail);
    Bytes got(message.size());
    const auto pass_on = [&] {
      const Status posted = transport.rank() == 0
                                ? transport.post_send(1, 0, message, SendMode::synchronous, 0)
                                : transport.post_recv(0, 0, got, 0);
      ASSERT_EQ(posted, Status::ok);
      ASSERT_EQ(wait(transport), Status::ok);
    };
    pass_on();
    all.hold(transport);
    if (transport.rank() == 0) {
      EXPECT_GT(deafen(0, Ears::openers), 0);  // the message gets there, and what is said of it goes nowhere
      pass_on();
      EXPECT_EQ(transport.lost_rails().size(), 1u) << "or this proves little";
      is_over = true;
      return;
    }
    pass_on();
    EXPECT_EQ(got, message);
    const auto until = steady_clock::now() + kAtOnceAnywhere;
    while (!is_over && steady_clock::now() < until) {
      if (transport.is_pending()) transport.look();
      std::this_thread::sleep_for(milliseconds(1));
    }
    EXPECT_TRUE(is_over) << "its peer still waits";
  });
}

TEST(TcpRails, OfLittleASenderHearsWhenItsPeerHasNothingElseToDo) {
  Meeting met(2);
  run_tcp_ranks(2, 2, {}, [&](TcpTransport& transport) {
    meet_on_first_rail(transport, met);
    const auto until = steady_clock::now() + kAtOnceAnywhere;
    while (transport.is_pending() && steady_clock::now() < until) {
      transport.look();
      std::this_thread::sleep_for(milliseconds(1));
    }
    EXPECT_FALSE(transport.is_pending());
    EXPECT_EQ(transport.kept_bytes(), 0u);
    met.hold(transport);
  });
}

TEST(TcpRails, APeerThatIsLateHasLostNoRail) {
  const TcpOptions options{.rail_lost_after_s = 0.2};
  constexpr std::size_t kMessages = 40;
  run_tcp_ranks(2, 2, options, [&](TcpTransport& transport) {
    std::vector<Bytes> messages(kMessages, pattern(200'000, 1));  // more than kernels hold
    const std::array<std::uint8_t, 2> rails{0, 1};
    transport.set_rails(0, rails);
    for (std::size_t i = 0; i < kMessages; ++i) {
      const int tag = static_cast<int>(i % 2);
      if (transport.rank() == 0) {
        ASSERT_EQ(transport.post_send(1, tag, messages[i], SendMode::eager, 0), Status::ok);
        EXPECT_LE(transport.kept_bytes(), 2 * options.credit_bytes);
      } else {
        if (i % 10 == 0) std::this_thread::sleep_for(milliseconds(300));
        ASSERT_EQ(transport.post_recv(0, tag, messages[i], 0), Status::ok);
      }
    }
    ASSERT_EQ(wait(transport, kMessages), Status::ok);
    EXPECT_TRUE(transport.lost_rails().empty());
    EXPECT_EQ(messages.back(), pattern(200'000, 1));
  });
}

TEST(TcpRails, ARankThatDiesIsLostAtOnceOverAllRails) {
  const TcpOptions options{.rail_lost_after_s = 2.0 * kAtOnceAnywhere.count()};  // not because of silence
  Meeting met(2);
  run_tcp_ranks(2, 3, options, [&](TcpTransport& transport) {
    meet_on_first_rail(transport, met);
    if (transport.rank() == 0) return transport.abandon();
    const auto begin = steady_clock::now();
    std::array<std::byte, 4> word{};
    ASSERT_EQ(transport.post_recv(0, 1, word, 0), Status::ok);
    EXPECT_EQ(wait(transport), Status::lost_peer);
    EXPECT_LT(steady_clock::now() - begin, kAtOnceAnywhere);
    EXPECT_TRUE(transport.lost_rails().empty()) << "a peer, not a rail";
  });
}

TEST(TcpRails, WhatALeaverSentArrivesThoughItsRailFails) {
  const TcpOptions options{.rail_lost_after_s = 0.3};
  const Bytes message = pattern(200'000, 4);
  Meeting all(2);
  run_tcp_ranks(2, 2, options, [&](TcpTransport& transport) {
    meet_on_first_rail(transport, all);
    if (transport.rank() == 0) {
      deafen(0);
      ASSERT_EQ(transport.post_send(1, 0, message, SendMode::eager, 0), Status::ok);
      ASSERT_EQ(wait(transport), Status::ok);  // written, and it leaves
      return;
    }
    Bytes got(message.size());
    ASSERT_EQ(transport.post_recv(0, 0, got, 0), Status::ok);
    ASSERT_EQ(wait(transport), Status::ok);
    EXPECT_EQ(got, message);
  });
}

}  // namespace
}  // namespace eco::transport::tcp
