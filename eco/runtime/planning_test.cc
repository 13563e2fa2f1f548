// Plans that are remembered, completed, taken over and made with all the time that there is.
#include "eco/runtime/planning.h"

#include <gtest/gtest.h>

#include <mutex>
#include <set>
#include <string>

#include "eco/base/errors.h"
#include "eco/base/json_file.h"
#include "eco/runtime/testing.h"

namespace eco::runtime {
namespace {

using coll::Collective;
using testing::arm_group;
using testing::Directory;
using testing::expect_all;
using testing::Group;
using testing::small_group;
using testing::with_network;

// The only plan below a cache.
std::string plan_file(const Directory& directory) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory.file("cache"))) {
    if (entry.is_regular_file()) return entry.path();
  }
  return {};
}

plan::PlanTable table_of(const std::string& path) {
  return plan::PlanTable::from_json(base::read_text(path));
}

// As `eco tune` has them: with all the time that there is.
Options offline_in(const Directory& directory) {
  Options options = with_network(directory);
  options.budget_s = 0;
  return options;
}

Group broadcasts_at(std::vector<std::size_t> sizes) {
  Group group = small_group();
  group.request.collectives = {Collective::broadcast};
  group.request.sizes = std::move(sizes);
  return group;
}

TEST(Planning, RemembersItsPlan) {
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
  std::ofstream(plan_file(directory)) << "{";
  expect_all(
      arm_group(small_group(), options,
                [](transport::Transport&, ArmResult& armed) { EXPECT_GT(armed.seconds_measuring, 0); }),
      "armed");
}

TEST(Planning, FinishesAPlanThatLackedTime) {
  const Directory directory;
  const Options options = with_network(directory);
  arm_group(small_group(), options);
  const std::string path = plan_file(directory);
  plan::PlanTable table = table_of(path);
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
  const Options offline = offline_in(directory);
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

TEST(Planning, RefusesARememberedPlanThatIsNotItsOwnWithTheReason) {
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

TEST(Planning, StartsFromThePlanOfAnotherLibrary) {
  const Directory directory;
  const Options options = with_network(directory);
  arm_group(small_group(), options);
  const std::string path = plan_file(directory);
  plan::PlanTable table = table_of(path);
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

TEST(Planning, LosesNothingThatWasTunedWhenItIsKilled) {
  const Directory directory;
  const Options offline = offline_in(directory);
  Group group = broadcasts_at({64, 4096});
  std::mutex mutex;
  std::multiset<std::string> tuned;
  group.request.progress = [&](const std::string& what, double) {
    if (what == "broadcast of 4096 bytes") throw Error("killed");
    const std::lock_guard lock(mutex);
    tuned.insert(what);
  };
  const auto reasons = arm_group(group, offline);
  for (const std::string& reason : reasons) EXPECT_NE(reason.find("killed"), std::string::npos) << reason;

  Options job = with_network(directory);
  job.measure = MeasurePolicy::never;
  arm_group(Group(), job, [](transport::Transport&, ArmResult& armed) {
    ASSERT_TRUE(armed.communicator) << armed.reason;
    const plan::Row* row = armed.communicator->table().find_row(Collective::broadcast, 0, 64);
    ASSERT_TRUE(row->is_measured(plan::Effort::measure));
    EXPECT_TRUE(armed.communicator->table().find_row(Collective::broadcast, 0, 4096)->open);
  });
  // Of its time nothing is said: where the machine is busy, a guideline may have it measured once more.
  group.request.progress = [&](const std::string& what, double) {
    const std::lock_guard lock(mutex);
    tuned.insert(what);
  };
  arm_group(group, offline, [](transport::Transport&, ArmResult& armed) {
    ASSERT_TRUE(armed.communicator) << armed.reason;
    const plan::Row* row = armed.communicator->table().find_row(Collective::broadcast, 0, 64);
    EXPECT_TRUE(row->is_measured(plan::Effort::measure));
    EXPECT_TRUE(armed.communicator->table().find_row(Collective::broadcast, 0, 4096)->is_measured());
  });
  EXPECT_EQ(tuned.count("broadcast of 64 bytes"), 2U) << "once for the roots of each subnet, in both runs";
  EXPECT_GT(tuned.count("broadcast of 4096 bytes"), 0U);
}

TEST(Planning, AJobTakesNothingAwayFromWhatWasTunedMeanwhile) {
  const Directory directory;
  arm_group(broadcasts_at({64}), offline_in(directory));
  const std::string path = plan_file(directory);
  const std::string tuned = base::read_text(path);
  std::filesystem::remove(path);

  Group job = broadcasts_at({64});
  job.request.progress = [&](const std::string&, double) { std::ofstream(path) << tuned; };
  const auto expect_tuned = [](transport::Transport&, ArmResult& armed) {
    ASSERT_TRUE(armed.communicator) << armed.reason;
    const plan::Row* row = armed.communicator->table().find_row(Collective::broadcast, 0, 64);
    EXPECT_TRUE(row->is_measured(plan::Effort::measure));
  };
  arm_group(job, with_network(directory), expect_tuned);
  job.request.progress = {};
  arm_group(job, with_network(directory), expect_tuned);
}

TEST(Planning, EstimatesWithoutMeasuringOrRemembering) {
  const Directory directory;
  Options offline = offline_in(directory);
  offline.measure = MeasurePolicy::never;
  Group group = broadcasts_at({64, 4096});
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

TEST(Planning, TunesForALimitedTimeAndGoesOnTheNextTime) {
  const Directory directory;
  const Options offline = offline_in(directory);
  Group group = broadcasts_at({64});
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

}  // namespace
}  // namespace eco::runtime
