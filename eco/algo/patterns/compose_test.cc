#include "eco/algo/patterns/compose.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <set>

#include "eco/algo/algorithm.h"
#include "eco/algo/testing.h"
#include "eco/base/errors.h"
#include "eco/net/synthetic.h"
#include "eco/sched/traffic.h"
#include "eco/sched/verify.h"

namespace eco::algo {
namespace {

using coll::Collective;
using coll::CommonProblem;
using net::GroupView;

std::string fault_of(const std::string& line, const CommonProblem& problem, const GroupView& view,
                     bool in_place = false) {
  const Recipe recipe = parse_recipe(line);
  if (const auto reason = why_not(recipe, problem, view)) return "why_not: " + *reason;
  const auto fault = sched::verify(problem, build_all(recipe, problem, view), {.input_is_output = in_place});
  return fault ? line + ": " + fault->what : "";
}

CommonProblem allreduce(int n_ranks, std::size_t bytes) {
  return {.collective = Collective::allreduce, .n_ranks = n_ranks, .bytes = bytes, .element_bytes = 8};
}

TEST(Compose, StaysSymbolic) {
  const auto view = testing::scattered_view("3+3+2", 8);
  const Recipe recipe = parse_recipe(
      "allreduce/levels segment=1024 leaders=2 parts=reduce/chain,allreduce/doubling,broadcast/chain");
  const auto few = build_all(recipe, allreduce(8, 1000 * 1024), view);
  const auto many = build_all(recipe, allreduce(8, 100'000 * 1024), view);
  for (std::size_t rank = 0; rank < 8; ++rank) {
    EXPECT_EQ(many[rank].loops().size(), 1U);
    EXPECT_EQ(many[rank].loops()[0].count, 100'000U);
    EXPECT_EQ(many[rank].scratch_bytes, few[rank].scratch_bytes);
    EXPECT_EQ(many[rank].n_channels, many[0].n_channels) << "tags are chosen by the number of channels";
  }
}

// A segment is between subnets while the next one is still inside: the leader's first message between subnets stands
// before its last receive from inside.
TEST(Compose, HasNoBarrierBetweenParts) {
  const auto view = testing::scattered_view("2+2", 4);
  const Recipe recipe =
      parse_recipe("allreduce/levels segment=64 parts=reduce/chain,allreduce/doubling,broadcast/chain");
  const auto schedules = build_all(recipe, allreduce(4, 64 * 10), view);
  const int leader = view.subnets[0].ranks[0];
  const int member = view.subnets[0].ranks[1];
  sched::Cursor cursor(schedules[static_cast<std::size_t>(leader)]);
  int n_from_member = 0;
  int n_before_crossing = -1;
  while (const sched::Op* op = cursor.next()) {
    if (op->kind == sched::OpKind::recv && op->peer == member) ++n_from_member;
    const bool crosses =
        op->kind == sched::OpKind::send && view.subnet_of_rank[static_cast<std::size_t>(op->peer)] != 0;
    if (crosses && n_before_crossing < 0) n_before_crossing = n_from_member;
  }
  EXPECT_EQ(n_before_crossing, 1);
  EXPECT_EQ(n_from_member, 10);
}

TEST(Compose, LeadersTakeTurns) {
  const auto view = testing::scattered_view("3+3", 6);
  const Recipe recipe = parse_recipe("allreduce/levels segment=64 leaders=3");
  const auto schedules = build_all(recipe, allreduce(6, 64 * 9), view);
  for (const sched::Schedule& schedule : schedules) {
    const int own = view.subnet_of_rank[static_cast<std::size_t>(schedule.rank())];
    std::size_t n_crossing = 0;
    sched::Cursor cursor(schedule);
    while (const sched::Op* op = cursor.next()) {
      if (op->kind == sched::OpKind::send && view.subnet_of_rank[static_cast<std::size_t>(op->peer)] != own)
        ++n_crossing;
    }
    EXPECT_EQ(n_crossing, 3U) << "rank " << schedule.rank();
  }
}

// Any algorithm of the right collective is a part: a sample of all combinations, seeded, on subnets of unequal sizes and
// of one rank, with rests of segments and of blocks.
TEST(Compose, AnyAlgorithmIsAPart) {
  std::mt19937_64 random(7);
  std::vector<std::string> of[coll::kCollectives];
  for (const Algorithm& algorithm : registry())
    of[static_cast<std::size_t>(algorithm.collective)].push_back(algorithm.name);
  std::size_t n_proved = 0;
  for (const Algorithm& algorithm : registry()) {
    if (!algorithm.objection_to) continue;
    for (const auto& view : {testing::scattered_view("3+1+4", 8, 3), testing::scattered_view("2+3", 5, 1),
                             testing::scattered_view("1+2", 7)}) {
      const int n = view.n_ranks();
      for (int trial = 0; trial < 6; ++trial) {
        CommonProblem problem{.collective = algorithm.collective, .n_ranks = n, .element_bytes = 8};
        if (problem.collective == Collective::barrier) problem.element_bytes = 1;
        if (coll::is_rooted(problem.collective)) problem.root = static_cast<int>(random() % 5);
        problem.commutative = random() % 4 != 0;
        problem.bytes = coll::whole_bytes(problem, 8 * (random() % 400 + 8));
        if (problem.collective == Collective::barrier) problem.bytes = 0;
        if (algorithm.why_not(problem, view)) continue;
        Recipe recipe{algorithm.name, algorithm.candidates(problem, view).front()};
        recipe.params.segment_bytes = random() % 3 == 0 ? 0 : 8 * (random() % 60 + 1);
        recipe.params.leaders = static_cast<int>(random() % 3) + 1;
        if (!algorithm.name.ends_with("/levels")) recipe.params.leaders = 1;
        recipe.params.window = static_cast<int>(random() % 3);
        for (std::size_t i = 0; i < recipe.params.parts.size(); ++i) {
          const auto& others = of[static_cast<std::size_t>(algorithm.parts[i])];
          recipe.params.parts[i] = others[random() % others.size()];
        }
        if (why_not(recipe, problem, view)) continue;
        ++n_proved;
        EXPECT_EQ(fault_of(recipe.text(), problem, view, problem.collective == Collective::allreduce), "");
      }
    }
  }
  EXPECT_GT(n_proved, 100U);
}

TEST(Compose, PartsAreComposedToo) {
  const auto view = testing::scattered_view("3+3+2", 8, 3);
  const std::string line =
      "allreduce/levels segment=128 leaders=2 "
      "parts=reduce/reduce_scatter+gather,allreduce/reduce_scatter+allgather,broadcast/scatter+allgather";
  for (const std::size_t bytes : {8, 48, 1000, 4096}) {
    const CommonProblem problem = allreduce(8, bytes);
    EXPECT_EQ(fault_of(line, problem, view), "");
    EXPECT_EQ(testing::run_on_loopback(problem, view, parse_recipe(line)), "");
  }
}

// Whichever ranks two subnets of four have, partners who exchange halves and quarters are of one subnet; what is left for the last
// round, an eighth from each rank, crosses twice.
TEST(Compose, NearHalvesCrossWithTheLeast) {
  constexpr std::size_t kBytes = 8 * 64;
  for (const int seed : {1, 2, 3}) {
    const auto view = testing::scattered_view("4+4", 8, seed);
    const CommonProblem problem = allreduce(8, kBytes);
    std::size_t crossing = 0;
    for (const sched::Schedule& one : build_all(parse_recipe("allreduce/near_halves"), problem, view))
      crossing += sched::count_crossing(one, view.subnet_of_rank).bytes;
    EXPECT_EQ(crossing, 2 * kBytes) << seed;
  }
}

TEST(Compose, RanksOfHostsThatStandAlone) {
  const auto view = testing::scattered_view("1+1+3", 5);
  EXPECT_EQ(fault_of("allreduce/levels segment=64 leaders=3", allreduce(5, 64 * 7 + 8), view, true), "");
  for (const Collective collective : {Collective::allgather, Collective::reduce_scatter}) {
    CommonProblem problem = allreduce(5, 5 * 80);
    problem.collective = collective;
    const std::string name = std::string(coll::name(collective)) + "/levels segment=24 leaders=2";
    EXPECT_EQ(fault_of(name, problem, view), "");
  }
}

TEST(Compose, RefusesPartsThatDoNotFit) {
  const auto view = testing::scattered_view("2+2", 4);
  const auto refused = [&](const std::string& line, const std::string& words, bool commutative = true) {
    CommonProblem problem = allreduce(4, 64);
    problem.commutative = commutative;
    const auto reason = why_not(parse_recipe(line), problem, view);
    ASSERT_TRUE(reason) << line;
    EXPECT_NE(reason->find(words), std::string::npos) << *reason;
  };
  refused("allreduce/reduce+broadcast parts=reduce/chain", "2 parts, not 1");
  refused("allreduce/reduce+broadcast parts=reduce/chain,broadcast/unheard",
          "no algorithm 'broadcast/unheard'");
  refused("allreduce/reduce+broadcast parts=reduce/chain,reduce/chain", "'reduce/chain' is no broadcast");
  refused("allreduce/reduce+broadcast parts=reduce/two_tree,broadcast/chain", "needs a commutative", false);
  refused("allreduce/ring parts=reduce/chain", "has no parts");
  refused("allreduce/levels leaders=3", "of 3 leaders only 2 could take turns");
  refused("allreduce/reduce+broadcast leaders=2", "of 2 leaders only 1 could take turns");
  EXPECT_TRUE(why_not(parse_recipe("allreduce/levels"), allreduce(4, 64), testing::scattered_view("4", 4)));
  EXPECT_THROW(build_all(parse_recipe("allreduce/reduce+broadcast parts=reduce/no,broadcast/chain"),
                         allreduce(4, 64), view),
               InvalidArgument);
}

TEST(Compose, TextRoundTrip) {
  const std::string line =
      "allreduce/levels segment=5728 head=0 window=0 between=chain inside=chain leaders=2 "
      "parts=reduce/chain,allreduce/doubling,broadcast/chain";
  EXPECT_EQ(parse_recipe(line).text(), line);
  EXPECT_EQ(parse_recipe(line).params.leaders, 2);
  EXPECT_EQ(parse_recipe(line).params.parts,
            (std::vector<std::string>{"reduce/chain", "allreduce/doubling", "broadcast/chain"}));
  const std::string bruck = "allgather/bruck segment=0 head=0 window=0 between=chain inside=chain degree=4";
  EXPECT_EQ(parse_recipe(bruck).text(), bruck);
  for (const char* bad : {"a/b leaders=0", "a/b leaders=-1", "a/b leaders=", "a/b parts=", "a/b parts=x,",
                          "a/b parts=,x", "a/b parts=x,,y"}) {
    EXPECT_THROW(parse_recipe(bad), InvalidArgument) << bad;
  }
}

// Two hosts of three ranks and one of one in a subnet, one host of two in another; ranks are dealt over the hosts.
GroupView hosts_of_several(bool dealt) {
  const auto network = std::make_shared<net::Network>(net::synthetic_network("hosts=3+1 uplink_mbit=40"));
  return net::make_view(network, dealt ? std::vector<int>{0, 3, 1, 2, 0, 1, 3, 1, 0}
                                       : std::vector<int>{0, 0, 0, 1, 1, 1, 2, 3, 3});
}

CommonProblem of(Collective collective, int n_ranks, bool commutative = true) {
  CommonProblem problem{
      .collective = collective, .n_ranks = n_ranks, .element_bytes = 8, .commutative = commutative};
  if (collective == Collective::barrier) problem.element_bytes = 1;
  if (coll::is_rooted(collective)) problem.root = n_ranks - 2;
  if (collective != Collective::barrier) problem.bytes = coll::whole_bytes(problem, 8 * 9 * 7);
  return problem;
}

// Every composition that offers native parts, on islands of both kinds: proved, and run on nasty loopbacks.
TEST(NativeParts, AreProvedAndRun) {
  std::set<std::string> kinds;
  for (const Algorithm& algorithm : registry()) {
    for (const bool dealt : {false, true}) {
      for (const bool commutative : {true, false}) {
        const GroupView view = hosts_of_several(dealt);
        const CommonProblem problem = of(algorithm.collective, view.n_ranks(), commutative);
        const bool combines =
            coll::is_reduction(algorithm.collective) && algorithm.collective != Collective::barrier;
        if ((!commutative && !combines) || algorithm.why_not(problem, view)) continue;
        for (Params params : algorithm.candidates(problem, view)) {
          if (stand_in({algorithm.name, params}).params == params) continue;
          params.segment_bytes = 16;
          const Recipe recipe{algorithm.name, params};
          EXPECT_EQ(parse_recipe(recipe.text()), recipe);
          EXPECT_EQ(fault_of(recipe.text(), problem, view, problem.collective == Collective::allreduce), "");
          for (const std::uint64_t seed : {0, 3, 4}) {
            EXPECT_EQ(testing::run_on_loopback(problem, view, recipe, {.seed = seed}), "");
          }
          EXPECT_EQ(testing::run_on_loopback(problem, view, recipe, {.synchronous = true},
                                             problem.collective == Collective::allreduce),
                    "");
          kinds.insert(algorithm.name + " " + std::string(name(params.islands)) +
                       (commutative ? "" : " ordered"));
        }
      }
    }
  }
  for (const char* levels : {"broadcast", "reduce", "allreduce", "barrier", "allgather", "reduce_scatter",
                             "scatter", "gather", "alltoall", "scan", "exscan"}) {
    EXPECT_TRUE(kinds.contains(std::string(levels) + "/levels hosts")) << levels;
    EXPECT_TRUE(kinds.contains(std::string(levels) + "/levels subnets")) << levels;
  }
  for (const char* levels : {"reduce", "allreduce", "reduce_scatter", "scan", "exscan"})
    EXPECT_TRUE(kinds.contains(std::string(levels) + "/levels hosts ordered")) << levels;
}

// Rows of a table serve all roots of a subnet, on whichever of its hosts they are.
TEST(Compose, AnotherRootNeedsNoMoreChannels) {
  const GroupView view = net::make_view(
      std::make_shared<net::Network>(net::synthetic_network("hosts=2 rate_mbit=200")), {0, 0, 0, 0, 1});
  for (const Collective collective : {Collective::scatter, Collective::gather}) {
    CommonProblem problem{.collective = collective, .n_ranks = 5, .bytes = 5 * 16, .element_bytes = 8};
    const Recipe recipe = parse_recipe(std::string(coll::name(collective)) + "/levels islands=hosts");
    const int n_channels = build_all(recipe, problem, view)[0].n_channels;
    for (problem.root = 0; problem.root < 5; ++problem.root) {
      EXPECT_EQ(fault_of(recipe.text(), problem, view), "");
      for (const sched::Schedule& schedule : build_all(recipe, problem, view))
        EXPECT_EQ(schedule.n_channels, n_channels) << problem.root;
    }
  }
}

// {0 1 2} {3 4}: two members of each, then the third of the first; none of them crosses twice, nor anything else.
TEST(Compose, ScattersGoInLayersOfEqualSubnets) {
  const auto view = testing::scattered_view("3+2", 5);
  const int root = view.subnets[1].ranks[0];
  const CommonProblem problem{
      .collective = Collective::scatter, .n_ranks = 5, .root = root, .bytes = 5 * 8, .element_bytes = 8};
  const auto schedules = build_all(parse_recipe("scatter/levels"), problem, view);
  std::vector<std::size_t> crossing;
  sched::Cursor cursor(schedules[static_cast<std::size_t>(root)]);
  while (const sched::Op* op = cursor.next()) {
    if (op->kind == sched::OpKind::send && view.subnet_of_rank[static_cast<std::size_t>(op->peer)] == 0)
      crossing.push_back(op->source.bytes);
  }
  EXPECT_EQ(crossing, (std::vector<std::size_t>{16, 8}));
}

// What a leader has is bounded, however uneven subnets are.
TEST(Compose, AlltoallsInLevelsAreForLittleData) {
  const auto view = testing::scattered_view("12+1+1+1", 15);
  CommonProblem problem{.collective = Collective::alltoall, .n_ranks = 15, .element_bytes = 8};
  const Recipe recipe = parse_recipe("alltoall/levels");
  problem.bytes = 15 * 8;
  EXPECT_EQ(why_not(recipe, problem, view), std::nullopt);
  problem.bytes = 15 * 512;  // four subnets, 144 pairs of the largest's: 288 KiB
  EXPECT_NE(why_not(recipe, problem, view).value_or("").find("brings 294912 bytes"), std::string::npos);
}

TEST(NativeParts, AreGroupsOfTheWholeAlikeOnAllRanks) {
  const GroupView view = hosts_of_several(true);
  const Recipe recipe = parse_recipe(
      "allreduce/levels segment=16 islands=hosts leaders=3 parts=native,allreduce/levels,native");
  const auto schedules = build_all(recipe, of(Collective::allreduce, 9), view);
  // Reductions and broadcasts do not wait for each other.
  const std::vector<coll::RankGroup> hosts = {{{0, 4, 8}, 0}, {{2, 5, 7}, 0}, {{1, 6}, 0},
                                              {{0, 4, 8}, 1}, {{2, 5, 7}, 1}, {{1, 6}, 1}};
  std::size_t n_of_groups = 0;
  for (const sched::Schedule& schedule : schedules) {
    EXPECT_EQ(schedule.groups, hosts);
    EXPECT_EQ(schedule.loops().size(), 1U) << "segments flow through all levels";
    sched::Cursor cursor(schedule);
    while (const sched::Op* op = cursor.next()) n_of_groups += op->kind == sched::OpKind::group ? 1 : 0;
  }
  // Of every segment two parts, on all ranks but the lone one of host 2.
  EXPECT_EQ(n_of_groups, 8U * 2 * ((of(Collective::allreduce, 9).bytes + 15) / 16));
}

// Ten segments take a round each on the only link between the islands, and three more until the first and after the last.
TEST(NativeParts, DoNotKeepBackTheNextSegment) {
  const auto view = testing::scattered_view("2+2", 4);
  const Recipe recipe = parse_recipe("allreduce/levels segment=64 parts=native,allreduce/doubling,native");
  const sched::Traffic traffic = sched::count_traffic(build_all(recipe, allreduce(4, 64 * 10), view));
  EXPECT_EQ(traffic.messages.size(), 20U);
  EXPECT_EQ(traffic.group_steps.size(), 40U);
  EXPECT_LE(traffic.rounds, 13);
}

TEST(NativeParts, AreRefusedWhereTheyCannotBe) {
  const auto reason = [](const std::string& line, const GroupView& view, bool commutative = true) {
    const Recipe recipe = parse_recipe(line);
    const Collective collective = find(recipe.algorithm)->collective;
    return why_not(recipe, of(collective, view.n_ranks(), commutative), view).value_or("");
  };
  const GroupView view = hosts_of_several(true);
  const GroupView lone = testing::scattered_view("1+1+1", 3);
  EXPECT_EQ(reason("broadcast/levels parts=broadcast/chain,native", view), "");
  EXPECT_NE(reason("broadcast/levels parts=native,broadcast/chain", view).find("not inside"),
            std::string::npos);
  EXPECT_NE(reason("broadcast/scatter+allgather parts=native,allgather/chain", view).find("not inside"),
            std::string::npos);
  EXPECT_NE(reason("broadcast/scatter+allgather islands=hosts", view).find("no islands"), std::string::npos);
  EXPECT_NE(reason("broadcast/chain islands=hosts", view).find("no islands"), std::string::npos);
  EXPECT_NE(reason("broadcast/chain parts=native", view).find("no parts"), std::string::npos);
  EXPECT_NE(reason("exscan/levels parts=native,exscan/chain,broadcast/flat", hosts_of_several(false))
                .find("not inside"),
            std::string::npos);
  EXPECT_NE(reason("broadcast/levels parts=broadcast/chain,native", lone).find("no island has two ranks"),
            std::string::npos);
  EXPECT_NE(reason("broadcast/levels islands=hosts parts=broadcast/chain,native", lone)
                .find("no island has two ranks"),
            std::string::npos);
  // Rank order holds along runs of ranks only.
  const std::string ordered = "reduce/levels islands=hosts parts=native,reduce/chain";
  EXPECT_EQ(reason(ordered, hosts_of_several(false), false), "");
  EXPECT_NE(reason(ordered, view, false).find("runs"), std::string::npos);
  EXPECT_THROW(parse_recipe("broadcast/levels islands=lakes"), InvalidArgument);
}

TEST(NativeParts, AreOfferedWhereIslandsAre) {
  const auto natives = [](const GroupView& view) {
    std::set<std::string> found;
    const CommonProblem problem = of(Collective::broadcast, view.n_ranks());
    for (const Algorithm& algorithm : registry()) {
      if (algorithm.collective != Collective::broadcast || algorithm.why_not(problem, view)) continue;
      for (const Params& params : algorithm.candidates(problem, view)) {
        if (!(stand_in({algorithm.name, params}).params == params))
          found.insert(std::string(name(params.islands)));
      }
    }
    return found;
  };
  using Names = std::set<std::string>;
  EXPECT_EQ(natives(hosts_of_several(false)), (Names{"hosts", "subnets"}));
  EXPECT_EQ(natives(testing::scattered_view("3+3+2", 8)), Names{"subnets"}) << "one rank a host";
  EXPECT_EQ(natives(testing::scattered_view("3", 6)), Names{"hosts"}) << "one subnet";
  EXPECT_EQ(natives(testing::scattered_view("1+1", 4)), Names{"subnets"}) << "hosts are the subnets";
  EXPECT_EQ(natives(testing::scattered_view("1+1+1", 3)), Names{}) << "lone ranks";
  EXPECT_EQ(natives(testing::scattered_view("4", 4)), Names{}) << "one subnet, one rank a host";
}

TEST(NativeParts, HaveAStandIn) {
  EXPECT_EQ(stand_in(parse_recipe(
                         "allreduce/levels segment=16 islands=hosts parts=native,allreduce/doubling,native"))
                .text(),
            parse_recipe("allreduce/levels segment=16 islands=hosts "
                         "parts=reduce/binomial,allreduce/doubling,broadcast/binomial")
                .text());
  EXPECT_EQ(stand_in(parse_recipe("scan/levels parts=native,exscan/chain,native")).text(),
            parse_recipe("scan/levels parts=scan/chain,exscan/chain,broadcast/binomial").text());
  const Recipe own = parse_recipe("broadcast/chain segment=16");
  EXPECT_EQ(stand_in(own), own);
}

}  // namespace
}  // namespace eco::algo
