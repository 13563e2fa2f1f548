#include "eco/runtime/common_start.h"

#include <gtest/gtest.h>

#include <vector>

#include "eco/transport/loopback/loopback.h"

namespace eco::runtime {
namespace {

constexpr std::int64_t kFar_ns = 500'000'000;

TEST(CommonStart, ComesAsNearAsTheRanksHearOfIt) {
  transport::Hub hub(4);
  transport::run_ranks(hub, [](transport::LoopbackTransport&, transport::LoopbackNative& native) {
    CommonStart start(native, true, kFar_ns);
    start.fit();
    EXPECT_LT(start.lead_ns(), kFar_ns);
    EXPECT_GE(start.lead_ns(), CommonStart::kQuick_ns);
    std::vector<double> of_all{static_cast<double>(start.lead_ns()), -static_cast<double>(start.lead_ns())};
    native.allreduce_max(of_all);
    EXPECT_EQ(of_all[0], -of_all[1]) << "the same on all ranks";

    CommonStart near(native, true, 1'000'000);
    near.fit();
    EXPECT_EQ(near.lead_ns(), 1'000'000) << "never further ahead than before";
  });
}

TEST(CommonStart, ComesNearerAgainWhenNobodyIsLateAnyMore) {
  transport::Hub hub(2);
  transport::run_ranks(hub, [](transport::LoopbackTransport&, transport::LoopbackNative& native) {
    CommonStart start(native, true, 1'000'000);
    EXPECT_TRUE(start.widen());
    EXPECT_TRUE(start.widen());
    EXPECT_EQ(start.lead_ns(), 4'000'000);
    for (int i = 0; i < 60; ++i) start.wait();
    EXPECT_EQ(start.lead_ns(), 4'000'000);
    for (int i = 0; i < 10; ++i) start.wait();
    EXPECT_EQ(start.lead_ns(), 2'000'000);
    for (int i = 0; i < 200; ++i) start.wait();
    EXPECT_EQ(start.lead_ns(), 1'000'000) << "and no nearer than it was asked for";
  });
}

TEST(CommonStart, TheNextInstantNeedsNoTelling) {
  transport::Hub hub(2);
  transport::run_ranks(hub, [](transport::LoopbackTransport& transport, transport::LoopbackNative& native) {
    CommonStart start(native, true, kFar_ns / 10);
    const Begin first = start.wait();
    const Begin second = start.wait_after(0.02);
    EXPECT_EQ(second.at_ns, first.at_ns + 20'000'000);
    EXPECT_GE(second.overslept_s, 0.0);
    if (transport.rank() == 1) sleep_until(second.at_ns + 30'000'000);  // busy beyond the next one
    EXPECT_TRUE(transport.rank() == 0 || start.wait_after(0.02).late);

    CommonStart apart(native, false);
    const Begin met = apart.wait_after(0.001);
    EXPECT_GT(met.at_ns, second.at_ns) << "where no clock is common, it is told";
  });
}

}  // namespace
}  // namespace eco::runtime
