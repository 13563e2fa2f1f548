// Schedules over three rails of unequal shares, executed over the transports that have several: results, and what each
// rail carries.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "eco/algo/testing.h"
#include "eco/transport/tcp/testing.h"
#include "eco/transport/ucx/testing.h"

namespace eco::transport {
namespace {

constexpr int kHosts = 5;
constexpr int kThreeRails = 3;
using OverRails = std::function<void(const std::function<void(RailTransport&)>&)>;

// What a rank sends over one rail to another, and what it gets, takes a connection each (docs/adr/0018).
std::size_t n_ways(const sched::Schedule& schedule) {
  std::set<std::tuple<sched::OpKind, int, int>> ways;
  sched::Cursor cursor(schedule);
  while (const sched::Op* op = cursor.next()) {
    if (op->kind != sched::OpKind::send && op->kind != sched::OpKind::recv) continue;
    ways.emplace(op->kind, op->peer, schedule.rails[static_cast<std::size_t>(op->channel)]);
  }
  return ways.size();
}

// Until all ranks are here; others may still want something of this one.
void hold(std::atomic<int>& n_here, RailTransport& transport) {
  const int until = (n_here.fetch_add(1) / kHosts + 1) * kHosts;
  while (n_here < until) {
    transport.look();
    std::this_thread::yield();
  }
}

void execute_all(const OverRails& run) {
  const net::GroupView view =
      algo::dealt_view("hosts=" + std::to_string(kHosts) + " rate_mbit=24 rail_mbit=16+8", kHosts);
  for (const char* text : {"broadcast/striped segment=4272 shares=3,2,1 parts=broadcast/two_tree",
                           "reduce/striped segment=4272 shares=3,2,1 parts=reduce/chain",
                           "allreduce/striped segment=4272 window=2 shares=3,2,1 parts=allreduce/ring",
                           "allgather/striped segment=4272 shares=1,5,2 parts=allgather/chain",
                           "alltoall/striped shares=3,2,1 parts=alltoall/pairwise",
                           "allreduce/striped shares=3,0,1 parts=allreduce/ring"}) {
    SCOPED_TRACE(text);
    const algo::Recipe recipe = algo::parse_recipe(text);
    coll::CommonProblem problem{
        .collective = algo::find(recipe.algorithm)->collective, .n_ranks = kHosts, .element_bytes = 8};
    problem.bytes = coll::whole_bytes(problem, kHosts * 8 * 20'001);
    ASSERT_EQ(algo::why_not(recipe, problem, view), std::nullopt);
    const auto schedules = algo::build_all(recipe, problem, view);
    const algo::testing::Operation operation = algo::testing::operation_for(problem);
    std::atomic<int> n_here = 0;
    run([&](RailTransport& transport) {
      const int rank = transport.rank();
      const sched::Schedule& schedule = schedules[static_cast<std::size_t>(rank)];
      exec::Executor executor(transport);
      for (int call = 0; call < 3; ++call) {
        const std::vector<std::byte> in = algo::testing::input_of(problem, rank, operation);
        std::vector<std::byte> out(coll::output_bytes(problem, rank), algo::testing::kUntouched);
        if (problem.collective == coll::Collective::broadcast) std::copy(in.begin(), in.end(), out.begin());
        EXPECT_EQ(
            executor.run(schedule, {.input = in, .output = out, .combine = operation.combine}, call * 16),
            Status::ok);
        EXPECT_EQ(out, algo::testing::expected(problem, rank, operation)) << "rank " << rank;
      }
      hold(n_here, transport);
      if (const auto* over_tcp = dynamic_cast<tcp::TcpTransport*>(&transport)) {
        EXPECT_GE(over_tcp->n_connections(), n_ways(schedule));
      }
      hold(n_here, transport);  // nobody leaves before all have counted
    });
  }
}

TEST(ThreeRails, CarryTheirSharesOverTcp) {
  execute_all([](const auto& body) { tcp::run_tcp_ranks(kHosts, kThreeRails, {}, body); });
}

TEST(ThreeRails, CarryTheirSharesOverUcx) {
  if (!ucx::why_no_ucx().empty()) GTEST_SKIP() << ucx::why_no_ucx();
  execute_all([](const auto& body) { ucx::run_ucx_ranks(kHosts, kThreeRails, {}, body); });
}

}  // namespace
}  // namespace eco::transport
