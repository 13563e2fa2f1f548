#include "eco/late/forecast.h"

#include <gtest/gtest.h>

#include <memory>

#include "eco/algo/algorithm.h"
#include "eco/base/errors.h"
#include "eco/late/proving.h"
#include "eco/net/synthetic.h"
#include "eco/sim/predict.h"

namespace eco::late {
namespace {

constexpr std::size_t kBytes = 1 << 20;
constexpr std::size_t kSegment = 8192;
constexpr int kRanks = 8;

net::GroupView one_switch() {
  auto network = std::make_shared<net::Network>(net::synthetic_network("hosts=8 rate_mbit=100"));
  return net::make_view(network, {0, 1, 2, 3, 4, 5, 6, 7});
}

algo::Tree chain() { return algo::shape_tree(algo::Shape::chain, algo::rank_ring(kRanks, 0), kRanks); }

Forecast of(Plan plan, const algo::Tree& tree, Pieces pieces, const std::vector<double>& arrival_s) {
  const coll::CommonProblem problem{
      .collective = coll::Collective::broadcast, .n_ranks = kRanks, .root = tree.root, .bytes = kBytes};
  const Form form(plan, problem, tree, pieces);
  std::vector<std::vector<std::byte>> messages(kRanks, std::vector<std::byte>(kBytes));
  std::vector<std::unique_ptr<ScheduleSource>> sources;
  std::vector<ScheduleSource*> pointers;
  for (int rank = 0; rank < kRanks; ++rank) {
    sources.push_back(
        form.source(rank, {.input = {}, .output = messages[static_cast<std::size_t>(rank)]}, {}));
    pointers.push_back(sources.back().get());
  }
  return forecast(one_switch(), pointers, arrival_s);
}

sim::Prediction of_static(const std::string& recipe, const std::vector<double>& arrival_s) {
  const net::GroupView view = one_switch();
  const coll::CommonProblem problem{
      .collective = coll::Collective::broadcast, .n_ranks = kRanks, .bytes = kBytes};
  sim::PredictOptions options;
  options.arrival_s = arrival_s;
  options.eager_bytes = 65536;
  return sim::predict(view, algo::build_all(algo::parse_recipe(recipe), problem, view), options);
}

const std::vector<double> kOnTime(kRanks, 0.0);

// Each of 128 segments is answered before the next one leaves.
TEST(LateForecast, SendersWaitForAnswersAsInAStaticBroadcast) {
  const double statically = of_static("broadcast/chain segment=8192 window=1", kOnTime).seconds;
  const double mended = of(Plan::mended, chain(), {kSegment, 1}, kOnTime).seconds;
  // Its first segment comes with the word who feeds, before any window.
  EXPECT_NEAR(mended, statically, 0.01 * statically);
  EXPECT_GT(mended, 1.1 * of(Plan::mended, chain(), {kSegment, 0}, kOnTime).seconds);
}

TEST(LateForecast, AMendedBroadcastWithNobodyLateIsTheStaticOneAndOneLatency) {
  const double statically = of_static("broadcast/chain segment=8192", kOnTime).seconds;
  const Forecast mended = of(Plan::mended, chain(), {kSegment, 0}, kOnTime);
  const double latency_s = one_switch().network->message_s(0, 1, 0);
  EXPECT_GE(mended.seconds, statically);
  // The parent's word that a child is there, and what small messages hold up.
  EXPECT_LE(mended.seconds, statically + 3 * latency_s + 0.001 * statically);
  // A segment for everybody each, and one message of no bytes.
  EXPECT_EQ(mended.n_messages, (kRanks - 1) * (kBytes / kSegment + 1));
}

TEST(LateForecast, LateRanksHoldUpTheirSubtreesOnlyWhereTheTreeIsStatic) {
  const double undelayed = of_static("broadcast/chain segment=8192", kOnTime).seconds;
  std::vector<double> late = kOnTime;
  late[2] = 0.47 * undelayed;
  late[4] = 0.70 * undelayed;
  late[6] = 0.94 * undelayed;
  const sim::Prediction statically = of_static("broadcast/chain segment=8192", late);
  const Forecast mended = of(Plan::mended, chain(), {kSegment, 0}, late);
  // The root is done when it has sent all; 1, 3 and 5 feed those who are late.
  EXPECT_LT(mended.rank_end_s[7], 1.1 * undelayed);
  EXPECT_GT(statically.rank_end_s[7], 1.5 * undelayed);
  const double bound = clairvoyant_bound_s(one_switch(), 0, kBytes, late);
  EXPECT_GE(mended.seconds, bound);
  EXPECT_LE(mended.seconds, 1.1 * bound);
}

// It comes before its child has been given to somebody else, who would have been fed the same once more.
TEST(LateForecast, WhoIsHardlyLateAdoptsItsChildren) {
  const double statically = of_static("broadcast/chain segment=8192", kOnTime).seconds;
  std::vector<double> late = kOnTime;
  late[1] = 1.02 * 0.001;
  EXPECT_LT(of(Plan::mended, chain(), {kSegment, 0}, late).seconds, 1.1 * statically);
  late[1] = 0.3 * statically;
  EXPECT_GT(of(Plan::mended, chain(), {kSegment, 0}, late).seconds, 1.25 * statically);
}

TEST(LateForecast, ByOrderOfArrivalBeatsTheStaticTreeUncut) {
  const algo::Tree binomial = algo::shape_tree(algo::Shape::binomial, algo::rank_ring(kRanks, 0), kRanks);
  const double undelayed = of_static("broadcast/binomial", kOnTime).seconds;
  std::vector<double> late = kOnTime;
  late[1] = 0.47 * undelayed;
  late[2] = 0.70 * undelayed;
  late[4] = 0.94 * undelayed;  // who has half of the others below it
  const double statically = of_static("broadcast/binomial", late).seconds;
  for (const Plan plan : {Plan::depth_first, Plan::breadth_first}) {
    const Forecast by_arrival = of(plan, binomial, {}, late);
    EXPECT_LT(by_arrival.seconds, statically) << name(plan);
    EXPECT_GE(by_arrival.seconds, clairvoyant_bound_s(one_switch(), 0, kBytes, late));
  }
}

TEST(LateForecast, AStaticScheduleWaitsForWhoIsLate) {
  std::vector<double> late = kOnTime;
  late[3] = 1.0;
  const sim::Prediction prediction = of_static("broadcast/chain segment=8192", late);
  EXPECT_GT(prediction.rank_end_s[3], 1.0);
  EXPECT_GT(prediction.rank_end_s[7], 1.0);
  EXPECT_LT(prediction.rank_end_s[2], 0.5);
}

Forecast of_reduce(const std::vector<double>& arrival_s) {
  const coll::CommonProblem problem{
      .collective = coll::Collective::reduce, .n_ranks = kRanks, .bytes = kBytes, .element_bytes = 8};
  const Form form(Plan::mended, problem, chain(), {kSegment, 0}, patience_s(one_switch(), problem));
  std::vector<std::vector<std::byte>> inputs(kRanks, std::vector<std::byte>(kBytes)), outputs = inputs;
  std::vector<std::vector<std::byte>> scratches(kRanks, std::vector<std::byte>(form.scratch_bytes()));
  std::vector<std::unique_ptr<ScheduleSource>> sources;
  std::vector<ScheduleSource*> pointers;
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    const exec::Buffers buffers{.input = inputs[rank],
                                .output = outputs[rank],
                                .combine = {.function = [](void*, const void*, void*, std::size_t) {}}};
    sources.push_back(form.source(static_cast<int>(rank), buffers, scratches[rank]));
    pointers.push_back(sources.back().get());
  }
  return forecast(one_switch(), pointers, arrival_s);
}

// Whoever is left behind takes the root's link for a whole vector.
TEST(LateForecast, AReductionIsPatientForHalfOfWhatAWaveMoreWouldTake) {
  const double on_time = of_reduce(kOnTime).seconds;
  std::vector<double> late = kOnTime;
  late[3] = 0.3 * on_time;
  EXPECT_LT(of_reduce(late).seconds, 1.5 * on_time);
  late[3] = 0.9 * on_time;
  const Forecast in_two = of_reduce(late);
  EXPECT_LT(in_two.rank_end_s[5], 1.8 * on_time) << "who is on time is not kept";
  EXPECT_GT(in_two.seconds, 1.8 * on_time);
}

TEST(LateForecast, WhoComesWhileAWaveIsUnderWayGoesWithOthersInTheNext) {
  const double on_time = of_reduce(kOnTime).seconds;
  std::vector<double> late = kOnTime;
  late[2] = 0.6 * on_time;
  late[4] = 0.8 * on_time;
  late[6] = 1.0 * on_time;
  // Half a vector of patience, and two waves; each in one of its own would take four.
  EXPECT_LT(of_reduce(late).seconds, 3.0 * on_time);
}

// Never says anything.
class Silent final : public ScheduleSource {
 public:
  void enter() override {}
  void on_done(Ticket) override {}
  bool is_done() const override { return false; }
};

TEST(LateForecast, SourcesThatStandStillAreRefused) {
  Silent silent;
  std::vector<ScheduleSource*> pointers(kRanks, &silent);
  EXPECT_THROW(forecast(one_switch(), pointers, kOnTime), InvalidArgument);
}

}  // namespace
}  // namespace eco::late
