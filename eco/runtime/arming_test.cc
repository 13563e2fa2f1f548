#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <limits>
#include <thread>

#include "eco/base/errors.h"
#include "eco/net/store.h"
#include "eco/plan/planner.h"
#include "eco/runtime/agreement.h"
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
using testing::plan_text;
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
  options.budget_s = 3;
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
  options.budget_s = 3;  // two sweeps of six pairs at 16 KiB alone would take two seconds of it
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
  arm_group(small_group(), options, [](transport::Transport&, ArmResult& armed) {
    ASSERT_TRUE(armed.communicator) << armed.reason;
    EXPECT_NE(armed.communicator->serves(broadcast_of(64, 0)), nullptr);
    const CommonProblem sum{
        .collective = Collective::allreduce, .n_ranks = 4, .root = 0, .bytes = 64, .element_bytes = 8};
    EXPECT_EQ(armed.communicator->serves(sum), nullptr);
  });
  // Who disables nothing plans what is missing, and finds the rest.
  options.disable.clear();
  arm_group(small_group(), options, [](transport::Transport&, ArmResult& armed) {
    ASSERT_TRUE(armed.communicator) << armed.reason;
    EXPECT_GT(armed.seconds_measuring, 0);
    EXPECT_NE(armed.communicator->table().lookup(Collective::allreduce, 0, 64), nullptr);
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

TEST(Arming, RefusesRowsByHandThatWouldBeProvedForMinutes) {
  const Directory directory;
  Options options = with_network(directory);
  const std::string parts = " between=chain inside=flat order=0,1";
  const auto expect_refused = [&](const std::string& segment, std::size_t bytes, const std::string& says) {
    options.plan_file = directory.write(
        "plan.json", plan_text("broadcast/subnets " + segment + parts, 0, {0, 1, 2, 3}, bytes));
    expect_all(arm_group(small_group(), options), says);
  };
  constexpr std::size_t kGiB = std::size_t{1} << 30;
  expect_refused("segment=1", kGiB, "1073741824 segments a rank are more than 65536");
  expect_refused("segment=16384", kGiB + 1, "65537 segments");
  expect_refused("segment=0", 2 * kGiB, "no MPI message is longer than 2147483647");
}

// Hears of a text far larger than any memory on one rank.
class Exaggerating final : public transport::Native {
 public:
  Exaggerating(transport::Native& below, bool exaggerates) : below_(below), exaggerates_(exaggerates) {}
  void barrier() override { below_.barrier(); }
  void broadcast(std::span<std::byte> bytes, int root) override {
    below_.broadcast(bytes, root);
    const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
    if (exaggerates_ && bytes.size() == sizeof huge) std::memcpy(bytes.data(), &huge, sizeof huge);
  }
  void run(const CommonProblem& problem, std::span<const std::byte> input,
           std::span<std::byte> output) override {
    below_.run(problem, input, output);
  }
  void allreduce_min(std::span<std::int64_t> values) override { below_.allreduce_min(values); }
  void allreduce_max(std::span<double> values) override { below_.allreduce_max(values); }
  void allgather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    below_.allgather(mine, all);
  }
  std::string library() const override { return below_.library(); }

 private:
  transport::Native& below_;
  bool exaggerates_;
};

TEST(Agreement, ATextWithoutRoomOnOneRankIsAReasonOnAll) {
  transport::Hub hub(3);
  transport::run_ranks(hub, [](transport::LoopbackTransport& transport, transport::LoopbackNative& native) {
    Exaggerating exaggerating(native, transport.rank() == 1);
    Agreement agreement(exaggerating, transport.rank(), 3);
    EXPECT_THROW(agreement.share("a text", 0), TransportError);
    EXPECT_TRUE(agreement.all(true)) << "and the ranks are still together";
    const auto reason = agreement.failed([] { throw Error(std::string(10'000, 'x')); });
    ASSERT_TRUE(reason);
    EXPECT_EQ(*reason, std::string(Agreement::kReasonRoom - 1, 'x'));
  });
}

}  // namespace
}  // namespace eco::runtime
