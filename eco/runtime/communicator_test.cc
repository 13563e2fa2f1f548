#include "eco/runtime/communicator.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>

#include "eco/algo/algorithm.h"
#include "eco/base/json_file.h"
#include "eco/runtime/combine.h"
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
using testing::run_broadcast;
using testing::small_group;
using testing::with_network;
using transport::Status;

TEST(Communicator, ArmsWhereTheLibraryLosesAndServesRightResults) {
  const Directory directory;
  std::mutex mutex;
  std::set<std::string> tables;
  const auto reasons = arm_group(
      small_group(), with_network(directory), [&](transport::Transport& transport, ArmResult& armed) {
        ASSERT_TRUE(armed.communicator) << armed.reason;
        EXPECT_GT(armed.seconds_measuring, 0);
        Communicator& communicator = *armed.communicator;
        for (int root = 0; root < 4; ++root) {
          for (const std::size_t bytes : {1u, 64u, 65u, 1000u, 4096u}) {
            const CommonProblem problem = broadcast_of(bytes, root);
            const algo::Recipe* recipe = communicator.serves(problem);
            ASSERT_NE(recipe, nullptr) << bytes << " bytes from " << root;
            bool right = false;
            EXPECT_EQ(run_broadcast(communicator, transport.rank(), problem, *recipe, right), Status::ok);
            EXPECT_TRUE(right) << bytes << " bytes from " << root;
          }
        }
        const CommonProblem sum{
            .collective = Collective::allreduce, .n_ranks = 4, .root = 0, .bytes = 800, .element_bytes = 8};
        const algo::Recipe* recipe = communicator.serves(sum);
        ASSERT_NE(recipe, nullptr);
        std::vector<double> mine(100, transport.rank() + 1.0);
        std::vector<double> all(100);
        const exec::Buffers buffers{.input = std::as_bytes(std::span(mine)),
                                    .output = std::as_writable_bytes(std::span(all)),
                                    .input_is_output = false,
                                    .combine = {sum_doubles, nullptr}};
        EXPECT_EQ(communicator.run(sum, *recipe, buffers), Status::ok);
        EXPECT_EQ(all, std::vector<double>(100, 10.0));
        EXPECT_NE(communicator.provenance().find("plan made in this job"), std::string::npos);
        const std::lock_guard lock(mutex);
        tables.insert(communicator.table().to_json());
      });
  expect_all(reasons, "armed");
  EXPECT_EQ(tables.size(), 1u) << "ranks hold different tables";
}

TEST(Communicator, ServesNothingThatItHasNotMeasured) {
  const Directory directory;
  arm_group(small_group(), with_network(directory), [&](transport::Transport&, ArmResult& armed) {
    ASSERT_TRUE(armed.communicator) << armed.reason;
    const Communicator& communicator = *armed.communicator;
    EXPECT_EQ(communicator.serves(broadcast_of(4097, 0)), nullptr) << "beyond the last size";
    EXPECT_EQ(communicator.serves(broadcast_of(0, 0)), nullptr) << "nothing to send";
    CommonProblem problem{
        .collective = Collective::allreduce, .n_ranks = 4, .root = 0, .bytes = 64, .element_bytes = 8};
    EXPECT_NE(communicator.serves(problem), nullptr);
    const plan::Row* row = communicator.table().find_row(Collective::allreduce, 0, 64);
    problem.commutative = false;
    const algo::Recipe* in_order = communicator.serves(problem);
    EXPECT_EQ(in_order == nullptr, !row->in_order.has_value());
    if (in_order != nullptr) {
      EXPECT_EQ(algo::why_not(*in_order, problem, communicator.view()), std::nullopt);
    }
    EXPECT_EQ(communicator.serves(broadcast_of(64, 0, 3)), nullptr) << "another group";
  });
}

TEST(Communicator, StaysNativeWhereTheLibraryIsAsGood) {
  const Directory directory;
  Group group = small_group();
  group.native_delay_s = 0;
  // Every message of ECO's takes a millisecond; the library's calls go around them.
  struct Slow final : testing::PassingTransport {
    using PassingTransport::PassingTransport;
    Status post_send(int peer, int tag, std::span<const std::byte> bytes, transport::SendMode mode,
                     transport::Ticket ticket) override {
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
      return below_.post_send(peer, tag, bytes, mode, ticket);
    }
  };
  group.wrap = [](int, transport::Transport& below) { return std::make_unique<Slow>(below); };
  const auto reasons = arm_group(group, with_network(directory), [](transport::Transport&, ArmResult& armed) {
    EXPECT_FALSE(armed.failed) << armed.reason;
    ASSERT_TRUE(armed.communicator) << "it may learn others";
    EXPECT_TRUE(armed.communicator->serves_nothing());
    EXPECT_NE(armed.reason.find("as good"), std::string::npos) << armed.reason;
  });
  expect_all(reasons, "armed");
}

