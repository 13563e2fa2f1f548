// Collectives that are planned when a program first calls them, and what is remembered of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "eco/algo/algorithm.h"
#include "eco/base/json_file.h"
#include "eco/plan/planner.h"
#include "eco/plan/ranking.h"
#include "eco/plan/testing.h"
#include "eco/runtime/plan_by_hand.h"
#include "eco/runtime/testing.h"

namespace eco::runtime {
namespace {

using coll::Collective;
using testing::arm_group;
using testing::Directory;
using testing::expect_served;
using testing::Group;
using testing::problem_of;
using testing::Program;
using testing::run_program;
using testing::small_group;
using testing::with_network;

// Arms with broadcast and barrier only, as a job does that calls MPI_Bcast first.
Group broadcast_first() {
  Group group = small_group();
  group.request.collectives = {Collective::broadcast, Collective::barrier};
  return group;
}

// Arms as a job does, with the call that it is about to make.
Group calling(const coll::CommonProblem& call) {
  Group group = broadcast_first();
  group.request.sizes.clear();
  group.request.call = call;
  return group;
}

std::string plan_path(const Directory& directory) {
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(directory.file("cache") + "/plans")) {
    if (entry.is_regular_file()) return entry.path();
  }
  return {};
}

plan::PlanTable remembered(const Directory& directory) {
  return plan::PlanTable::from_json(base::read_text(plan_path(directory)));
}

// The file of the remembered plan, changed.
void change_remembered(const Directory& directory, const std::function<void(plan::PlanTable&)>& change) {
  plan::PlanTable table = remembered(directory);
  change(table);
  ASSERT_EQ(base::write_text_atomically(plan_path(directory), table.to_json()), std::nullopt);
}

TEST(Learning, PlansWhatIsCalledAndNothingElse) {
  const Directory directory;
  run_program(broadcast_first(), with_network(directory),
              [](Communicator& communicator, int rank, Program& program) {
                EXPECT_TRUE(communicator.knows(Collective::broadcast));
                EXPECT_TRUE(communicator.knows(Collective::barrier));
                EXPECT_FALSE(communicator.knows(Collective::allgather));
                EXPECT_EQ(communicator.serves(problem_of(Collective::allgather, 64)), nullptr);
                expect_served(communicator, rank, problem_of(Collective::broadcast, 64, 1));
                const Learned learned = communicator.learn(program.native, program.options, program.identity,
                                                           problem_of(Collective::allgather, 64));
                EXPECT_EQ(learned.reason, "");
                EXPECT_GT(learned.seconds_measuring, 0);
                EXPECT_TRUE(communicator.knows(problem_of(Collective::allgather, 64)));
                for (int i = 0; i < 100; ++i) {
                  expect_served(communicator, rank, problem_of(Collective::allgather, 64));
                  expect_served(communicator, rank, problem_of(Collective::broadcast, 64, i % 4));
                }
                const Learned again = communicator.learn(program.native, program.options, program.identity,
                                                         problem_of(Collective::allgather, 64));
                EXPECT_EQ(again.seconds_measuring, 0) << "it is known";
              });
  const plan::PlanTable table = remembered(directory);
  EXPECT_TRUE(table.knows(Collective::allgather));
  EXPECT_TRUE(table.knows(Collective::broadcast));
  EXPECT_FALSE(table.knows(Collective::scan));
}

// The folder of plans has become a file meanwhile; whoever the tests run as could write to a read-only one.
TEST(Learning, SaysOnceWhyWhatIsLearnedIsNotRemembered) {
  const Directory directory;
  const std::string plans = directory.file("cache") + "/plans";
  run_program(broadcast_first(), with_network(directory),
              [&](Communicator& communicator, int rank, Program& program) {
                EXPECT_EQ(communicator.provenance().find("not remembered"), std::string::npos);
                program.native.barrier();
                if (rank == 0) {
                  std::filesystem::remove_all(plans);
                  std::ofstream(plans) << "no folder";
                }
                program.native.barrier();
                for (const Collective collective : {Collective::allgather, Collective::scan}) {
                  communicator.learn(program.native, program.options, program.identity,
                                     problem_of(collective, 64));
                  EXPECT_TRUE(communicator.knows(problem_of(collective, 64)));
                }
                const std::string text = communicator.provenance();
                const std::size_t said = text.find("what was planned since is not remembered: ");
                EXPECT_EQ(said == std::string::npos, rank != 0) << text;
                EXPECT_EQ(text.find("not remembered", said + 30), std::string::npos) << text;
              });
}

// A job plans at sizes of its own; 4096 is none of them.
TEST(Learning, WhatWasTunedAtAnotherSizeIsKnownUpToThere) {
  const Directory directory;
  run_program(small_group(), with_network(directory), [](Communicator&, int, Program&) {});
  Group group = small_group();
  group.request.collectives = {Collective::barrier};
  group.request.sizes.clear();
  run_program(group, with_network(directory), [](Communicator& communicator, int, Program&) {
    EXPECT_TRUE(communicator.knows(problem_of(Collective::allreduce, 4096)));
    EXPECT_FALSE(communicator.is_open(problem_of(Collective::allreduce, 4096)));
    const coll::CommonProblem above = problem_of(Collective::allreduce, 4104);
    EXPECT_FALSE(communicator.knows(above)) << "nobody has planned it";
  });
  // Of a first call, too; of which nothing follows for longer ones.
  group = calling(problem_of(Collective::allreduce, 4096));
  group.request.collectives = {Collective::allreduce, Collective::barrier};
  arm_group(group, with_network(directory), [](transport::Transport&, ArmResult& result) {
    ASSERT_TRUE(result.communicator) << result.reason;
    EXPECT_EQ(result.seconds_measuring, 0);
    EXPECT_TRUE(result.communicator->knows(problem_of(Collective::allreduce, 4096)));
    EXPECT_FALSE(result.communicator->knows(problem_of(Collective::allreduce, 4104)));
  });
}

constexpr std::size_t kSizes[] = {1, 64, 4096};

// body(problem): of every collective, root and size.
void for_every_problem(const std::function<void(const coll::CommonProblem&)>& body) {
  for (const Collective collective : coll::all_collectives()) {
    const int n_roots = coll::is_rooted(collective) ? 4 : 1;
    for (int root = 0; root < n_roots; ++root) {
      for (const std::size_t bytes : kSizes) body(problem_of(collective, bytes, root));
    }
  }
}

// The best by prediction that serves all problems of a row of this entry.
algo::Recipe predicted_best(const plan::Entry& entry, std::size_t up_to_bytes, const net::GroupView& view) {
  std::vector<coll::CommonProblem> problems;
  for_every_problem([&](const coll::CommonProblem& problem) {
    if (problem.collective != entry.collective || problem.bytes > up_to_bytes) return;
    if (view.subnet_of_rank[static_cast<std::size_t>(problem.root)] == entry.root_subnet)
      problems.push_back(problem);
  });
  for (const plan::Candidate& candidate : plan::rank_candidates(problems.back(), view)) {
    const bool fits = std::none_of(problems.begin(), problems.end(), [&](const coll::CommonProblem& problem) {
      return algo::why_not(candidate.recipe, problem, view).has_value();
    });
    if (candidate.why_not.empty() && fits) return candidate.recipe;
  }
  ADD_FAILURE() << "nothing serves " << coll::name(entry.collective);
  return {};
}

// Who wins a trial is the machine's and its other users' business: what ECO lost is given it back for the second job.
TEST(Learning, EveryCollectiveServesRightResults) {
  const Directory directory;
  const Options options = with_network(directory);
  Group group = small_group();
  group.request.collectives.clear();  // all
  run_program(group, options, [](Communicator& communicator, int rank, Program&) {
    for_every_problem([&](const coll::CommonProblem& problem) {
      EXPECT_TRUE(communicator.knows(problem));
      if (communicator.serves(problem) != nullptr) expect_served(communicator, rank, problem);
    });
  });
  const net::GroupView view = plan::view_of(testing::kNetwork);
  change_remembered(directory, [&](plan::PlanTable& table) {
    for (plan::Entry& entry : table.entries) {
      for (plan::Row& row : entry.rows) {
        if (!row.recipe) row.recipe = predicted_best(entry, row.up_to_bytes, view);
      }
    }
  });
  run_program(group, options, [](Communicator& communicator, int rank, Program&) {
    for_every_problem(
        [&](const coll::CommonProblem& problem) { expect_served(communicator, rank, problem); });
  });
}

TEST(Learning, FindsWhatAnotherJobLearned) {
  const Directory directory;
  const Options options = with_network(directory);
  Group group = broadcast_first();
  group.request.collectives.push_back(Collective::gather);
  run_program(group, options, [](Communicator&, int, Program&) {});
  run_program(broadcast_first(), options, [](Communicator& communicator, int rank, Program& program) {
    EXPECT_TRUE(communicator.knows(problem_of(Collective::gather, 64))) << "it stands in the file";
    expect_served(communicator, rank, problem_of(Collective::gather, 64, 3));
    // Meanwhile another job adds scan to the file.
    program.native.barrier();
    if (rank == 0) {
      const std::string path = program.options.cache_dir + "/plans";
      for (const auto& entry : std::filesystem::directory_iterator(path)) {
        plan::PlanTable table = plan::PlanTable::from_json(base::read_text(entry.path()));
        table.entries.push_back({Collective::scan, 0, {{64, std::nullopt, 0, 0, 1e-3, "another job's"}}});
        EXPECT_EQ(base::write_text_atomically(entry.path(), table.to_json()), std::nullopt);
      }
    }
    program.native.barrier();
    const Learned learned = communicator.learn(program.native, program.options, program.identity,
                                               problem_of(Collective::scan, 64));
    EXPECT_EQ(learned.seconds_measuring, 0);
    EXPECT_NE(learned.reason, "") << "native, as the file says";
    EXPECT_TRUE(communicator.knows(problem_of(Collective::scan, 64)));
  });
}

TEST(Learning, TakesNothingAwayFromWhatOthersAdded) {
  const Directory directory;
  run_program(broadcast_first(), with_network(directory),
              [&](Communicator& communicator, int rank, Program& program) {
                if (rank == 0) {  // between arming and learning another job writes
                  plan::PlanTable table = remembered(directory);
                  table.entries.push_back({Collective::scatter, 0, {{64, std::nullopt, 0, 0, 1e-3, "kept"}}});
                  EXPECT_EQ(base::write_text_atomically(plan_path(directory), table.to_json()), std::nullopt);
                }
                program.native.barrier();
                communicator.learn(program.native, program.options, program.identity,
                                   problem_of(Collective::allgather, 64));
              });
  const plan::PlanTable table = remembered(directory);
  ASSERT_TRUE(table.knows(Collective::scatter));
  EXPECT_EQ(table.find_row(Collective::scatter, 0, 64)->reason, "kept");
  EXPECT_TRUE(table.knows(Collective::allgather));
  EXPECT_TRUE(table.knows(Collective::broadcast));
}

TEST(Learning, PlansTheSizeAndTheRootAtHand) {
  const Directory directory;
  Options options = with_network(directory);
  options.budget_s = 5;
  const coll::CommonProblem first = problem_of(Collective::broadcast, 60, 3);
  const coll::CommonProblem larger = problem_of(Collective::broadcast, 1000, 3);
  run_program(calling(first), options, [&](Communicator& communicator, int rank, Program& program) {
    const int root_subnet = communicator.view().subnet_of_rank[3];
    ASSERT_NE(root_subnet, communicator.view().subnet_of_rank[0]);
    EXPECT_TRUE(communicator.knows(first));
    EXPECT_TRUE(communicator.knows(problem_of(Collective::barrier, 0)));
    EXPECT_FALSE(communicator.knows(larger));
    EXPECT_FALSE(communicator.knows(problem_of(Collective::broadcast, 60, 0))) << "another subnet's";
    const auto is_open = [&](std::size_t bytes, int subnet) {
      const plan::Row* const row = communicator.table().find_row(Collective::broadcast, subnet, bytes);
      return row == nullptr || row->open;
    };
    EXPECT_FALSE(is_open(64, root_subnet));
    EXPECT_TRUE(is_open(1024, root_subnet));
    EXPECT_TRUE(is_open(64, communicator.view().subnet_of_rank[0]));
    EXPECT_EQ(communicator.serves(larger), nullptr);
    const Learned learned = communicator.learn(program.native, program.options, program.identity, larger);
    EXPECT_GT(learned.seconds_measuring, 0);
    EXPECT_TRUE(communicator.knows(larger));
    EXPECT_FALSE(is_open(64, root_subnet)) << "kept";
    EXPECT_FALSE(is_open(1024, root_subnet));
    for (const coll::CommonProblem& call : {first, larger}) {
      if (communicator.serves(call) != nullptr) expect_served(communicator, rank, call);
    }
  });
  // A later job finds both, and adds what it calls.
  EXPECT_EQ(remembered(directory).find_row(Collective::broadcast, 0, 64)->open, true);
  std::atomic<double> seconds = 0;
  run_program(calling(larger), options, [&](Communicator& communicator, int, Program&) {
    EXPECT_TRUE(communicator.knows(first)) << "it stands in the file";
  });
  arm_group(calling(larger), options,
            [&](transport::Transport&, ArmResult& armed) { seconds = armed.seconds_measuring; });
  EXPECT_EQ(seconds, 0);
  arm_group(calling(problem_of(Collective::broadcast, 60, 0)), options,
            [&](transport::Transport&, ArmResult& armed) { seconds = armed.seconds_measuring; });
  EXPECT_GT(seconds, 0) << "open until somebody calls it";
}

TEST(Learning, CallsLargerThanAnyThatJobsPlanAreLeftToTheLibrary) {
  const Directory directory;
  const coll::CommonProblem first = problem_of(Collective::broadcast, 60);
  const coll::CommonProblem largest = problem_of(Collective::broadcast, plan::sizes_in_job().back() + 1);
  run_program(calling(first), with_network(directory),
              [&](Communicator& communicator, int, Program& program) {
                EXPECT_FALSE(communicator.knows(largest)) << "a plan may have a row for them";
                const Learned learned =
                    communicator.learn(program.native, program.options, program.identity, largest);
                EXPECT_EQ(learned.seconds_measuring, 0);
                EXPECT_TRUE(communicator.knows(largest));
                EXPECT_FALSE(communicator.is_open(largest));
                EXPECT_EQ(communicator.serves(largest), nullptr);
                EXPECT_TRUE(communicator.knows(first));
              });
}

TEST(Learning, WhatThereWasNoTimeForIsLearnedLater) {
  const Directory directory;
  Options options = with_network(directory);
  options.budget_s = 1e-9;
  const coll::CommonProblem call = problem_of(Collective::broadcast, 64);
  run_program(calling(call), options, [&](Communicator& communicator, int, Program& program) {
    const auto is_open = [&] { return communicator.table().find_row(Collective::broadcast, 0, 64)->open; };
    EXPECT_TRUE(communicator.knows(call));
    EXPECT_TRUE(is_open());
    int asked = 0;
    for (int i = 0; i < 1000; ++i) asked += communicator.may_be_learned_again(call) ? 1 : 0;
    EXPECT_GT(asked, 0);
    EXPECT_LT(asked, 10) << "less and less often";
    const auto learn = [&](double earned_s) {
      return communicator.learn(program.native, program.options, program.identity, call, earned_s);
    };
    program.options.budget_s = options.budget_s;
    learn(0);
    EXPECT_TRUE(is_open()) << "of what the job began with nothing is left";
    EXPECT_GT(learn(30).seconds_measuring, 0) << "what was earned is";
    EXPECT_FALSE(is_open());
    for (int i = 0; i < 10'000; ++i) EXPECT_FALSE(communicator.may_be_learned_again(call));
  });
}

TEST(Learning, KeepsWhatItLearnedWhereNothingCanBeRemembered) {
  const Directory directory;
  Options options = with_network(directory);
  const coll::CommonProblem first = problem_of(Collective::broadcast, 64);
  const coll::CommonProblem larger = problem_of(Collective::broadcast, 1024);
  run_program(calling(first), options, [&](Communicator& communicator, int rank, Program& program) {
    const auto is_open = [&](std::size_t bytes) {
      return communicator.table().find_row(Collective::broadcast, 0, bytes)->open;
    };
    EXPECT_FALSE(is_open(64));
    program.native.barrier();
    if (rank == 0) std::filesystem::remove_all(directory.file("cache"));
    program.native.barrier();
    communicator.learn(program.native, program.options, program.identity, larger);
    EXPECT_FALSE(is_open(64));
    EXPECT_FALSE(is_open(1024));
  });
}

// Seconds that the next job measures.
double measured_then(const Options& options) {
  std::atomic<double> seconds = 0;
  arm_group(broadcast_first(), options, [&](transport::Transport&, ArmResult& armed) {
    EXPECT_TRUE(armed.communicator) << armed.reason;
    seconds = armed.seconds_measuring;
  });
  return seconds;
}

TEST(RememberedPlan, OfAnotherGroupIsMadeAgain) {
  const Directory directory;
  const Options options = with_network(directory);
  const std::function<void(plan::PlanTable&)> changes[] = {
      [](plan::PlanTable& table) { table.network = "another"; },
      [](plan::PlanTable& table) { table.library = "another"; },
      [](plan::PlanTable& table) { std::swap(table.host_of_rank[1], table.host_of_rank[2]); }};
  arm_group(broadcast_first(), options);
  const plan::PlanTable made = remembered(directory);
  for (const auto& change : changes) {
    change_remembered(directory, change);
    EXPECT_GT(measured_then(options), 0);
    EXPECT_EQ(remembered(directory).network, made.network);
    EXPECT_EQ(remembered(directory).library, made.library);
    EXPECT_EQ(remembered(directory).host_of_rank, made.host_of_rank);
  }
  EXPECT_EQ(measured_then(options), 0);
}

TEST(RememberedPlan, IsProvedAgainWhereItWasChanged) {
  const Directory directory;
  const Options options = with_network(directory);
  arm_group(broadcast_first(), options);
  EXPECT_EQ(remembered(directory).proof, proof_of(remembered(directory)));
  change_remembered(directory, [](plan::PlanTable& table) { table.proof = "an older build's"; });
  EXPECT_EQ(measured_then(options), 0) << "its recipes are right";
  EXPECT_EQ(remembered(directory).proof, proof_of(remembered(directory)))
      << "the next job need not prove them";
  change_remembered(directory, [](plan::PlanTable& table) {
    table.entries[0].rows[0].recipe =
        algo::parse_recipe("broadcast/subnets segment=1 between=chain inside=flat order=0,1");
    table.entries[0].rows[0].up_to_bytes = std::size_t{1} << 30;
    table.entries[0].rows.resize(1);
  });
  EXPECT_GT(measured_then(options), 0) << "a row that could not be proved in hours";
  EXPECT_NE(remembered(directory).entries[0].rows[0].up_to_bytes, std::size_t{1} << 30);
}

TEST(Learning, WithoutABudgetACollectiveIsKnownAndNative) {
  const Directory directory;
  run_program(broadcast_first(), with_network(directory),
              [](Communicator& communicator, int rank, Program& program) {
                program.options.measure = MeasurePolicy::never;
                const Learned learned = communicator.learn(program.native, program.options, program.identity,
                                                           problem_of(Collective::gather, 64));
                EXPECT_EQ(learned.seconds_measuring, 0);
                EXPECT_NE(learned.reason, "");
                EXPECT_TRUE(communicator.knows(problem_of(Collective::gather, 64)));
                EXPECT_EQ(communicator.serves(problem_of(Collective::gather, 64)), nullptr);
                expect_served(communicator, rank, problem_of(Collective::broadcast, 64));
              });
  EXPECT_FALSE(remembered(directory).knows(Collective::gather)) << "a later job may measure it";
}

TEST(Learning, APlanByHandOrADisabledCollectiveLeavesNothingToLearn) {
  const Directory directory;
  Options options = with_network(directory);
  options.disable = {"gather"};
  run_program(broadcast_first(), options, [](Communicator& communicator, int, Program&) {
    EXPECT_TRUE(communicator.knows(Collective::gather));
    EXPECT_FALSE(communicator.knows(Collective::scatter));
  });
  options.plan_file = directory.write(
      "plan.json",
      testing::plan_text("broadcast/binomial inside=binomial between=binomial", 0, {0, 1, 2, 3}));
  run_program(broadcast_first(), options, [](Communicator& communicator, int, Program&) {
    for (const Collective collective : coll::all_collectives()) EXPECT_TRUE(communicator.knows(collective));
  });
}

// Breaks on one rank when told to; whoever waits then hears of a lost peer.
TEST(Learning, ATransportThatIsLostServesNothingMore) {
  const Directory directory;
  const Options options = with_network(directory);
  std::atomic<bool> broken = false;
  struct Breaking final : testing::PassingTransport {
    Breaking(transport::Transport& below, std::atomic<bool>& broken)
        : PassingTransport(below), broken_(broken) {}
    transport::Status post_send(int peer, int tag, std::span<const std::byte> bytes, transport::SendMode mode,
                                transport::Ticket ticket) override {
      return broken_ ? transport::Status::failed : below_.post_send(peer, tag, bytes, mode, ticket);
    }
    transport::Status wait_some(std::span<transport::Ticket> done, std::size_t& n) override {
      return broken_ ? transport::Status::lost_peer : below_.wait_some(done, n);
    }
    std::atomic<bool>& broken_;
  };
  const Group group = broadcast_first();
  const net::Network network = net::synthetic_network(group.network);
  transport::Hub hub(network.n_hosts());
  transport::run_ranks(hub, [&](transport::LoopbackTransport& below, transport::LoopbackNative& loopback) {
    const auto rank = static_cast<std::size_t>(below.rank());
    Breaking transport(below, broken);
    testing::PacedNative native(loopback, group.native_delay_s);
    const Identity identity{network.hosts[rank], "1.0"};
    const ArmResult armed = Communicator::arm(transport, native, options, identity, group.request);
    ASSERT_TRUE(armed.communicator) << armed.reason;
    EXPECT_NE(armed.communicator->serves(problem_of(Collective::broadcast, 64)), nullptr);
    native.barrier();
    broken = true;
    const Learned learned =
        armed.communicator->learn(native, options, identity, problem_of(Collective::allreduce, 64));
    EXPECT_NE(learned.reason.find("making a plan: a trial of "), std::string::npos) << learned.reason;
    EXPECT_EQ(armed.communicator->serves(problem_of(Collective::broadcast, 64)), nullptr);
  });
}

}  // namespace
}  // namespace eco::runtime
