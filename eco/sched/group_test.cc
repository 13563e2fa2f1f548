// Collectives of groups as operations: what is right, and each way to be wrong.
#include <gtest/gtest.h>

#include "eco/base/errors.h"
#include "eco/sched/testing.h"
#include "eco/sched/text.h"
#include "eco/sched/traffic.h"
#include "eco/sched/window.h"

namespace eco::sched {
namespace {

using coll::Collective;
using coll::CommonProblem;
using testing::expect_fault;
using testing::expect_right;
using testing::in;
using testing::out;
using testing::scratch;

const CommonProblem kOfThree{.collective = Collective::broadcast, .n_ranks = 3, .bytes = 16};
const CommonProblem kReduce{.collective = Collective::reduce, .n_ranks = 3, .bytes = 16, .element_bytes = 8};

std::vector<Schedule> in_groups(const std::vector<Body>& bodies, const std::vector<coll::RankGroup>& groups) {
  std::vector<Schedule> schedules;
  for (std::size_t rank = 0; rank < bodies.size(); ++rank) {
    schedules.emplace_back(static_cast<int>(rank), static_cast<int>(bodies.size()));
    schedules.back().once(bodies[rank]);
    schedules.back().groups = groups;
    schedules.back().scratch_bytes = 64;
  }
  return schedules;
}

// One half of a broadcast's message after the other; at the root and elsewhere.
Body halves(bool is_root, std::vector<std::size_t> offsets = {0, 8}, int root = 0, std::size_t bytes = 8) {
  return [=](std::size_t, Emitter& e) {
    for (const std::size_t offset : offsets)
      is_root ? e.group(0, Collective::broadcast, root, out(offset, bytes), {})
              : e.group(0, Collective::broadcast, root, {}, out(offset, bytes));
  };
}

const std::vector<coll::RankGroup> kAll = {{0, 1, 2}};

TEST(Group, BroadcastsAndReduces) {
  expect_right(kOfThree, in_groups({halves(true), halves(false), halves(false)}, kAll));
  const auto contribute = [](std::size_t, Emitter& e) { e.group(0, Collective::reduce, 0, in(0, 16), {}); };
  const auto collect = [](std::size_t, Emitter& e) {
    e.group(0, Collective::reduce, 0, in(0, 16), out(0, 16));
  };
  CommonProblem problem = kReduce;
  expect_right(problem, in_groups({collect, contribute, contribute}, kAll));
  problem.commutative = false;
  expect_right(problem, in_groups({collect, contribute, contribute}, kAll));
}

// Two groups share rank 1, which comes to them in either order.
TEST(Group, GroupsMayOverlap) {
  const CommonProblem gather{.collective = Collective::gather, .n_ranks = 3, .root = 1, .bytes = 24};
  for (const bool first_then_second : {true, false}) {
    const auto schedules =
        in_groups({[](std::size_t, Emitter& e) { e.group(0, Collective::gather, 1, in(0, 8), {}); },
                   [=](std::size_t, Emitter& e) {
                     if (first_then_second) e.group(0, Collective::gather, 1, in(0, 8), scratch(0, 16));
                     e.group(1, Collective::gather, 0, in(0, 8), scratch(16, 16));
                     if (!first_then_second) e.group(0, Collective::gather, 1, in(0, 8), scratch(0, 16));
                     e.copy(scratch(0, 16), out(0, 16));
                     e.copy(scratch(24, 8), out(16, 8));
                   },
                   [](std::size_t, Emitter& e) { e.group(1, Collective::gather, 0, in(0, 8), {}); }},
                  {{0, 1}, {1, 2}});
    expect_right(gather, schedules);
  }
}

TEST(Group, CatchesAnotherOrder) {
  // Sizes and roots are equal: only the result tells.
  expect_fault(kOfThree, in_groups({halves(true), halves(false), halves(false, {8, 0})}, kAll),
               "holds another element");
  // Members that do different things first.
  const auto two = [](bool broadcast_first) {
    return [=](std::size_t, Emitter& e) {
      if (broadcast_first) e.group(0, Collective::broadcast, 0, {}, out(0, 16));
      e.group(0, Collective::gather, 0, scratch(0, 8), {});
      if (!broadcast_first) e.group(0, Collective::broadcast, 0, {}, out(0, 16));
    };
  };
  std::vector<Schedule> schedules = in_groups({[](std::size_t, Emitter& e) {
                                                 e.group(0, Collective::broadcast, 0, out(0, 16), {});
                                                 e.group(0, Collective::gather, 0, out(0, 8), scratch(0, 24));
                                               },
                                               two(true), two(false)},
                                              kAll);
  for (std::size_t rank : {1, 2}) {
    Schedule fresh(static_cast<int>(rank), 3);
    fresh.groups = kAll;
    fresh.scratch_bytes = 64;
    // Something to gather, so that nothing unset is read.
    fresh.once([](std::size_t, Emitter& e) { e.recv(0, scratch(0, 8)); });
    fresh.once(two(rank == 1));
    schedules[rank] = fresh;
  }
  schedules[0].once([](std::size_t, Emitter& e) { e.send(1, out(0, 8)), e.send(2, out(0, 8)); });
  expect_fault(kOfThree, schedules, "where another member means");
}

TEST(Group, CatchesAnotherRoot) {
  expect_fault(kOfThree, in_groups({halves(true), halves(false), halves(false, {0, 8}, 1)}, kAll),
               "where another member means a broadcast of 8 bytes, root 0");
  expect_fault(kOfThree, in_groups({halves(true, {0, 8}, 3), halves(false), halves(false)}, kAll),
               "no member");
}

TEST(Group, CatchesAnotherSize) {
  expect_fault(kOfThree, in_groups({halves(true), halves(false), halves(false, {0}, 0, 16)}, kAll),
               "means a broadcast of 16 bytes");
  const auto scattered = [](std::size_t, Emitter& e) { e.group(0, Collective::scatter, 0, {}, out(0, 8)); };
  const CommonProblem scatter{.collective = Collective::scatter, .n_ranks = 3, .bytes = 24};
  expect_fault(
      scatter,
      in_groups({[](std::size_t, Emitter& e) { e.group(0, Collective::scatter, 0, in(0, 16), out(0, 8)); },
                 scattered, scattered},
                kAll),
      "sizes differ");
}

TEST(Group, CatchesAMissingMember) {
  expect_fault(kOfThree, in_groups({halves(true), halves(false), halves(false, {0})}, kAll),
               "operation 1 of group 0 awaits rank 2");
  expect_fault(kOfThree, in_groups({halves(true), halves(false), halves(false)}, {{0, 1}}),
               "is no member of that group");
}

TEST(Group, CatchesListsThatAreNoGroups) {
  std::vector<Schedule> schedules = in_groups({halves(true), halves(false), halves(false)}, kAll);
  schedules[2].groups = {{0, 2, 1}};
  expect_fault(kOfThree, schedules, "lists other groups");
  for (const std::vector<int>& group : {std::vector{0, 1, 1}, {0, 1, 3}, {-1, 0}, {0}, {}})
    expect_fault(kOfThree, in_groups({halves(true), halves(false), halves(false)}, {group}),
                 "two or more different");
  expect_fault(kOfThree, in_groups({halves(true), halves(false), halves(false)}, {{0, 1, 2}, {0, 1, 2}}),
               "listed twice");
}

TEST(Group, CatchesTheWrongOrderOfOperands) {
  CommonProblem problem = kReduce;
  const std::vector<coll::RankGroup> backwards = {{2, 1, 0}};
  const auto contribute = [](std::size_t, Emitter& e) { e.group(0, Collective::reduce, 2, in(0, 16), {}); };
  const auto schedules =
      in_groups({[](std::size_t, Emitter& e) { e.group(0, Collective::reduce, 2, in(0, 16), out(0, 16)); },
                 contribute, contribute},
                backwards);
  expect_right(problem, schedules);
  problem.commutative = false;
  expect_fault(problem, schedules, "not combined in rank order");
}

TEST(Group, CatchesADoubleContribution) {
  const auto contribute = [](std::size_t, Emitter& e) {
    for (int turn = 0; turn < 2; ++turn) e.group(0, Collective::reduce, 0, in(0, 16), {});
  };
  expect_fault(kReduce,
               in_groups({[](std::size_t, Emitter& e) {
                            e.group(0, Collective::reduce, 0, in(0, 16), scratch(0, 16));
                            e.group(0, Collective::reduce, 0, scratch(0, 16), out(0, 16));
                          },
                          contribute, contribute},
                         kAll),
               "takes a contribution twice");
}

TEST(Group, CatchesResultsWhereContributionsLie) {
  const CommonProblem allreduce{
      .collective = Collective::allreduce, .n_ranks = 3, .bytes = 16, .element_bytes = 8};
  const auto in_place = [](std::size_t, Emitter& e) {
    e.copy(in(0, 16), out(0, 16));
    e.group(0, Collective::allreduce, 0, out(0, 16), out(0, 16));
  };
  expect_fault(allreduce, in_groups({in_place, in_place, in_place}, kAll),
               "writes what a message under way uses");
  const auto apart = [](std::size_t, Emitter& e) {
    e.group(0, Collective::allreduce, 0, in(0, 16), out(0, 16));
  };
  expect_right(allreduce, in_groups({apart, apart, apart}, kAll));
  EXPECT_TRUE(verify(allreduce, in_groups({apart, apart, apart}, kAll), {.input_is_output = true}));
}

// Each waits in one group for the other, who waits in another.
TEST(Group, CatchesACycle) {
  const auto body = [](int first) {
    return [=](std::size_t, Emitter& e) {
      e.group(first, Collective::allgather, 0, in(0, 8), scratch(0, 16));
      e.group(1 - first, Collective::allgather, 0, scratch(0, 8), scratch(16, 16));
      e.copy(scratch(16, 16), out(0, 16));
    };
  };
  const CommonProblem allgather{.collective = Collective::allgather, .n_ranks = 2, .bytes = 16};
  expect_fault(allgather, in_groups({body(0), body(1)}, {{0, 1}, {1, 0}}), "awaits rank");
}

TEST(Group, RefusesWhatNoGroupDoes) {
  const CommonProblem exscan{.collective = Collective::exscan, .n_ranks = 3, .bytes = 16, .element_bytes = 8};
  const auto body = [](std::size_t, Emitter& e) {
    e.group(0, Collective::exscan, 0, in(0, 16), scratch(0, 16));
  };
  expect_fault(exscan, in_groups({body, body, body}, kAll), "nothing that a group can do");
}

TEST(Group, OperationsOfOneGroupStartInOrderAndAFewAtATime) {
  Schedule schedule(1, 3);
  schedule.groups = {{0, 1}, {1, 2}};
  schedule.repeat(20, [](std::size_t j, Emitter& e) {
    e.group(0, Collective::broadcast, 0, {}, out(j, 1));
    e.group(1, Collective::broadcast, 0, out(j, 1), {});
  });
  Window window(schedule, 512, false);
  std::vector<OpId> started;
  while (const auto id = window.take_ready(OpKind::group)) {
    window.posted(*id);
    started.push_back(*id);
  }
  ASSERT_EQ(started.size(), 8U) << "those of the second group wait for what the first brings";
  for (std::size_t i = 0; i < started.size(); ++i) {
    EXPECT_EQ(window.op(started[i]).channel, 0);
    EXPECT_EQ(window.op(started[i]).target.offset, i);
  }
  // The second result is there first: its forwarding waits for that of the first.
  window.complete(started[1]);
  const auto next = window.take_ready(OpKind::group);
  ASSERT_TRUE(next);
  EXPECT_EQ(window.op(*next).target.offset, 8U);
  window.posted(*next);
  EXPECT_FALSE(window.take_ready(OpKind::group));
  window.complete(started[0]);
  const auto forwarded = window.take_ready(OpKind::group);
  ASSERT_TRUE(forwarded);
  EXPECT_EQ(window.op(*forwarded).channel, 1);
  EXPECT_EQ(window.op(*forwarded).source.offset, 0U);
}

TEST(Group, IsDrawnAndWritten) {
  std::vector<Schedule> schedules = in_groups({halves(true, {0}, 0, 16), halves(false, {0}, 0, 16),
                                               [](std::size_t, Emitter& e) { e.recv(1, out(0, 16)); }},
                                              {{0, 1}});
  schedules[1].once([](std::size_t, Emitter& e) { e.send(2, out(0, 16)); });
  expect_right(kOfThree, schedules);
  EXPECT_EQ(
      to_text(schedules[0]),
      "rank 0 of 3, scratch 64, channels 1\n  group 0: 0 1\n  group  0 broadcast root 0 output[0+16]\n");
  EXPECT_EQ(to_text(schedules[1]),
            "rank 1 of 3, scratch 64, channels 1\n  group 0: 0 1\n"
            "  group  0 broadcast root 0 -> output[0+16]\n"
            "  send   output[0+16]             -> 2\n");
  const Traffic traffic = count_traffic(schedules);
  EXPECT_EQ(traffic.rounds, 2);
  EXPECT_EQ(traffic.chain, 2);
  EXPECT_EQ(traffic.messages.size(), 1U);
  EXPECT_EQ(draw(traffic, {{0, 1}, {2}}),
            "round    0    1  |    2\n"
            "    1   =0   =0  |    .\n"
            "    2    .   >2  |   <1\n");
}

}  // namespace
}  // namespace eco::sched
