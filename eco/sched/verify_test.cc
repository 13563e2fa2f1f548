// A verifier is worth what it catches: schedules broken on purpose, one way each.
#include "eco/sched/verify.h"

#include <gtest/gtest.h>

#include "eco/sched/testing.h"

namespace eco::sched {
namespace {

using coll::Collective;
using coll::CommonProblem;
using testing::expect_fault;
using testing::in;
using testing::out;
using testing::scratch;

const CommonProblem kBroadcast{.collective = Collective::broadcast, .n_ranks = 2, .bytes = 16};
const CommonProblem kAllreduce{
    .collective = Collective::allreduce, .n_ranks = 2, .bytes = 16, .element_bytes = 8};

std::vector<Schedule> two_ranks(const Body& zero, const Body& one, std::size_t scratch_bytes = 0,
                                int channels = 1) {
  std::vector<Schedule> schedules{Schedule(0, 2), Schedule(1, 2)};
  schedules[0].once(zero);
  schedules[1].once(one);
  for (auto& s : schedules) s.scratch_bytes = scratch_bytes, s.n_channels = channels;
  return schedules;
}

// Both send their input and combine what arrives, lower rank on the left: all ranks get 0 op 1.
std::vector<Schedule> exchange(bool same_expression = true) {
  return two_ranks(
      [=](std::size_t, Emitter& e) {
        e.send(1, in(0, 16));
        e.recv(1, out(0, 16));
        e.reduce(in(0, 16), out(0, 16));
      },
      [=](std::size_t, Emitter& e) {
        e.send(0, in(0, 16));
        if (same_expression) {
          e.copy(in(0, 16), out(0, 16));
          e.recv(0, scratch(0, 16));
          e.reduce(scratch(0, 16), out(0, 16));
        } else {
          e.recv(0, out(0, 16));
          e.reduce(in(0, 16), out(0, 16));
        }
      },
      16);
}

// Else their next calls begin with other tags.
TEST(Verify, RanksCountTheirChannelsAlike) {
  std::vector<Schedule> schedules = exchange();
  schedules[1].n_channels = 2;
  expect_fault(kAllreduce, schedules, "rank 1 has 2 channels, rank 0 has 1");
}

TEST(Verify, RanksNameTheSameRails) {
  std::vector<Schedule> schedules = exchange();
  schedules[1].rails = {1};
  expect_fault(kAllreduce, schedules, "rank 1 has other rails");
  schedules[0].rails = schedules[1].rails = {1, 0};
  expect_fault(kAllreduce, schedules, "or more than channels");
}

// Tokens may come twice and in any order, but everybody's has to come.
TEST(Verify, ABarriersTokensAreSets) {
  const CommonProblem barrier{.collective = Collective::barrier, .n_ranks = 2};
  const auto tell = [](int other, bool twice, bool at_all) -> Body {
    return [=](std::size_t, Emitter& e) {
      e.send(other, in(0, 1));
      e.recv(other, out(0, 1));
      if (at_all) e.reduce(in(0, 1), out(0, 1));
      if (twice) e.reduce(in(0, 1), out(0, 1));
    };
  };
  EXPECT_FALSE(verify(barrier, two_ranks(tell(1, true, true), tell(0, false, true))));
  expect_fault(barrier, two_ranks(tell(1, false, true), tell(0, false, false)), "lacks a contribution");
}

TEST(Verify, AcceptsWhatIsRight) {
  EXPECT_FALSE(verify(kBroadcast, two_ranks([](std::size_t, Emitter& e) { e.send(1, out(0, 16)); },
                                            [](std::size_t, Emitter& e) { e.recv(0, out(0, 16)); })));
  EXPECT_FALSE(verify(kAllreduce, exchange()));
  CommonProblem ordered = kAllreduce;
  ordered.commutative = false;
  EXPECT_FALSE(verify(ordered, exchange()));
}

CommonProblem of(Collective collective) {
  return {.collective = collective, .n_ranks = 2, .bytes = 16, .element_bytes = 8};
}

Body nothing() {
  return [](std::size_t, Emitter&) {};
}

// Blocks of 8 bytes, two ranks: right, and with one block in the wrong place.
TEST(Verify, KnowsWhereBlocksBelong) {
  const auto scattered = [](std::size_t given, std::size_t kept) {
    return two_ranks(
        [=](std::size_t, Emitter& e) {
          e.send(1, in(given, 8));
          e.copy(in(kept, 8), out(0, 8));
        },
        [](std::size_t, Emitter& e) { e.recv(0, out(0, 8)); });
  };
  EXPECT_FALSE(verify(of(Collective::scatter), scattered(8, 0)));
  expect_fault(of(Collective::scatter), scattered(0, 8), "holds another element");

  const auto gathered = [](std::size_t theirs) {
    return two_ranks(
        [=](std::size_t, Emitter& e) {
          e.copy(in(0, 8), out(8 - theirs, 8));
          e.recv(1, out(theirs, 8));
        },
        [](std::size_t, Emitter& e) { e.send(0, in(0, 8)); });
  };
  EXPECT_FALSE(verify(of(Collective::gather), gathered(8)));
  expect_fault(of(Collective::gather), gathered(0), "is not rank 0's");
  expect_fault(of(Collective::allgather), gathered(8), "was never set");

  const auto exchanged = [](std::size_t given) {
    const auto body = [given](std::size_t mine) {
      return [=](std::size_t, Emitter& e) {
        const int other = mine == 0 ? 1 : 0;
        e.recv(other, out(8 - mine, 8));
        e.send(other, in(given == 0 ? mine : 8 - mine, 8));
        e.copy(in(mine, 8), out(mine, 8));
      };
    };
    return two_ranks(body(0), body(8));
  };
  EXPECT_FALSE(verify(of(Collective::alltoall), exchanged(1)));
  expect_fault(of(Collective::alltoall), exchanged(0), "holds another element");
}

TEST(Verify, KnowsWhoseContributionsAResultHas) {
  const auto prefixes = [](bool with_own, bool at_both) {
    return two_ranks(
        [=](std::size_t, Emitter& e) {
          if (at_both) e.recv(1, scratch(0, 16));
          e.send(1, in(0, 16));
          e.copy(in(0, 16), out(0, 16));
          if (at_both) e.reduce(scratch(0, 16), out(0, 16));
        },
        [=](std::size_t, Emitter& e) {
          if (at_both) e.send(0, in(0, 16));
          e.recv(0, out(0, 16));
          if (with_own) e.reduce(in(0, 16), out(0, 16));
        },
        16);
  };
  EXPECT_FALSE(verify(of(Collective::scan), prefixes(true, false)));
  expect_fault(of(Collective::scan), prefixes(false, false), "has to combine ranks 0 to 1");
  expect_fault(of(Collective::scan), prefixes(true, true), "is not rank 0's");
  const auto shifted = [](bool with_own) {
    return two_ranks([](std::size_t, Emitter& e) { e.send(1, in(0, 16)); },
                     [=](std::size_t, Emitter& e) {
                       e.recv(0, out(0, 16));
                       if (with_own) e.reduce(in(0, 16), out(0, 16));
                     });
  };
  EXPECT_FALSE(verify(of(Collective::exscan), shifted(false)));
  expect_fault(of(Collective::exscan), shifted(true), "is not rank 0's");
  expect_fault(of(Collective::reduce), two_ranks(nothing(), nothing()), "was never set");
}

TEST(Verify, CatchesALostMessage) {
  expect_fault(
      kBroadcast,
      two_ranks([](std::size_t, Emitter&) {}, [](std::size_t, Emitter& e) { e.recv(0, out(0, 16)); }),
      "stands still");
}

TEST(Verify, CatchesAMessageNobodyReceives) {
  expect_fault(kBroadcast,
               two_ranks([](std::size_t, Emitter& e) { e.send(1, out(0, 16)), e.send(1, out(0, 16)); },
                         [](std::size_t, Emitter& e) { e.recv(0, out(0, 16)); }),
               "");
}

TEST(Verify, CatchesACycle) {
  // Each waits for the other's message before it sends its own.
  const auto forward = [](int peer) {
    return [peer](std::size_t, Emitter& e) {
      e.recv(peer, out(0, 16));
      e.send(peer, out(0, 16));
    };
  };
  expect_fault(kBroadcast, two_ranks(forward(1), forward(0)), "stands still");
}

TEST(Verify, CatchesADeadlockOfSynchronousSendsOnly) {
  // Sends first, and each receive overwrites what is being sent: works with buffered sends, hangs with
  // synchronous.
  const auto both = [](int peer) {
    return [peer](std::size_t, Emitter& e) {
      e.copy(in(0, 16), out(0, 16));
      e.send(peer, out(0, 16));
      e.recv(peer, out(0, 16));
    };
  };
  expect_fault(kAllreduce, two_ranks(both(1), both(0)), "synchronous sends: rank 0: stands still");
}

TEST(Verify, CatchesWrongSizes) {
  expect_fault(kBroadcast,
               two_ranks([](std::size_t, Emitter& e) { e.send(1, out(0, 8)); },
                         [](std::size_t, Emitter& e) { e.recv(0, out(0, 16)); }),
               "receives 16 bytes where rank 0 sends 8");
}

TEST(Verify, CatchesCrossedChannelOrder) {
  // Sizes are equal, so bytes would go wrong silently.
  expect_fault(kBroadcast,
               two_ranks([](std::size_t, Emitter& e) { e.send(1, out(0, 8)), e.send(1, out(8, 8)); },
                         [](std::size_t, Emitter& e) { e.recv(0, out(8, 8)), e.recv(0, out(0, 8)); }),
               "holds another element");
}

TEST(Verify, CatchesAnOverwrittenBuffer) {
  // Rank 1 receives the second half over the first: the result is not the root's message.
  expect_fault(kBroadcast,
               two_ranks([](std::size_t, Emitter& e) { e.send(1, out(0, 8)), e.send(1, out(8, 8)); },
                         [](std::size_t, Emitter& e) { e.recv(0, out(0, 8)), e.recv(0, out(0, 8)); }),
               "result byte 0 holds another element");
}

TEST(Verify, CatchesADoubleContribution) {
  expect_fault(kAllreduce,
               two_ranks(
                   [](std::size_t, Emitter& e) {
                     e.copy(in(0, 16), out(0, 16));
                     e.reduce(in(0, 16), out(0, 16));
                   },
                   [](std::size_t, Emitter&) {}),
               "takes a contribution twice");
}

TEST(Verify, CatchesAMissingContribution) {
  expect_fault(kAllreduce,
               two_ranks([](std::size_t, Emitter& e) { e.copy(in(0, 16), out(0, 16)); },
                         [](std::size_t, Emitter& e) { e.copy(in(0, 16), out(0, 16)); }),
               "lacks a contribution");
}

TEST(Verify, CatchesRanksWithDifferentExpressions) {
  // Rank 0 computes 0 op 1, rank 1 computes 1 op 0: equal values, but not the same last bits for every
  // operation.
  expect_fault(kAllreduce, exchange(false), "another expression");
}

TEST(Verify, CatchesTheWrongOrder) {
  CommonProblem ordered = kAllreduce;
  ordered.commutative = false;
  const auto schedules = two_ranks(
      [](std::size_t, Emitter& e) {
        e.recv(1, scratch(0, 16));
        e.copy(in(0, 16), out(0, 16));
        e.reduce(scratch(0, 16), out(0, 16));  // 1 op 0
        e.send(1, out(0, 16), 1);
      },
      [](std::size_t, Emitter& e) {
        e.send(0, in(0, 16));
        e.recv(0, out(0, 16), 1);
      },
      16, 2);
  EXPECT_FALSE(verify(kAllreduce, schedules));
  expect_fault(ordered, schedules, "not combined in rank order");
}

TEST(Verify, CatchesReadingWhatWasNeverSet) {
  expect_fault(kBroadcast,
               two_ranks([](std::size_t, Emitter& e) { e.recv(1, out(0, 16)); },
                         [](std::size_t, Emitter& e) { e.send(0, out(0, 16)); }),
               "never set");
}

TEST(Verify, CatchesRegionsOutsideTheirBuffer) {
  expect_fault(kBroadcast,
               two_ranks([](std::size_t, Emitter& e) { e.send(1, out(0, 32)); },
                         [](std::size_t, Emitter& e) { e.recv(0, out(0, 32)); }),
               "outside its buffer");
}

TEST(Verify, CatchesCutElements) {
  expect_fault(kAllreduce,
               two_ranks([](std::size_t, Emitter& e) { e.send(1, in(0, 4)); }, [](std::size_t, Emitter&) {}),
               "inside an element");
}

TEST(Verify, CatchesWritingToTheInput) {
  expect_fault(kAllreduce,
               two_ranks([](std::size_t, Emitter& e) { e.recv(1, in(0, 16)); },
                         [](std::size_t, Emitter& e) { e.send(0, in(0, 16)); }),
               "writes to the input");
}

TEST(Verify, CatchesAMissingRank) { EXPECT_TRUE(verify(kBroadcast, {Schedule(0, 2)})); }

}  // namespace
}  // namespace eco::sched
