#include "eco/runtime/communicator.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <set>

#include "eco/algo/algorithm.h"
#include "eco/base/errors.h"
#include "eco/base/json_file.h"
#include "eco/runtime/abandoned.h"
#include "eco/runtime/agreement.h"
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
using testing::small_group;
using testing::with_network;
using transport::Status;

Status run_broadcast(Communicator& communicator, int rank, const CommonProblem& problem,
                     const algo::Recipe& recipe, bool& right) {
  // Shared, since a transport that failed may write to it later.
  const auto memory = std::make_shared<std::vector<std::byte>>(problem.bytes);
  std::vector<std::byte>& message = *memory;
  const auto value = [](std::size_t i) { return static_cast<std::byte>(i * 7 + 1); };
  if (rank == problem.root) {
    for (std::size_t i = 0; i < message.size(); ++i) message[i] = value(i);
  }
  const Status status = communicator.run(problem, recipe, {.input = {}, .output = message});
  if (status != Status::ok) keep_until_exit(memory);
  right = true;
  for (std::size_t i = 0; i < message.size(); ++i) right = right && message[i] == value(i);
  return status;
}

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

TEST(Communicator, RemembersItsPlan) {
  const Directory directory;
  const Options options = with_network(directory);
  arm_group(small_group(), options);
  const auto reasons = arm_group(small_group(), options, [](transport::Transport&, ArmResult& armed) {
    ASSERT_TRUE(armed.communicator);
    EXPECT_EQ(armed.seconds_measuring, 0);
    EXPECT_NE(armed.communicator->provenance().find("plan remembered"), std::string::npos);
  });
  expect_all(reasons, "armed");

  // A spoilt file is forgotten and made again.
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory.file("cache"))) {
    if (entry.is_regular_file()) std::ofstream(entry.path()) << "{";
  }
  expect_all(
      arm_group(small_group(), options,
                [](transport::Transport&, ArmResult& armed) { EXPECT_GT(armed.seconds_measuring, 0); }),
      "armed");
}

plan::PlanTable table_of(const std::string& path) {
  return plan::PlanTable::from_json(base::read_text(path));
}

TEST(Communicator, FinishesAPlanThatLackedTime) {
  const Directory directory;
  const Options options = with_network(directory);
  std::string path;
  arm_group(small_group(), options);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory.file("cache"))) {
    if (entry.is_regular_file()) path = entry.path();
  }
  plan::PlanTable table = plan::PlanTable::from_json(base::read_text(path));
  for (plan::Entry& entry : table.entries) {
    if (entry.collective != Collective::allreduce) continue;
    for (plan::Row& row : entry.rows) {
      if (row.up_to_bytes > 64) row = {row.up_to_bytes, std::nullopt, 0, 0, 0, "whatever it says", true};
    }
  }
  const double kept_s = table.find_row(Collective::broadcast, 0, 4096)->native_s;
  std::ofstream(path) << table.to_json();
  // A job pays for measuring once; what is missing is for whoever tunes offline.
  arm_group(small_group(), options, [&](transport::Transport&, ArmResult& armed) {
    ASSERT_TRUE(armed.communicator) << armed.reason;
    EXPECT_EQ(armed.seconds_measuring, 0);
    EXPECT_EQ(armed.communicator->table().lookup(Collective::allreduce, 0, 4096), nullptr);
  });
  Options offline = options;
  offline.budget_s = 0;
  arm_group(small_group(), offline, [&](transport::Transport&, ArmResult& armed) {
    ASSERT_TRUE(armed.communicator) << armed.reason;
    EXPECT_GT(armed.seconds_measuring, 0);
    EXPECT_NE(armed.communicator->table().lookup(Collective::allreduce, 0, 4096), nullptr);
    const plan::Row* row = armed.communicator->table().find_row(Collective::broadcast, 0, 4096);
    EXPECT_NE(row->native_s, kept_s) << "a job's few runs are not what tuning measures";
    EXPECT_EQ(row->effort, plan::Effort::measure);
  });
  const double tuned_s = table_of(path).find_row(Collective::broadcast, 0, 4096)->native_s;
  arm_group(small_group(), offline);
  EXPECT_EQ(table_of(path).find_row(Collective::broadcast, 0, 4096)->native_s, tuned_s) << "measured again";
}