TEST(Communicator, DisagreementIsAReasonOnAllRanks) {
  const Directory directory;
  Group group = small_group();
  group.change = [](int rank, Options& options, Identity&) {
    if (rank == 2) options.disable = {"barrier"};
  };
  expect_all(arm_group(group, with_network(directory)), "different ECO_ options");
  group.change = [](int rank, Options&, Identity& identity) {
    if (rank == 3) identity.version = "1.1";
  };
  expect_all(arm_group(group, with_network(directory)), "different versions");
}

TEST(Communicator, ABadNetworkFileIsAReasonOnAllRanks) {
  const Directory directory;
  Options options = with_network(directory);
  const std::string good = base::read_text(options.network_file);

  options.network_file = directory.file("missing.json");
  expect_all(arm_group(small_group(), options), "missing.json");
  options.network_file = directory.write("cut.json", good.substr(0, good.size() / 2));
  expect_all(arm_group(small_group(), options), "cut.json");
  options.network_file = directory.write("plan.json", plan::PlanTable{}.to_json());
  expect_all(arm_group(small_group(), options), "eco.plan");

  options = with_network(directory);
  Group group = small_group();
  group.change = [](int rank, Options&, Identity& identity) {
    if (rank == 1) identity.host = {"stranger", "10.9.9.9", "b", "n"};
  };
  expect_all(arm_group(group, options), "stranger");
}

TEST(Communicator, AFileGivenByHandFindsRebootedHostsByName) {
  const Directory directory;
  Group group = small_group();
  group.change = [](int, Options&, Identity& identity) { identity.host.boot_id = "rebooted"; };
  expect_all(arm_group(group, with_network(directory)), "armed");
}

TEST(Communicator, MeasuresNothingWhereItMayNot) {
  const Directory directory;
  Options options = with_network(directory);
  options.measure = MeasurePolicy::never;
  expect_all(arm_group(small_group(), options), "measuring is not allowed");
  options.network_file.clear();
  expect_all(arm_group(small_group(), options), "measuring is not allowed");
}

// Fails on one rank from its n-th message on; from then on whoever waits, on any rank, hears of a lost peer. The native
// collectives go on, as they must for ranks to agree.
class Breaking final : public testing::PassingTransport {
 public:
  Breaking(transport::Transport& below, std::shared_ptr<std::atomic<bool>> broken, int messages)
      : PassingTransport(below), broken_(std::move(broken)), left_(messages) {}
  Status post_send(int peer, int tag, std::span<const std::byte> bytes, transport::SendMode mode,
                   transport::Ticket ticket) override {
    return breaks() ? Status::failed : below_.post_send(peer, tag, bytes, mode, ticket);
  }
  Status post_recv(int peer, int tag, std::span<std::byte> bytes, transport::Ticket ticket) override {
    return breaks() ? Status::failed : below_.post_recv(peer, tag, bytes, ticket);
  }
  Status wait_some(std::span<transport::Ticket> done, std::size_t& n) override {
    for (;;) {
      const Status status = below_.test_some(done, n);
      if (status != Status::ok || n > 0) return status;
      if (*broken_) return Status::lost_peer;
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }

 private:
  bool breaks() {
    if (left_-- > 0) return false;
    *broken_ = true;
    return true;
  }
  std::shared_ptr<std::atomic<bool>> broken_;
  int left_;
};

// `rank` breaks; the others never do by themselves.
auto breaking(int rank, int messages) {
  const auto broken = std::make_shared<std::atomic<bool>>(false);
  constexpr int kNever = 1 << 30;
  return [=](int mine, transport::Transport& below) {
    return std::make_unique<Breaking>(below, broken, mine == rank ? messages : kNever);
  };
}

TEST(Communicator, ATransportThatFailsInATrialIsAReasonOnAllRanks) {
  const Directory directory;
  for (const int messages : {0, 7, 40}) {
    Group group = small_group();
    group.wrap = breaking(2, messages);
    Options options = with_network(directory);
    options.cache_dir.clear();
    expect_all(arm_group(group, options), "making a plan: a trial of ");
  }
}

TEST(Communicator, AFailureInTheMiddlePoisonsIt) {
  const Directory directory;
  Options options = with_network(directory);
  options.plan_file = directory.write(
      "plan.json", plan_text("broadcast/subnets segment=100 window=0 between=chain inside=flat order=0,1", 0,
                             {0, 1, 2, 3}));
  Group group = small_group();
  group.wrap = breaking(0, 5);
  arm_group(group, options, [](transport::Transport& transport, ArmResult& armed) {
    ASSERT_TRUE(armed.communicator) << armed.reason;
    const CommonProblem problem = broadcast_of(999, 0);
    const algo::Recipe* recipe = armed.communicator->serves(problem);
    ASSERT_NE(recipe, nullptr);
    bool right = false;
    EXPECT_NE(run_broadcast(*armed.communicator, transport.rank(), problem, *recipe, right), Status::ok);
    EXPECT_EQ(run_broadcast(*armed.communicator, transport.rank(), problem, *recipe, right), Status::failed);
  });
}

}  // namespace
}  // namespace eco::runtime
