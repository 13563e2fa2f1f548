#include "eco/runtime/live_oracle.h"

#include <gtest/gtest.h>

#include <memory>

#include "eco/net/synthetic.h"
#include "eco/runtime/testing.h"
#include "eco/transport/loopback/loopback.h"
#include "eco/tune/guided.h"
#include "eco/tune/searches.h"

namespace eco::runtime {
namespace {

const std::vector<std::vector<algo::Recipe>> kRecipes = {
    {algo::parse_recipe("allreduce/chain"), algo::parse_recipe("allreduce/chain segment=512")},
    {algo::parse_recipe("allreduce/flat"), algo::parse_recipe("broadcast/flat")},  // the last does not fit
};

tune::Space space() {
  tune::Space space{4096, {}};
  for (const auto& form : kRecipes) {
    space.forms.push_back({form.front().algorithm, {}});
    for (const algo::Recipe& recipe : form)
      space.forms.back().points.push_back({recipe.params.segment_bytes, 1e-4});
  }
  return space;
}

// Runs `search` on rank 0 of four threads.
tune::Tuned search_live(const std::function<tune::Tuned(const tune::Oracle&)>& search,
                        const std::function<bool()>& may_go_on) {
  const auto network = std::make_shared<const net::Network>(net::synthetic_network(testing::kNetwork));
  const net::GroupView view = net::make_view(network, {0, 1, 2, 3});
  tune::Tuned tuned;
  transport::Hub hub(4);
  transport::run_ranks(hub, [&](transport::LoopbackTransport& transport, transport::LoopbackNative& native) {
    Trials trials(transport, native, view, CommonStart(native, true, 5'000'000));
    if (transport.rank() != 0) return trials.follow();
    const auto problem = testing::problem_of(coll::Collective::allreduce, 4096);
    tuned = search(live_oracle(trials, problem, kRecipes, may_go_on));
    trials.end();
  });
  return tuned;
}

TEST(LiveOracle, LetsASearchMeasureOnTheRanks) {
  const tune::Tuned tuned =
      search_live([](const tune::Oracle& oracle) { return tune::linear(space(), oracle, {.repeats = 2}); },
                  [] { return true; });
  ASSERT_TRUE(tuned.best);
  EXPECT_NE(*tuned.best, (tune::Choice{1, 1}));
  EXPECT_GT(tuned.best_s, 0);
  EXPECT_EQ(tuned.steps.size(), 4U);
  EXPECT_EQ(tuned.ended, "all measured");
}

TEST(LiveOracle, RunsAsOftenAsAskedAndWhatWasCheckedAgain) {
  std::vector<std::size_t> counts;
  search_live(
      [&](const tune::Oracle& oracle) {
        const std::vector<tune::Choice> both{{0, 0}, {1, 0}};
        for (const int times : {1, 3}) {
          const auto answer = oracle(both, times);
          for (const tune::Runs& runs : *answer) counts.push_back(runs.size());
        }
        const std::vector<tune::Choice> lame{{1, 1}};
        for (int i = 0; i < 2; ++i) counts.push_back((*oracle(lame, 2))[0].size());
        return tune::Tuned{};
      },
      [] { return true; });
  // Runs that heard too late of their common start do not count; on a busy machine there are some.
  ASSERT_EQ(counts.size(), 6U);
  EXPECT_LE(counts[0], 1U);
  EXPECT_LE(counts[2], 3U);
  EXPECT_GE(counts[2] + counts[3], 1U);
  EXPECT_EQ(counts[4], 0U);
  EXPECT_EQ(counts[5], 0U);
}

TEST(LiveOracle, EndsTheSearchWhereTimeIsUp) {
  int questions = 0;
  const tune::Tuned tuned = search_live(
      [](const tune::Oracle& oracle) { return tune::Guided().tune(space(), oracle, {.repeats = 9}); },
      [&] { return ++questions <= 4; });
  EXPECT_EQ(tuned.ended, "no time left");
  EXPECT_TRUE(tuned.best);
}

}  // namespace
}  // namespace eco::runtime