// The only plan below a cache.
std::string plan_file(const Directory& directory) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory.file("cache"))) {
    if (entry.is_regular_file()) return entry.path();
  }
  return {};
}

TEST(Communicator, RefusesARememberedPlanThatIsNotItsOwnWithTheReason) {
  const Directory directory;
  Options options = with_network(directory);
  arm_group(small_group(), options);
  const std::string path = plan_file(directory);
  const std::string good = base::read_text(path);
  options.measure = MeasurePolicy::never;
  const auto spoilt = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    std::ofstream(path) << text;
    return arm_group(small_group(), options).front();
  };
  EXPECT_NE(spoilt("\"network\": \"", "\"network\": \"x").find("of another network"), std::string::npos);
  EXPECT_NE(spoilt("\"version\": 1", "\"version\": 2").find("version 2"), std::string::npos);
  EXPECT_NE(spoilt("\"made_by\": \"", "\"made_by\": \"9.").find("was made by ECO 9."), std::string::npos);
  EXPECT_NE(spoilt("\"rows\"", "\"rowz\"").find("'rows' is missing"), std::string::npos);
  options.measure = MeasurePolicy::automatic;
  expect_all(arm_group(small_group(), options), "armed");
}

TEST(Communicator, StartsFromThePlanOfAnotherLibrary) {
  const Directory directory;
  const Options options = with_network(directory);
  arm_group(small_group(), options);
  const std::string path = plan_file(directory);
  plan::PlanTable table = plan::PlanTable::from_json(base::read_text(path));
  table.library = "Another MPI 1.0";
  table.proof.clear();
  std::filesystem::remove(path);
  std::ofstream(std::filesystem::path(path).replace_filename("another.json")) << table.to_json();
  arm_group(small_group(), options, [](transport::Transport&, ArmResult& armed) {
    ASSERT_TRUE(armed.communicator) << armed.reason;
    EXPECT_GT(armed.seconds_measuring, 0) << "measured here before it serves";
    EXPECT_NE(armed.communicator->provenance().find("starting from the plan of Another MPI 1.0"),
              std::string::npos);
    EXPECT_EQ(armed.communicator->table().library, "loopback");
  });
}

TEST(Communicator, LosesNothingThatWasTunedWhenItIsKilled) {
  const Directory directory;
  Options offline = with_network(directory);
  offline.budget_s = 0;
  Group group = small_group();
  group.request.collectives = {Collective::broadcast};
  group.request.sizes = {64, 4096};
  group.request.progress = [](const std::string& what, double) {
    if (what == "broadcast of 4096 bytes") throw Error("killed");
  };
  const auto reasons = arm_group(group, offline);
  for (const std::string& reason : reasons) EXPECT_NE(reason.find("killed"), std::string::npos) << reason;

  double kept_s = 0;
  Options job = with_network(directory);
  job.measure = MeasurePolicy::never;
  group.request = {};
  arm_group(group, job, [&](transport::Transport& transport, ArmResult& armed) {
    ASSERT_TRUE(armed.communicator) << armed.reason;
    const plan::Row* row = armed.communicator->table().find_row(Collective::broadcast, 0, 64);
    ASSERT_TRUE(row->is_measured(plan::Effort::measure));
    EXPECT_TRUE(armed.communicator->table().find_row(Collective::broadcast, 0, 4096)->open);
    if (transport.rank() == 0) kept_s = row->native_s;
  });
  group.request.collectives = {Collective::broadcast};
  group.request.sizes = {64, 4096};
  arm_group(group, offline, [&](transport::Transport&, ArmResult& armed) {
    ASSERT_TRUE(armed.communicator) << armed.reason;
    EXPECT_EQ(armed.communicator->table().find_row(Collective::broadcast, 0, 64)->native_s, kept_s);
    EXPECT_TRUE(armed.communicator->table().find_row(Collective::broadcast, 0, 4096)->is_measured());
  });
}

