#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "eco/net/store.h"
#include "eco/plan/planner.h"
#include "eco/runtime/communicator.h"
#include "eco/runtime/testing.h"

namespace eco::runtime {
namespace {

using coll::Collective;
using coll::CommonProblem;
using testing::arm_group;
using testing::broadcast_of;
using testing::Directory;
using testing::expect_all;
using testing::Group;
using testing::small_group;
using testing::with_network;
using transport::Status;

void expect_failed(const Group& group, const Options& options, bool failed) {
  arm_group(group, options, [&](transport::Transport&, ArmResult& armed) {
    EXPECT_FALSE(armed.communicator);
    EXPECT_EQ(armed.failed, failed) << armed.reason;
  });
}

TEST(Arming, SendsNothingWhereTheBudgetIsTooShort) {
  static std::atomic<int> messages;
  messages = 0;
  struct Counting final : testing::PassingTransport {
    using PassingTransport::PassingTransport;
    Status post_send(int peer, int tag, std::span<const std::byte> bytes, transport::SendMode mode,
                     transport::Ticket ticket) override {
      ++messages;
      return below_.post_send(peer, tag, bytes, mode, ticket);
    }
  };
  const Directory directory;
  Options options = with_network(directory);
  options.budget_s = 1e-4;  // one round of the smallest trial is predicted to take longer
  Group group = small_group();
  group.wrap = [](int, transport::Transport& below) { return std::make_unique<Counting>(below); };
  const auto reasons = arm_group(group, options, [](transport::Transport&, ArmResult& armed) {
    ASSERT_TRUE(armed.communicator) << armed.reason;
    EXPECT_TRUE(armed.communicator->serves_nothing());
    EXPECT_NE(armed.reason.find("as good wherever measured"), std::string::npos) << armed.reason;
  });
  expect_all(reasons, "armed");
  EXPECT_EQ(messages, 0);
}

TEST(Arming, MeasuresTheNetworkItself) {
  const Directory directory;
  Options options;
  options.cache_dir = directory.file("cache");
  options.budget_s = 30;  // on a slow machine too
  const auto first = arm_group(small_group(), options, [](transport::Transport&, ArmResult& armed) {
    EXPECT_GT(armed.seconds_measuring, 0);
  });
  expect_all(first, "");
  const std::vector<std::string> files = net::Store(options.cache_dir).network_files();
  ASSERT_EQ(files.size(), 1u);
  EXPECT_FALSE(net::load_network(files[0]).pairs.empty()) << "the file keeps what was measured";
  options.measure = MeasurePolicy::never;
  // Found again without measuring, whatever was decided.
  arm_group(small_group(), options, [](transport::Transport&, ArmResult& armed) {
    EXPECT_EQ(armed.seconds_measuring, 0);
    if (armed.communicator) {
      EXPECT_TRUE(armed.communicator->view().network->pairs.empty()) << "ranks do not";
      EXPECT_NE(armed.communicator->provenance().find("remembered"), std::string::npos);
    }
  });
}

// What the store has of these hosts of small_group(), measured on a network of this description.
net::Network remembered_network(const net::Store& store, const std::string& description,
                                const std::vector<std::size_t>& hosts = {}) {
  net::Network network = net::synthetic_network(description);
  const net::Network whole = net::synthetic_network(testing::kNetwork);
  for (std::size_t i = 0; i < hosts.size(); ++i) network.hosts[i] = whole.hosts[hosts[i]];
  transport::Hub hub(1);
  transport::run_ranks(hub, [&](transport::LoopbackTransport& loopback, transport::LoopbackNative& native) {
    network.transport = transport_name(native, loopback);
  });
  for (net::PairTimes& pair : network.pairs) {
    for (auto& samples : pair.samples) samples.push_back(samples[0]);
  }
  EXPECT_FALSE(store.remember_network(network).failure);
  return network;
}

// Hosts that are not where they were: threads are nearer than ten milliseconds on the busiest machine.
net::Network remembered_far_apart(const Options& options) {
  return remembered_network(net::Store(options.cache_dir), "hosts=2+2 rate_mbit=0.8 uplink_mbit=0.4");
}

// Comes to the network and no further; the networks that are remembered then, by their number of hosts.
std::vector<net::Network> after_arming(const Options& options, KnownInJob* job = nullptr) {
  Group group = small_group();
  group.request = {};
  group.request.job = job;
  group.request.network_only = true;
  expect_all(arm_group(group, options), "only the network was asked for");
  std::vector<net::Network> networks;
  for (const std::string& file : net::Store(options.cache_dir, options.site_dir).network_files())
    networks.push_back(net::load_network(file));
  std::sort(networks.begin(), networks.end(),
            [](const auto& x, const auto& y) { return x.n_hosts() < y.n_hosts(); });
  return networks;
}

TEST(Arming, MeasuresOnlyThePairsOfTheHostThatIsNew) {
  const Directory directory;
  Options options;
  options.cache_dir = directory.file("cache");
  options.site_dir = directory.file("site");
  options.sentinels = false;
  std::filesystem::create_directories(options.site_dir);
  // Three of the four hosts, in the site directory only.
  remembered_network(net::Store({}, options.site_dir), "hosts=2+1 rate_mbit=200 uplink_mbit=40");
  const std::vector<net::Network> networks = after_arming(options);
  ASSERT_EQ(networks.size(), 3u) << "the known one, and the new one in both directories";
  for (const std::size_t i : {1u, 2u}) {
    EXPECT_EQ(networks[i].n_hosts(), 4);
    EXPECT_EQ(networks[i].note, "3 of 6 pairs measured, the others known");
  }
}

TEST(Arming, LooksAfterPairsThatOtherJobsMeasured) {
  const Directory directory;
  Options options;
  options.cache_dir = directory.file("cache");
  // All pairs are known, from jobs of three and two hosts each, and all have become wrong.
  const net::Store store(options.cache_dir);
  const char* const three = "hosts=2+1 rate_mbit=0.8 uplink_mbit=0.4";
  remembered_network(store, three, {0, 1, 2});
  remembered_network(store, three, {1, 2, 3});
  remembered_network(store, "hosts=2 rate_mbit=0.8", {0, 3});
  KnownInJob job;  // what was only remembered was not looked after
  const std::vector<net::Network> networks = after_arming(options, &job);
  ASSERT_EQ(networks.size(), 4u);
  EXPECT_EQ(networks[3].n_hosts(), 4);
  EXPECT_EQ(networks[3].note, "") << "nothing that was known of them holds";
  for (const net::PairTimes& pair : networks[3].pairs) EXPECT_LT(pair.seconds[1], 0.01);
}

TEST(Arming, WhatWasPutTogetherForHostsThatMovedIsLookedAfterToo) {
  int noticed = 0;
  for (int job_number = 0; job_number < 4; ++job_number) {  // sentinels are a sample: one may miss it
    const Directory directory;
    Options options;
    options.cache_dir = directory.file("cache");
    const net::Store store(options.cache_dir);
    // Four hosts of which one was far once; and, newer, the other three, who were far from each other: what all four were
    // looked after for does not say that of these.
    net::Network before = remembered_network(store, "hosts=4 rate_mbit=1000");
    for (net::PairTimes& pair : before.pairs) {
      if (pair.b != 3) continue;
      for (std::size_t i = 0; i < before.sizes.size(); ++i) {
        pair.seconds[i] += 0.05;
        for (double& sample : pair.samples[i]) sample += 0.05;
      }
    }
    EXPECT_FALSE(store.remember_network(before, true).failure);
    remembered_network(store, "hosts=3 rate_mbit=0.4", {0, 1, 2});
    KnownInJob job;
    const std::vector<net::Network> networks = after_arming(options, &job);
    ASSERT_EQ(networks.size(), 2u);
    ASSERT_EQ(networks[1].n_hosts(), 4);
    noticed += networks[1].note != "3 of 6 pairs measured, the others known" ? 1 : 0;
  }
  EXPECT_GE(noticed, 1);
}

TEST(Arming, MeasuresAnewWhereHostsAreNotWhereTheyWere) {
  const Directory directory;
  Options options;
  options.cache_dir = directory.file("cache");
  const net::Network before = remembered_far_apart(options);
  const auto is_as_before = [&](const std::vector<net::Network>& networks) {
    return networks.size() == 1 && networks[0].fingerprint() == before.fingerprint();
  };
  KnownInJob job;
  job.looked_after(before.hosts);
  EXPECT_TRUE(is_as_before(after_arming(options, &job))) << "this job has looked";
  options.sentinels = false;
  EXPECT_TRUE(is_as_before(after_arming(options))) << "by option";
  options.sentinels = true;
  options.measure = MeasurePolicy::never;
  EXPECT_TRUE(is_as_before(after_arming(options))) << "nothing may be measured";
  options.measure = MeasurePolicy::automatic;
  options.network_file = directory.file("network.json");
  net::save_network(before, options.network_file);
  EXPECT_TRUE(is_as_before(after_arming(options))) << "a network by hand is not questioned";
  options.network_file.clear();

  KnownInJob of_a_pair;
  of_a_pair.looked_after({before.hosts[0], before.hosts[1]});
  const std::vector<net::Network> after = after_arming(options, &of_a_pair);
  EXPECT_TRUE(of_a_pair.has_looked_after(before.hosts)) << "now";
  ASSERT_EQ(after.size(), 1u) << "in place of the old one";
  EXPECT_EQ(after[0].note, "") << "nothing that was known of them holds";
  for (const net::PairTimes& pair : after[0].pairs) EXPECT_LT(pair.seconds[1], before.pairs[0].seconds[1]);
}

TEST(Arming, TakesANetworkAsRememberedWhereThatIsEnough) {
  const Directory directory;
  Options options;
  options.cache_dir = directory.file("cache");
  const net::Network before = remembered_far_apart(options);
  KnownInJob job;
  Group group = small_group();
  group.request.network_only = true;
  group.request.as_remembered = true;
  group.request.job = &job;
  arm_group(group, options, [&](transport::Transport&, ArmResult& armed) {
    ASSERT_NE(armed.view.network, nullptr);
    EXPECT_EQ(armed.view.network->fingerprint(), before.fingerprint());
  });
  EXPECT_FALSE(job.has_looked_after(before.hosts)) << "so arming will";
}

// Takes its time by the byte, as a slow network does.
class SlowBytes final : public testing::PassingTransport {
 public:
  using PassingTransport::PassingTransport;
  Status post_send(int peer, int tag, std::span<const std::byte> bytes, transport::SendMode mode,
                   transport::Ticket ticket) override {
    std::this_thread::sleep_for(std::chrono::microseconds(5) * bytes.size());
    return below_.post_send(peer, tag, bytes, mode, ticket);
  }
};

TEST(Arming, RemembersNoNetworkThatItMeasuredWithSmallMessagesOnly) {
  const Directory directory;
  Options options;
  options.cache_dir = directory.file("cache");
  options.budget_s = 0.4;  // two sweeps of one pair at 16 KiB alone would take as long, so it is not begun
  Group group = small_group();
  group.wrap = [](int, transport::Transport& below) { return std::make_unique<SlowBytes>(below); };
  arm_group(group, options, [](transport::Transport&, ArmResult& armed) {
    EXPECT_GT(armed.seconds_measuring, 0);
    if (armed.communicator) {
      EXPECT_NE(armed.communicator->provenance().find("not remembered"), std::string::npos);
    }
  });
  EXPECT_TRUE(net::Store(options.cache_dir).network_files().empty());
}

TEST(Arming, JobsInARowMeasureWhatOneHasNoTimeFor) {
  const Directory directory;
  Options options;
  options.cache_dir = directory.file("cache");
  options.budget_s = 1;
  for (int job = 0; net::Store(options.cache_dir).network_files().empty(); ++job) {
    ASSERT_LT(job, 12);
    Group group = small_group();
    group.wrap = [](int, transport::Transport& below) { return std::make_unique<SlowBytes>(below); };
    std::vector<std::string> reasons(4);
    arm_group(group, options, [&](transport::Transport& transport, ArmResult& armed) {
      reasons[static_cast<std::size_t>(transport.rank())] = armed.reason;
      EXPECT_LT(armed.seconds_measuring, 2);
      if (!armed.communicator) {
        EXPECT_NE(armed.reason.find("the next job goes on from there"), std::string::npos) << armed.reason;
      }
    });
    EXPECT_EQ(std::count(reasons.begin(), reasons.end(), reasons[0]), 4);
  }
}

TEST(Arming, RanksGetTheNetworkWithoutItsSamples) {
  const Directory directory;
  const Options options = with_network(directory);
  const net::Network network = net::load_network(options.network_file);
  ASSERT_FALSE(network.pairs.empty());
  arm_group(small_group(), options, [&](transport::Transport&, ArmResult& armed) {
    ASSERT_TRUE(armed.communicator) << armed.reason;
    EXPECT_TRUE(armed.communicator->view().network->pairs.empty());
    EXPECT_EQ(armed.communicator->view().network->fingerprint(), network.fingerprint());
    EXPECT_EQ(armed.communicator->table().network, network.fingerprint());
  });
}

TEST(Arming, DisabledCollectivesStayNative) {
  const Directory directory;
  Options options = with_network(directory);
  options.disable = {"allreduce"};
  Group slow = small_group();
  slow.native_delay_s = 0.05;  // loses on a busy machine too
  arm_group(slow, options, [](transport::Transport&, ArmResult& armed) {
    ASSERT_TRUE(armed.communicator) << armed.reason;
    EXPECT_NE(armed.communicator->serves(broadcast_of(64, 0)), nullptr);
    const CommonProblem sum{
        .collective = Collective::allreduce, .n_ranks = 4, .root = 0, .bytes = 64, .element_bytes = 8};
    EXPECT_EQ(armed.communicator->serves(sum), nullptr);
  });
  // Who disables nothing plans what is missing, and finds the rest.
  options.disable.clear();
  arm_group(slow, options, [](transport::Transport&, ArmResult& armed) {
    ASSERT_TRUE(armed.communicator) << armed.reason;
    EXPECT_GT(armed.seconds_measuring, 0);
    EXPECT_NE(armed.communicator->table().lookup(Collective::allreduce, 0, 64), nullptr)
        << armed.communicator->table().find_row(Collective::allreduce, 0, 64)->reason;
  });
  options.measure = MeasurePolicy::never;
  arm_group(small_group(), options, [](transport::Transport&, ArmResult& armed) {
    ASSERT_TRUE(armed.communicator) << armed.reason;
    EXPECT_NE(armed.communicator->serves(broadcast_of(64, 0)), nullptr);
    EXPECT_NE(armed.communicator->table().lookup(Collective::allreduce, 0, 64), nullptr);
  });
  expect_all(arm_group(small_group(),
                       [&] {
                         Options off = options;
                         off.mode = Mode::observe;
                         return off;
                       }()),
             "ECO=observe");
}

TEST(Arming, APlanForAFewSizesLeavesTheOthersOpen) {
  const Directory directory;
  arm_group(small_group(), with_network(directory), [](transport::Transport&, ArmResult& armed) {
    ASSERT_TRUE(armed.communicator) << armed.reason;
    const plan::PlanTable& table = armed.communicator->table();
    for (const std::size_t bytes : plan::default_sizes()) {
      const plan::Row* row = table.find_row(Collective::broadcast, 0, bytes);
      ASSERT_NE(row, nullptr) << bytes;
      EXPECT_EQ(row->open, bytes != 64) << bytes;
    }
    EXPECT_FALSE(table.find_row(Collective::broadcast, 0, 4096)->open);
  });
}

TEST(Arming, SaysWhetherItFailed) {
  const Directory directory;
  const Options good = with_network(directory);
  Options options = good;
  options.mode = Mode::observe;
  expect_failed(small_group(), options, false);
  options = good;
  options.measure = MeasurePolicy::never;
  expect_failed(small_group(), options, false);
  Group alone = small_group();
  alone.network = "hosts=1";
  expect_failed(alone, good, false);

  options = good;
  options.network_file = directory.file("missing.json");
  expect_failed(small_group(), options, true);
  Group group = small_group();
  group.change = [](int rank, Options&, Identity& identity) {
    if (rank == 3) identity.version = "1.1";
  };
  expect_failed(group, good, true);
  arm_group(small_group(), good, [](transport::Transport&, ArmResult& armed) { EXPECT_FALSE(armed.failed); });
}

TEST(Arming, ANetworkByHandIsEverybodysIfItIsRank0s) {
  const Directory directory;
  const Options options = with_network(directory);
  Group group = small_group();
  group.change = [](int rank, Options& mine, Identity& identity) {
    identity.host.boot_id = "rebooted";  // found by name, as hosts of a file by hand are
    if (rank != 0) mine.network_file.clear();
  };
  expect_all(arm_group(group, options), "armed");
}

}  // namespace
}  // namespace eco::runtime
