#include "eco/measure/ambient.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "eco/measure/testing.h"
#include "eco/net/synthetic.h"

namespace eco::measure {
namespace {

using net::Ambient;
using net::Network;
using testing::VirtualNetwork;
using testing::VirtualOptions;

constexpr const char* kAmbientNetwork = "hosts=3+3+2 rate_mbit=200 uplink_mbit=40 between_us=5000";

int link_named(const Network& network, const std::string& name) {
  for (std::size_t r = 0; r < network.resources.size(); ++r) {
    if (network.resources[r].name == name) return static_cast<int>(r);
  }
  ADD_FAILURE() << "no link " << name;
  return 0;
}

struct SeenAmbient {
  std::string text;  // the same on all ranks
  double took_s = 0;
};

SeenAmbient look_at(const Network& network, const Ambient& ambient, const Ambient& was = {},
                    unsigned turn = 0, VirtualOptions how = {}) {
  std::vector<int> hosts(static_cast<std::size_t>(network.n_hosts()));
  std::iota(hosts.begin(), hosts.end(), 0);
  VirtualNetwork world(network, hosts, how);
  std::vector<SeenAmbient> seen(hosts.size());
  std::size_t next = 0;
  world.carry(ambient);
  world.run([&](transport::Transport& transport, transport::Native& native, const Clock& clock) {
    const auto rank = static_cast<std::size_t>(transport.rank());
    ++next;
    const Ambient found =
        find_ambient(transport, native, network, was, {.host_of_rank = hosts, .clock = clock, .turn = turn});
    seen[rank] = {found.describe(network), clock()};
  });
  EXPECT_EQ(next, hosts.size());
  for (const SeenAmbient& each : seen) EXPECT_EQ(each.text, seen[0].text) << "ranks disagree";
  return seen[0];
}

TEST(FindAmbient, FindsNothingWhereNothingIs) {
  for (const char* text : {kAmbientNetwork, "hosts=8 rate_mbit=200",
                           "hosts=4+4 kind=bus rate_mbit=100 uplink_mbit=30", "hosts=2 rate_mbit=1000"}) {
    const Network network = net::synthetic_network(text);
    for (const unsigned turn : {0U, 1U, 5U}) {
      const SeenAmbient seen = look_at(network, {}, {}, turn, {.noise = 0.1});
      EXPECT_EQ(seen.text, "quiet") << text;
      EXPECT_LT(seen.took_s, 0.3) << text;
    }
    EXPECT_EQ(look_at(network, {}, {{{0, 300}}, {}}).text, "quiet") << text;
  }
}

TEST(FindAmbient, FindsTheLoadedLink) {
  const Network network = net::synthetic_network(kAmbientNetwork);
  for (const char* name : {"uplink 0 out", "uplink 1 in", "uplink 2 out", "host 4 in", "host 1 out"}) {
    for (const unsigned turn : {0U, 1U, 2U}) {
      const SeenAmbient seen =
          look_at(network, {{{link_named(network, name), 300}}, {}}, {}, turn, {.noise = 0.1});
      EXPECT_TRUE(seen.text.starts_with(std::string(name) + " at ")) << name << ": " << seen.text;
      EXPECT_EQ(seen.text.find(','), std::string::npos) << name << ": " << seen.text;
      EXPECT_LT(seen.took_s, 1.5);
    }
  }
}

TEST(FindAmbient, FindsLongQueues) {
  const Network network = net::synthetic_network(kAmbientNetwork);
  const SeenAmbient seen = look_at(network, {{}, {{1, 20000}}});
  EXPECT_EQ(seen.text, "subnets 0 and 2 20.0 ms further apart");
}

// The first ranks of a group, beside others that are no part of the job.
class JobTransport final : public transport::Transport {
 public:
  JobTransport(transport::Transport& all, int n_ranks) : all_(all), n_ranks_(n_ranks) {}
  int rank() const override { return all_.rank(); }
  int n_ranks() const override { return n_ranks_; }
  int max_tag() const override { return all_.max_tag() - 16; }
  transport::Status post_send(int peer, int tag, std::span<const std::byte> bytes, transport::SendMode mode,
                              transport::Ticket ticket) override {
    return all_.post_send(peer, tag, bytes, mode, ticket);
  }
  transport::Status post_recv(int peer, int tag, std::span<std::byte> bytes,
                              transport::Ticket ticket) override {
    return all_.post_recv(peer, tag, bytes, ticket);
  }
  transport::Status wait_some(std::span<transport::Ticket> done, std::size_t& n_done) override {
    return all_.wait_some(done, n_done);
  }
  transport::Status test_some(std::span<transport::Ticket> done, std::size_t& n_done) override {
    return all_.test_some(done, n_done);
  }

