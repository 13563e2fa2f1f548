#include "eco/runtime/steps.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>

#include "eco/base/errors.h"
#include "eco/transport/loopback/loopback.h"

namespace eco::runtime {
namespace {

// The reason of a step that ends on every one of three ranks.
void expect_end(const std::string& reason, const std::function<void(Steps&)>& steps_of_rank) {
  transport::Hub hub(3);
  transport::run_ranks(hub, [&](transport::LoopbackTransport& transport, transport::LoopbackNative& native) {
    Steps steps(native, transport.rank(), 3);
    std::string told = "it did not end";
    try {
      steps_of_rank(steps);
    } catch (const StaysNative& stays) {
      told = stays.reason;
    }
    EXPECT_EQ(told, reason) << "rank " << transport.rank();
    EXPECT_TRUE(steps.agreement().all(true)) << "and the ranks are still together";
  });
}

std::pair<Found, std::string> found_text() { return {Found::text, "found"}; }

void fail_on(const Steps& steps, int rank) {
  if (steps.rank() == rank) throw Error("rank " + std::to_string(rank) + " fails");
}

TEST(Steps, WhatOneRankMeetsWithAloneEndsTheNextStepOnAll) {
  for (int rank = 0; rank < 3; ++rank) {
    const std::string reason = "alone: rank " + std::to_string(rank) + " fails";
    expect_end(reason, [rank](Steps& steps) {
      steps.alone("alone: ", [&] { fail_on(steps, rank); });
      steps.together("", [] {});
    });
    expect_end(reason, [rank](Steps& steps) {
      steps.alone("alone: ", [&] { fail_on(steps, rank); });
      steps.look("", found_text);
    });
  }
  expect_end("it did not end", [](Steps& steps) {
    steps.alone("", [] {});
    steps.together("", [] {});
    EXPECT_EQ(steps.look("", found_text), found_text());
  });
}

TEST(Steps, TheFirstThatARankMeetsWithCounts) {
  expect_end("one: rank 1 fails", [](Steps& steps) {
    steps.alone("one: ", [&] { fail_on(steps, 1); });
    steps.alone("two: ", [&] { fail_on(steps, 1); });
    steps.together("three: ", [] {});
  });
}

TEST(Steps, WhatIsFoundIsTakenOnEveryRank) {
  expect_end("it did not end", [](Steps& steps) {
    std::string taken;
    const std::string text(50'000, 'x');
    steps.look(
        "", [&] { return std::pair(Found::by_hand, text); },
        [&](Found found, const std::string& of_rank_0) {
          EXPECT_EQ(found, Found::by_hand);
          taken = of_rank_0;
        });
    EXPECT_EQ(taken, text);
  });
  for (int rank = 0; rank < 3; ++rank) {
    expect_end("looking: rank " + std::to_string(rank) + " fails", [rank](Steps& steps) {
      steps.look("looking: ", found_text, [&](Found, const std::string&) { fail_on(steps, rank); });
    });
  }
}

TEST(Steps, WhatRank0CanNotFindNobodyTakes) {
  expect_end("looking: rank 0 fails", [](Steps& steps) {
    const auto look = [&] {
      fail_on(steps, 0);
      return found_text();
    };
    steps.look("looking: ", look, [](Found, const std::string&) { ADD_FAILURE() << "nothing was found"; });
  });
}

}  // namespace
}  // namespace eco::runtime
