#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "eco/algo/algorithm.h"
#include "eco/base/errors.h"
#include "eco/net/synthetic.h"
#include "eco/runtime/trials.h"
#include "eco/transport/loopback/loopback.h"

namespace eco::runtime {
namespace {

using coll::Collective;
using coll::CommonProblem;
using exec::TracedOp;
using sched::Op;
using sched::OpKind;
using sched::Region;

constexpr const char* kNetwork = "hosts=3+2 rate_mbit=200 uplink_mbit=40";

net::GroupView five_ranks() {
  return net::make_view(std::make_shared<net::Network>(net::synthetic_network(kNetwork)), {0, 3, 1, 4, 2});
}

// Of every rank; the threads of one process read one clock.
std::vector<Traced> trace(const net::GroupView& view, const CommonProblem& problem,
                          const std::string& recipe) {
  transport::Hub hub(view.n_ranks(), {.seed = 7});
  std::vector<Traced> of_rank(static_cast<std::size_t>(view.n_ranks()));
  transport::run_ranks(hub, [&](transport::LoopbackTransport& transport, transport::LoopbackNative& native) {
    Trials trials(transport, native, view, CommonStart(native, true, CommonStart::kQuick_ns));
    of_rank[static_cast<std::size_t>(transport.rank())] =
        trials.trace(problem, algo::parse_recipe(recipe), 3);
  });
  return of_rank;
}

std::vector<Op> operations(const sched::Schedule& schedule) {
  std::vector<Op> ops;
  sched::Cursor cursor(schedule);
  while (const Op* op = cursor.next()) ops.push_back(*op);
  return ops;
}

bool overlap(const Region& a, const Region& b) {
  return a.bytes > 0 && b.bytes > 0 && a.buffer == b.buffer && a.offset < b.offset + b.bytes &&
         b.offset < a.offset + a.bytes;
}

bool conflict(const Op& a, const Op& b) {
  return overlap(a.target, b.target) || overlap(a.target, b.source) || overlap(a.source, b.target);
}

// What a rank did is its schedule, each operation once, in an order that its memory allows.
void expect_ordered(const std::vector<Op>& ops, const Traced& traced) {
  const std::vector<TracedOp>& did = traced.trace.ops();
  ASSERT_EQ(did.size(), ops.size());
  for (std::size_t i = 0; i < ops.size(); ++i) {
    EXPECT_EQ(did[i].kind, ops[i].kind) << i;
    EXPECT_EQ(did[i].peer, ops[i].peer) << i;
    EXPECT_EQ(did[i].channel, ops[i].channel) << i;
    EXPECT_LE(traced.began_ns, did[i].start_ns) << i;
    EXPECT_LE(did[i].start_ns, did[i].end_ns) << i;
    EXPECT_LE(static_cast<double>(did[i].end_ns - traced.began_ns) * 1e-9, traced.median_s) << i;
    for (std::size_t earlier = 0; earlier < i; ++earlier) {
      if (conflict(ops[earlier], ops[i])) {
        EXPECT_LE(did[earlier].end_ns, did[i].start_ns) << i << " depends on " << earlier;
      }
    }
  }
}

// No message arrives before it was sent.
void expect_causal(const std::vector<Traced>& of_rank) {
  std::map<std::tuple<int, int, int>, std::vector<TracedOp>> sent;  // from, to, channel
  std::map<std::tuple<int, int, int>, std::vector<TracedOp>> received;
  for (int rank = 0; rank < static_cast<int>(of_rank.size()); ++rank) {
    for (const TracedOp& op : of_rank[static_cast<std::size_t>(rank)].trace.ops()) {
      if (op.kind == OpKind::send) sent[{rank, op.peer, op.channel}].push_back(op);
      if (op.kind == OpKind::recv) received[{op.peer, rank, op.channel}].push_back(op);
    }
  }
  ASSERT_EQ(sent.size(), received.size());
  ASSERT_FALSE(sent.empty());
  for (const auto& [channel, messages] : sent) {
    const auto& arrived = received[channel];
    ASSERT_EQ(messages.size(), arrived.size());
    for (std::size_t i = 0; i < messages.size(); ++i) {
      EXPECT_EQ(messages[i].bytes, arrived[i].bytes);
      EXPECT_LE(messages[i].start_ns, arrived[i].end_ns);
    }
  }
}

TEST(Trace, HoldsEveryOperationInAnOrderThatItsDependenciesAllow) {
  struct Case {
    Collective collective;
    const char* recipe;
  };
  const net::GroupView view = five_ranks();
  for (const auto& [collective, recipe] :
       {Case{Collective::broadcast, "broadcast/subnets segment=1000"},
        Case{Collective::broadcast, "broadcast/chain segment=500 window=2"},
        Case{Collective::allreduce, "allreduce/ring segment=512"},
        Case{Collective::alltoall, "alltoall/doubling"}, Case{Collective::barrier, "barrier/binomial"}}) {
    SCOPED_TRACE(recipe);
    CommonProblem problem{.collective = collective, .n_ranks = view.n_ranks()};
    if (collective == Collective::allreduce) problem.element_bytes = 8;
    if (collective != Collective::barrier) problem.bytes = coll::whole_bytes(problem, 10'000);
    const auto schedules = algo::build_all(algo::parse_recipe(recipe), problem, view);
    const std::vector<Traced> of_rank = trace(view, problem, recipe);
    for (std::size_t rank = 0; rank < of_rank.size(); ++rank) {
      SCOPED_TRACE("rank " + std::to_string(rank));
      expect_ordered(operations(schedules[rank]), of_rank[rank]);
      EXPECT_EQ(of_rank[rank].seconds, of_rank[0].seconds);
      EXPECT_EQ(of_rank[rank].median_s, of_rank[0].median_s);
      EXPECT_EQ(of_rank[rank].began_ns, of_rank[0].began_ns) << "the same run, on one clock";
      EXPECT_GE(of_rank[rank].trace.waited_ns(), 0);
    }
    std::vector<double> sorted = of_rank[0].seconds;
    ASSERT_FALSE(sorted.empty());
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(of_rank[0].median_s, sorted[sorted.size() / 2]);
    expect_causal(of_rank);
  }
}

TEST(Trace, RefusesWhatDoesNotFitOnAllRanks) {
  const net::GroupView view = five_ranks();
  CommonProblem problem{.collective = Collective::broadcast, .n_ranks = view.n_ranks()};
  problem.bytes = 100'000;
  EXPECT_THROW(trace(view, problem, "allreduce/ring segment=512"), InvalidArgument);
  EXPECT_THROW(trace(view, problem, "broadcast/chain segment=1"), InvalidArgument) << "too much to trace";
}

}  // namespace
}  // namespace eco::runtime
