// How often ranks have to hear of each other before a communicator is armed, and what rank 0 tells beside a network: over
// ways of 10 ms each exchange takes up to 40 ms of the program's time.
#include <gtest/gtest.h>

#include "eco/base/errors.h"
#include "eco/net/store.h"
#include "eco/runtime/finding.h"
#include "eco/runtime/identities.h"
#include "eco/runtime/testing.h"

namespace eco::runtime {
namespace {

using testing::Directory;

class CountingNative final : public transport::PassingNative {
 public:
  using PassingNative::PassingNative;
  int exchanges = 0;

  void broadcast(std::span<std::byte> bytes, int root) override {
    ++exchanges;
    below_.broadcast(bytes, root);
  }
  void allreduce_min(std::span<std::int64_t> values) override {
    ++exchanges;
    below_.allreduce_min(values);
  }
  void allreduce_sum(std::span<std::int64_t> values) override {
    ++exchanges;
    below_.allreduce_sum(values);
  }
  void allreduce_max(std::span<double> values) override {
    ++exchanges;
    below_.allreduce_max(values);
  }
  void allgather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    ++exchanges;
    below_.allgather(mine, all);
  }
};

// One rank's side of a job whose hosts are those of `kNetwork`.
struct Place {
  transport::Transport& transport;
  CountingNative& native;
  net::HostId host;
};

void run_job(const std::function<void(Place&)>& body) {
  const net::Network network = net::synthetic_network(testing::kNetwork);
  transport::Hub hub(network.n_hosts());
  transport::run_ranks(hub, [&](transport::LoopbackTransport& transport, transport::LoopbackNative& native) {
    testing::PacedNative paced(native, 0.005);
    CountingNative counting(paced);
    Place place{transport, counting, network.hosts[static_cast<std::size_t>(transport.rank())]};
    body(place);
  });
}

Steps steps_of(Place& place) { return {place.native, place.transport.rank(), place.transport.n_ranks()}; }

// Collective: the hosts of all ranks.
std::vector<net::HostId> tell_hosts(Place& place, Steps& steps) {
  IdentityRoom room;
  room.make(place.transport.n_ranks());
  return tell_identities(steps, place.native, place.host, room);
}

// What the store has of these hosts, as measured where they are on such a network.
void remember(const Options& options, const std::string& description) {
  net::Network network = net::synthetic_network(description);
  run_job([&](Place& place) {
    if (place.transport.rank() == 0) network.transport = transport_name(place.native, place.transport);
  });
  EXPECT_FALSE(net::Store(options.cache_dir).remember_network(network).failure);
}

TEST(Exchanges, AreSixWhereNetworkAndPlanAreRemembered) {
  const Directory directory;
  Options options;
  options.cache_dir = directory.file("cache");
  options.sentinels = false;
  options.budget_s = 60;
  remember(options, testing::kNetwork);
  const testing::Group group = testing::small_group();
  for (const bool is_remembered : {false, true}) {
    run_job([&](Place& place) {
      const ArmResult armed =
          Communicator::arm(place.transport, place.native, options, {place.host, "1.0"}, group.request);
      ASSERT_TRUE(armed.communicator) << armed.reason;
      EXPECT_EQ(armed.seconds_measuring == 0, is_remembered);
      const bool says_so = armed.communicator->provenance().ends_with(", remembered; plan remembered");
      EXPECT_EQ(says_so, is_remembered) << armed.communicator->provenance();
      EXPECT_NE(armed.communicator->serves(testing::broadcast_of(4096, 0)), nullptr);
      EXPECT_TRUE(!is_remembered || place.native.exchanges == 6) << place.native.exchanges;
    });
  }
}

TEST(Exchanges, AreFourForANetworkWithWhatRank0MakesOfIt) {
  const Directory directory;
  Options options;
  options.cache_dir = directory.file("cache");
  remember(options, testing::kNetwork);
  for (const bool has_something_to_say : {true, false}) {
    run_job([&](Place& place) {
      Steps steps = steps_of(place);
      const std::vector<net::HostId> hosts = tell_hosts(place, steps);
      std::string heard;
      SaidBeside beside{.on_rank_0 =
                            [&](const FoundView& seen) {
                              EXPECT_EQ(place.transport.rank(), 0);
                              if (!has_something_to_say) throw Unsupported("nothing to say");
                              return seen.view.describe() + '\0' + '\n';
                            },
                        .take = [&](const std::string& text) { heard = text; }};
      const RecalledView recalled = recall_view(steps, place.native, options, hosts, beside);
      ASSERT_TRUE(recalled.seen.view.network);
      EXPECT_EQ(beside.holds, has_something_to_say);
      EXPECT_EQ(heard, has_something_to_say ? recalled.seen.view.describe() + '\0' + '\n' : "");
      EXPECT_EQ(place.native.exchanges, 4);
    });
  }
}

TEST(Exchanges, WithoutARememberedNetworkThereIsNoneToRecall) {
  const Directory directory;
  Options options;
  options.cache_dir = directory.file("cache");
  for (const MeasurePolicy measure : {MeasurePolicy::automatic, MeasurePolicy::never}) {
    options.measure = measure;
    run_job([&](Place& place) {
      Steps steps = steps_of(place);
      const std::vector<net::HostId> hosts(4, place.host);
      SaidBeside beside{.on_rank_0 = [](const FoundView&) { return std::string("never asked"); },
                        .take = [](const std::string&) { ADD_FAILURE(); }};
      const RecalledView recalled = recall_view(steps, place.native, options, hosts, beside);
      EXPECT_FALSE(recalled.seen.view.network);
      EXPECT_EQ(recalled.found, measure == MeasurePolicy::never ? Found::nothing : Found::measure);
    });
  }
}

TEST(Exchanges, WhatWasSaidOfHostsThatHaveMovedDoesNotHold) {
  const Directory directory;
  Options options;
  options.cache_dir = directory.file("cache");
  options.budget_s = 30;
  remember(options, "hosts=2+2 rate_mbit=0.8 uplink_mbit=0.4");  // threads are nearer than that
  run_job([&](Place& place) {
    Steps steps = steps_of(place);
    const std::vector<net::HostId> hosts = tell_hosts(place, steps);
    std::string heard;
    SaidBeside beside{.on_rank_0 = [](const FoundView&) { return std::string("a plan"); },
                      .take = [&](const std::string& text) { heard = text; }};
    double measuring_s = 0;
    const FoundView found =
        find_view(steps, place.transport, place.native, options, hosts, {}, beside, measuring_s);
    EXPECT_EQ(heard, "a plan");
    EXPECT_FALSE(beside.holds);
    EXPECT_GT(measuring_s, 0);
    ASSERT_TRUE(found.view.network);
    for (const net::Between& pair : found.view.network->between) EXPECT_LT(pair.latency_s, 0.005);
  });
}

TEST(Exchanges, ATransportThatOneRankCanNotOpenIsAReasonOnAll) {
  const Directory directory;
  const Options options = testing::with_network(directory);
  run_job([&](Place& place) {
    Steps steps = steps_of(place);
    const auto open = [&]() -> transport::Transport& {
      if (place.transport.rank() == 2) throw Unsupported("no memory for its tags");
      return place.transport;
    };
    const ArmResult armed = Communicator::arm(steps, place.native, open, options, {place.host, "1.0"}, {});
    EXPECT_FALSE(armed.communicator);
    EXPECT_TRUE(armed.failed);
    EXPECT_EQ(armed.reason, "no memory for its tags");
  });
}

}  // namespace
}  // namespace eco::runtime