 private:
  transport::Transport& all_;
  int n_ranks_;
};

// Of what a look needs of the library there is only the broadcast.
class JobNative final : public transport::Native {
 public:
  JobNative(transport::Transport& job, int tag) : job_(job), tag_(tag) {}
  void run(const coll::CommonProblem&, std::span<const std::byte>, std::span<std::byte>) override {}
  void barrier() override {}
  void broadcast(std::span<std::byte> bytes, int root) override {
    ASSERT_EQ(root, 0);
    int n_posted = 0;
    if (job_.rank() != root) {
      ASSERT_EQ(job_.post_recv(root, tag_, bytes, 0), transport::Status::ok);
      n_posted = 1;
    }
    for (int rank = 1; job_.rank() == root && rank < job_.n_ranks(); ++rank, ++n_posted)
      ASSERT_EQ(job_.post_send(rank, tag_, bytes, transport::SendMode::eager, 0), transport::Status::ok);
    transport::Ticket done = 0;
    for (std::size_t n_done = 0; n_posted > 0; n_posted -= static_cast<int>(n_done))
      ASSERT_EQ(job_.wait_some(std::span(&done, 1), n_done), transport::Status::ok);
  }
  void allreduce_min(std::span<std::int64_t>) override {}
  void allreduce_sum(std::span<std::int64_t>) override {}
  void allreduce_max(std::span<double>) override {}
  void allgather(std::span<const std::byte>, std::span<std::byte>) override {}
  std::string library() const override { return "the job's"; }

 private:
  transport::Transport& job_;
  int tag_;
};

// Two streams of others that leave the second subnet for the third, each with so many messages under way, as TCP's windows have
// it: what of them the uplink has not carried yet stands in its queue, behind which all others wait.
class OthersStreams {
 public:
  OthersStreams(const Network& network, int n_messages)
      : network_(network), world_(network, {0, 1, 2, 3, 4, 5, 6, 7, 3, 4, 6, 7}), n_messages_(n_messages) {}

  // What a look of the first eight ranks finds, half a second later.
  std::string look() {
    Ambient found;
    world_.run([&](transport::Transport& transport, transport::Native&, const Clock& clock) {
      const int rank = transport.rank();
      if (rank >= kJob + 2) return receive(transport, rank - 2);
      if (rank >= kJob) return send(transport, rank + 2);
      JobTransport job(transport, kJob);
      JobNative native(job, kTextTag);
      std::vector<int> hosts(kJob);
      std::iota(hosts.begin(), hosts.end(), 0);
      if (rank == 0) world_.pause(0)(0.5);
      const Ambient mine = find_ambient(job, native, network_, {}, {.host_of_rank = hosts, .clock = clock});
      if (rank != 0) return;
      found = mine;
      took_s_ = clock() - 0.5;
      for (const int sender : {kJob, kJob + 1})
        ASSERT_EQ(transport.post_send(sender, kStopTag, std::span(&word_, 1), transport::SendMode::eager, 0),
                  transport::Status::ok);
    });
    return found.describe(network_);
  }
  double took_s() const { return took_s_; }

