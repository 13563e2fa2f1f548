#include "eco/model/closed_forms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "eco/algo/algorithm.h"
#include "eco/base/errors.h"
#include "eco/model/gamma.h"
#include "eco/model/logarithms.h"
#include "eco/model/segment_search.h"

namespace eco::model {
namespace {

constexpr double kMicro = 1e-6;

// g(1) = 10 us and 0.1 us a byte more: g(251) = 35, g(1001) = 110; L = 100, os = 5, or = 8 us.
PLogP by_hand() {
  PLogP net;
  net.latency_s = 100 * kMicro;
  net.send_overhead = Curve({{1, 5 * kMicro}});
  net.receive_overhead = Curve({{1, 8 * kMicro}});
  net.gap = Curve({{1, 10 * kMicro}, {1001, 110 * kMicro}});
  return net;
}

// P = 5 parts floor from ceil of its logarithm; k = 4 segments of 251 bytes; c(1001) = 100 us.
const Call kCall{
    .n_ranks = 5, .bytes = 1001, .segment_bytes = 251, .gamma = 0.25, .combine_bytes_per_s = 10.01e6};

TEST(Curve, StraightLinesBetweenAndTheLastSlopeBeyond) {
  const Curve curve({{8, 2.0}, {16, 4.0}, {32, 5.0}});
  EXPECT_DOUBLE_EQ(curve(8), 2);
  EXPECT_DOUBLE_EQ(curve(12), 3);
  EXPECT_DOUBLE_EQ(curve(24), 4.5);
  EXPECT_DOUBLE_EQ(curve(48), 6);
  EXPECT_DOUBLE_EQ(curve(0), 2) << "a smaller message costs no less";
  EXPECT_DOUBLE_EQ(Curve({{8, 2.0}, {16, 1.0}})(64), 1) << "a falling slope is not continued";
  EXPECT_DOUBLE_EQ(Curve({{8, 2.0}, {16, 4.0}, {20, 9.0}, {32, 8.0}})(48), 12) << "from 16 to 32";
  EXPECT_DOUBLE_EQ(Curve({{8, 2.0}})(1 << 20), 2);
  EXPECT_DOUBLE_EQ(Curve()(5), 0);
  EXPECT_THROW(Curve({{8, 1.0}, {8, 2.0}}), InvalidArgument);
  EXPECT_THROW(Curve({{8, -1.0}}), InvalidArgument);
  EXPECT_THROW(Curve({{8, std::nan("")}}), InvalidArgument);
}

TEST(ClosedForms, LogarithmsOfRanks) {
  const std::map<int, std::pair<int, int>> floor_and_ceil = {
      {1, {0, 0}}, {2, {1, 1}}, {3, {1, 2}}, {4, {2, 2}}, {5, {2, 3}}, {8, {3, 3}}, {9, {3, 4}}};
  for (const auto& [n, expected] : floor_and_ceil) {
    EXPECT_EQ(floor_log2(n), expected.first) << n;
    EXPECT_EQ(ceil_log2(n), expected.second) << n;
  }
}

TEST(ClosedForms, EveryRowIsWhatItsFormulaGivesByHand) {
  const std::map<std::string, double> microseconds = {
      {"broadcast flat", 4 * 110 + 100},
      {"broadcast flat rendezvous", 4 * 110 + 2 * 10 + 3 * 100},
      {"broadcast flat segmented", 4 * (35 * 4) + 100},
      {"broadcast chain", 4 * (110 + 100)},
      {"broadcast chain rendezvous", 4 * (110 + 2 * 10 + 3 * 100)},
      {"broadcast chain segmented", 4 * (35 + 100) + 35 * 3},
      {"broadcast binary", 3 * (2 * 110 + 100)},
      {"broadcast binomial", 2 * 110 + 3 * 100},
      {"broadcast binomial rendezvous", 2 * 110 + 3 * (2 * 10 + 3 * 100)},
      {"broadcast binomial segmented", 2 * 35 * 4 + 3 * 100},
      {"scatter flat", 4 * 110 + 100},
      {"scatter chain", 110 + 210.1 + 310.2 + 410.3 + 4 * 100},
      {"scatter binomial", 110 + 210.1 + 410.3 + 3 * 100},
      {"alltoall", 152 + (572 - 152) * 0.25},
      {"alltoall lower", 4 * 5 + 4 * 8 + 100},
      {"alltoall upper", 4 * 110 + 4 * 8 + 100},
      {"reduce flat", 540 + 100},
      {"reduce chain", 840 + 4 * 100},
      {"reduce chain segmented", 645 + 4 * 100 * 251.0 / 1001},
      {"reduce binomial", 520 + 3 * 100},
      {"gather flat", 540},
      {"gather chain", 1440.6},
      {"gather binomial", 1030.4},
      {"allreduce flat", 640 + 540},
      {"allreduce chain", 1240 + 840},
      {"allreduce binomial", 820 + 520},
      {"allreduce ring", 4 * (2 * 30 + 2 * 100 + 100 * 201.0 / 1001)},
      {"barrier flat", 640 + 540},  // of the same call: form_of gives barriers their one byte
      {"barrier chain", 1240 + 840},
      {"barrier binomial", 820 + 520},
      {"allgather chain", 840},
  };
  std::set<std::string> seen;
  for (const ClosedForm& form : closed_forms()) {
    const std::string name(form.name);
    ASSERT_TRUE(microseconds.contains(name)) << name << " has no value by hand";
    EXPECT_NEAR(seconds(form, by_hand(), kCall) / kMicro, microseconds.at(name), 1e-6) << name;
    EXPECT_EQ(seconds(form, by_hand(), {.n_ranks = 1, .bytes = 1001}), 0) << name << " of one rank";
    EXPECT_TRUE(seen.insert(name).second) << name << " stands twice";
  }
  EXPECT_EQ(seen.size(), microseconds.size());
}

TEST(ClosedForms, NameAlgorithmsThatExist) {
  for (const ClosedForm& form : closed_forms()) {
    const algo::Algorithm* algorithm = algo::find(form.algorithm);
    ASSERT_NE(algorithm, nullptr) << form.algorithm;
    EXPECT_EQ(algorithm->collective, form.collective) << form.name;
  }
}

TEST(ClosedForms, TheRowFollowsFromSegmentsAndTheEagerLimit) {
  const auto name = [](std::string_view algorithm, std::size_t bytes, std::size_t segment,
                       std::optional<std::size_t> eager_limit) {
    const ClosedForm* form =
        form_of(algorithm, {.n_ranks = 8, .bytes = bytes, .segment_bytes = segment}, eager_limit);
    return form == nullptr ? std::string("none") : std::string(form->name);
  };
  EXPECT_EQ(name("broadcast/chain", 65536, 0, std::nullopt), "broadcast chain");
  EXPECT_EQ(name("broadcast/chain", 65536, 0, 65536), "broadcast chain");
  EXPECT_EQ(name("broadcast/chain", 65536, 0, 65535), "broadcast chain rendezvous");
  EXPECT_EQ(name("broadcast/chain", 65536, 8192, 4096), "broadcast chain segmented");
  EXPECT_EQ(name("broadcast/chain", 65536, 65536, std::nullopt), "broadcast chain") << "one segment";
  EXPECT_EQ(name("broadcast/kary", 65536, 0, 4096), "broadcast binary") << "the paper has no rendezvous row";
  EXPECT_EQ(name("alltoall/flat", 65536, 0, std::nullopt), "alltoall") << "the estimate, not a bound";
  EXPECT_EQ(name("broadcast/kary", 65536, 8192, std::nullopt), "none");
  EXPECT_EQ(name("broadcast/subnets", 65536, 0, std::nullopt), "none");
}

TEST(ClosedForms, MessagesOfProblems) {
  EXPECT_EQ(call_of({.collective = coll::Collective::broadcast, .n_ranks = 8, .bytes = 8000}).bytes, 8000u);
  EXPECT_EQ(call_of({.collective = coll::Collective::scatter, .n_ranks = 8, .bytes = 8000}).bytes, 1000u);
  EXPECT_EQ(call_of({.collective = coll::Collective::barrier, .n_ranks = 8}).bytes, 1u);
}

TEST(SegmentSearch, FindsTheBestSegmentOfAPipeline) {
  // (P-1) (g(s) + L) + g(s) (m/s - 1) with g = a + s b has its least at s = sqrt(a m / ((P-2) b)).
  const double a = 10e-6;
  const double b = 1e-8;
  PLogP net;
  net.latency_s = 50e-6;
  net.gap = Curve({{0, a}, {1 << 20, a + b * (1 << 20)}});
  const std::size_t m = 1 << 20;
  const auto cost = [&](std::size_t s) {
    return broadcast_chain_segmented(net, {.n_ranks = 8, .bytes = m, .segment_bytes = s});
  };
  const SegmentChoice best = search_segment({.bytes = m, .least_bytes = 64, .element_bytes = 8}, cost);
  const double optimum = std::sqrt(a * static_cast<double>(m) / (6 * b));
  EXPECT_NEAR(static_cast<double>(best.segment_bytes) / optimum, 1, 0.15);
  EXPECT_EQ(best.segment_bytes % 8, 0u);
  EXPECT_DOUBLE_EQ(best.seconds, cost(best.segment_bytes));
  double halves = 1e300;  // what halving alone would find
  for (std::size_t s = m; s >= 64; s /= 2) halves = std::min(halves, cost(s));
  EXPECT_LT(best.seconds, halves) << "hill climbing must find more";
  EXPECT_LT(best.n_asked, 40);
}

TEST(SegmentSearch, StaysWithinItsRange) {
  std::set<std::size_t> asked;
  const auto cheaper_small = [&](std::size_t s) {
    EXPECT_TRUE(asked.insert(s).second) << s << " asked twice";
    return static_cast<double>(s);
  };
  EXPECT_EQ(
      search_segment({.bytes = 1000, .least_bytes = 100, .element_bytes = 8}, cheaper_small).segment_bytes,
      104u);
  for (const std::size_t s : asked) EXPECT_TRUE(s >= 100 && s <= 1000) << s;
  const auto cheaper_large = [](std::size_t s) { return -static_cast<double>(s); };
  EXPECT_EQ(
      search_segment({.bytes = 1001, .least_bytes = 64, .element_bytes = 8}, cheaper_large).segment_bytes,
      1001u);
  const auto all_alike = [](std::size_t) { return 1.0; };
  EXPECT_EQ(search_segment({.bytes = 4096}, all_alike).segment_bytes, 4096u) << "fewer messages";
  EXPECT_EQ(search_segment({.bytes = 3, .least_bytes = 100}, all_alike).segment_bytes, 3u);
  EXPECT_THROW(search_segment({.bytes = 0}, all_alike), InvalidArgument);
}

TEST(Gamma, IsTheMedianBetweenTheBounds) {
  const PLogP net = by_hand();
  std::vector<MeasuredExchange> measured;
  for (const std::size_t bytes : {251u, 1001u, 2001u}) {
    const double t = alltoall_expected(net, {.n_ranks = 8, .bytes = bytes, .gamma = 0.4});
    measured.push_back({8, bytes, t});
  }
  EXPECT_NEAR(fit_gamma(net, measured).value(), 0.4, 1e-9);
  measured.back().seconds *= 10;
  EXPECT_NEAR(fit_gamma(net, measured).value(), 0.4, 1e-9) << "one disturbed measurement";
  measured[1].seconds = alltoall_upper(net, {.n_ranks = 8, .bytes = 1001}) * 2;
  EXPECT_GT(fit_gamma(net, measured).value(), 1) << "contention beyond serialising is not hidden";
  EXPECT_FALSE(fit_gamma(net, {}));
  PLogP free = net;
  free.gap = free.send_overhead;
  EXPECT_FALSE(fit_gamma(free, measured)) << "the bounds are one";
}

}  // namespace
}  // namespace eco::model