TEST(Communicator, EstimatesWithoutMeasuringOrRemembering) {
  const Directory directory;
  Options offline = with_network(directory);
  offline.budget_s = 0;
  offline.measure = MeasurePolicy::never;
  Group group = small_group();
  group.request.collectives = {Collective::broadcast};
  group.request.effort = plan::Effort::estimate;
  arm_group(group, offline, [&](transport::Transport&, ArmResult& armed) {
    ASSERT_TRUE(armed.communicator) << armed.reason;
    EXPECT_EQ(armed.seconds_measuring, 0);
    const plan::Row* row = armed.communicator->table().find_row(Collective::broadcast, 0, 4096);
    ASSERT_NE(row, nullptr);
    EXPECT_EQ(row->effort, plan::Effort::estimate);
    EXPECT_GT(row->predicted_s, 0);
    EXPECT_EQ(row->measured_s, 0);
  });
  group.request.effort = plan::Effort::measure;
  for (const std::string& reason : arm_group(group, offline)) {
    EXPECT_NE(reason.find("no plan is remembered"), std::string::npos) << reason;
  }
}

TEST(Communicator, TunesForALimitedTimeAndGoesOnTheNextTime) {
  const Directory directory;
  Options offline = with_network(directory);
  offline.budget_s = 0;
  Group group = small_group();
  group.request.collectives = {Collective::broadcast};
  group.request.sizes = {64};
  const auto row = [](const ArmResult& armed) {
    return armed.communicator->table().find_row(Collective::broadcast, 0, 64);
  };
  group.request.offline_s = 1e-3;  // not enough for anything
  arm_group(group, offline, [&](transport::Transport&, ArmResult& armed) {
    ASSERT_TRUE(armed.communicator) << armed.reason;
    EXPECT_TRUE(armed.communicator->serves_nothing());
    ASSERT_NE(row(armed), nullptr);
    EXPECT_TRUE(row(armed)->open);
  });
  group.request.offline_s = 600;
  arm_group(group, offline, [&](transport::Transport&, ArmResult& armed) {
    ASSERT_TRUE(armed.communicator) << armed.reason;
    EXPECT_FALSE(row(armed)->open);
    EXPECT_GT(row(armed)->native_s, 0);
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

TEST(Communicator, TakesAPlanGivenByHandAfterProvingIt) {
  const Directory directory;
  Options options = with_network(directory);
  const std::string recipe =
      algo::parse_recipe("broadcast/subnets segment=100 between=chain inside=flat order=1,0").text();
  options.plan_file = directory.write("plan.json", plan_text(recipe, 0, {0, 1, 2, 3}));
  std::atomic<std::uint64_t> crossing_messages{0};
  std::atomic<std::uint64_t> crossing_bytes{0};
  const auto good = arm_group(small_group(), options, [&](transport::Transport& transport, ArmResult& armed) {
    ASSERT_TRUE(armed.communicator) << armed.reason;
    EXPECT_EQ(armed.seconds_measuring, 0);
    const CommonProblem problem = broadcast_of(999, 1);
    const algo::Recipe* served = armed.communicator->serves(problem);
    ASSERT_NE(served, nullptr);
    EXPECT_EQ(served->text(), recipe);
    EXPECT_EQ(armed.communicator->serves(broadcast_of(999, 2)), nullptr) << "root in another subnet";
    bool right = false;
    EXPECT_EQ(run_broadcast(*armed.communicator, transport.rank(), problem, *served, right), Status::ok);
    EXPECT_TRUE(right);
    crossing_messages += armed.communicator->last_crossing().messages;
    crossing_bytes += armed.communicator->last_crossing().bytes;
  });
  expect_all(good, "armed");
  EXPECT_EQ(crossing_messages, 10u) << "each segment once from the root's subnet to the other";
  EXPECT_EQ(crossing_bytes, 999u);

  options.plan_file = directory.write("ranks.json", plan_text(recipe, 0, {0, 1}));
  expect_all(arm_group(small_group(), options), "is for 2 ranks");
  options.plan_file = directory.write("subnet.json", plan_text(recipe, 2, {0, 1, 2, 3}));
  expect_all(arm_group(small_group(), options), "subnet 2");
  options.plan_file = directory.write("order.json", plan_text(recipe + ",2", 0, {0, 1, 2, 3}));
  expect_all(arm_group(small_group(), options), "order");
  options.plan_file = directory.file("none.json");
  expect_all(arm_group(small_group(), options), "none.json");
}

TEST(Communicator, TakesOfSeveralPlansTheOneForItsHosts) {
  const Directory directory;
  Options options = with_network(directory);
  const auto file = [&](const char* name, const char* recipe, const std::vector<int>& hosts) {
    return directory.write(name, plan_text(algo::parse_recipe(recipe).text(), 0, hosts));
  };
  const std::string two = file("two.json", "broadcast/chain", {0, 1});
  const std::string four = file("four.json", "broadcast/binomial", {0, 0, 0, 0});
  const std::string these = file("these.json", "broadcast/flat", {0, 1, 2, 3});
  const auto serves = [&](const std::string& files, const std::string& algorithm) {
    options.plan_file = files;
    const auto good = arm_group(small_group(), options, [&](transport::Transport&, ArmResult& armed) {
      ASSERT_TRUE(armed.communicator) << armed.reason;
      const algo::Recipe* served = armed.communicator->serves(broadcast_of(999, 1));
      ASSERT_NE(served, nullptr);
      EXPECT_EQ(served->algorithm, algorithm);
    });
    expect_all(good, "armed");
  };
  serves(two + ":" + four + ":" + these, "broadcast/flat");
  serves(two + ":" + four, "broadcast/binomial");
  options.plan_file = two + ":" + two;
  expect_all(arm_group(small_group(), options), "is for 2 ranks");
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

TEST(Agreement, OneRankThatThrowsIsAReasonOnAll) {
  transport::Hub hub(3);
  transport::run_ranks(hub, [](transport::LoopbackTransport& transport, transport::LoopbackNative& native) {
    Agreement agreement(native, transport.rank(), 3);
    for (int thrower = 0; thrower < 3; ++thrower) {
      const auto reason = agreement.failed([&] {
        if (transport.rank() >= thrower) throw std::runtime_error("rank " + std::to_string(transport.rank()));
      });
      ASSERT_TRUE(reason);
      EXPECT_EQ(*reason, "rank " + std::to_string(thrower)) << "the lowest rank's";
    }
    EXPECT_FALSE(agreement.failed([] {}));
    const auto unknown = agreement.failed([] { throw 7; });
    ASSERT_TRUE(unknown);
    EXPECT_FALSE(unknown->empty());
    EXPECT_TRUE(agreement.equal(0xfedcba9876543210u));
    EXPECT_FALSE(agreement.equal(transport.rank() == 1 ? 1u : 2u));
    EXPECT_FALSE(agreement.equal(transport.rank() == 1 ? std::uint64_t{1} << 63 : 0u));
    EXPECT_FALSE(agreement.all(transport.rank() != 2));
    EXPECT_EQ(agreement.share("from " + std::to_string(transport.rank()), 2), "from 2");
    EXPECT_EQ(agreement.share({}), "");
    EXPECT_EQ(agreement.largest(transport.rank()), 2.0);
  });
}

}  // namespace
}  // namespace eco::runtime