 private:
  static constexpr int kJob = 8;
  static constexpr int kTextTag = 32760;
  static constexpr int kStopTag = 32761;
  static constexpr int kDataTag = 32762;
  static constexpr int kDoneTag = 32763;
  static constexpr std::size_t kBytes = 4096;
  enum : transport::Ticket { kSent, kStop, kDone };

  static transport::Ticket next_of(transport::Transport& transport) {
    transport::Ticket done = kSent;
    for (std::size_t n_done = 0; n_done == 0 || done == kSent;)
      EXPECT_EQ(transport.wait_some(std::span(&done, 1), n_done), transport::Status::ok);
    return done;
  }

  // Until rank 0 says that it is over; the last message says so too.
  void send(transport::Transport& transport, int to) const {
    std::vector<std::byte> message(kBytes);
    std::byte stop{};
    std::byte word{};
    const auto post = [&] {
      EXPECT_EQ(transport.post_send(to, kDataTag, message, transport::SendMode::eager, kSent),
                transport::Status::ok);
      EXPECT_EQ(transport.post_recv(to, kDoneTag, std::span(&word, 1), kDone), transport::Status::ok);
    };
    EXPECT_EQ(transport.post_recv(0, kStopTag, std::span(&stop, 1), kStop), transport::Status::ok);
    for (int i = 0; i < n_messages_; ++i) post();
    while (next_of(transport) != kStop) post();
    message[0] = std::byte{1};
    post();
  }
  static void receive(transport::Transport& transport, int from) {
    std::vector<std::byte> message(kBytes);
    std::byte word{};
    while (message[0] == std::byte{}) {
      EXPECT_EQ(transport.post_recv(from, kDataTag, message, kDone), transport::Status::ok);
      next_of(transport);
      EXPECT_EQ(transport.post_send(from, kDoneTag, std::span(&word, 1), transport::SendMode::eager, kSent),
                transport::Status::ok);
    }
  }

  std::byte word_{};
  Network network_;
  VirtualNetwork world_;
  int n_messages_;
  double took_s_ = 0;
};

// A look's own streams come in one burst, behind the queue, and nearly at the full rate.
TEST(FindAmbient, FindsStreamsOfLimitedWindowsBehindAFifo) {
  for (const char* text : {"hosts=3+3+2 rate_mbit=200 uplink_mbit=40 between_us=5000",
                           "hosts=3+3+2 rate_mbit=200 uplink_mbit=40 between_us=500"}) {
    for (const int n_messages : {16, 32}) {
      OthersStreams others(net::synthetic_network(text), n_messages);
      const std::string found = others.look();
      EXPECT_NE(found.find("subnets 0 and 1"), std::string::npos) << text << ": " << found;
      EXPECT_NE(found.find("subnets 1 and 2"), std::string::npos) << text << ": " << found;
      EXPECT_EQ(found.find("subnets 0 and 2"), std::string::npos) << text << ": " << found;
      EXPECT_LT(others.took_s(), 1.5) << text;
    }
  }
}

TEST(FindAmbient, ALittleIsTooLittleUnlessItWasMore) {
  const Network network = net::synthetic_network(kAmbientNetwork);
  const Ambient little{{{link_named(network, "uplink 1 out"), 680}}, {}};
  EXPECT_EQ(look_at(network, little).text, "quiet");
  EXPECT_NE(look_at(network, little, little).text, "quiet");
}

TEST(FindAmbient, WhereLinksWereLoadedTheyAreAskedFirst) {
  const Network network = net::synthetic_network(kAmbientNetwork);
  const Ambient was{{{link_named(network, "uplink 1 out"), 300}}, {}};
  const SeenAmbient first = look_at(network, was);
  const SeenAmbient again = look_at(network, was, was);
  EXPECT_EQ(again.text, first.text);
  EXPECT_LT(again.took_s, 0.6 * first.took_s);
  // Another link is found only when the first one is free.
  const Ambient other{{{link_named(network, "host 1 out"), 300}}, {}};
  EXPECT_TRUE(look_at(network, other, was).text.starts_with("host 1 out at "));
}

}  // namespace
}  // namespace eco::measure
