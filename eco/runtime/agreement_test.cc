#include "eco/runtime/agreement.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <limits>

#include "eco/base/errors.h"
#include "eco/transport/loopback/loopback.h"
#include "eco/transport/passing.h"

namespace eco::runtime {
namespace {

TEST(Agreement, OneRankThatThrowsIsAReasonOnAll) {
  transport::Hub hub(3);
  transport::run_ranks(hub, [](transport::LoopbackTransport& transport, transport::LoopbackNative& native) {
    Agreement agreement(native, transport.rank(), 3);
    for (int thrower = 0; thrower < 3; ++thrower) {
      const auto reason = agreement.failed([&] {
        if (transport.rank() >= thrower) throw std::runtime_error("rank " + std::to_string(transport.rank()));
      });
      ASSERT_TRUE(reason);
      EXPECT_EQ(*reason, "rank " + std::to_string(thrower)) << "the lowest rank's";
    }
    EXPECT_FALSE(agreement.failed([] {}));
    const auto unknown = agreement.failed([] { throw 7; });
    ASSERT_TRUE(unknown);
    EXPECT_FALSE(unknown->empty());
    EXPECT_TRUE(agreement.equal(0xfedcba9876543210u));
    EXPECT_FALSE(agreement.equal(transport.rank() == 1 ? 1u : 2u));
    EXPECT_FALSE(agreement.equal(transport.rank() == 1 ? std::uint64_t{1} << 63 : 0u));
    EXPECT_FALSE(agreement.all(transport.rank() != 2));
    // Numbers in the same exchange, as the work has set them, whether it fails or not.
    std::array<std::int64_t, 2> least{};
    const auto set = [&] { least = {transport.rank(), -transport.rank()}; };
    EXPECT_FALSE(agreement.failed(set, least));
    EXPECT_EQ(least, (std::array<std::int64_t, 2>{0, -2}));
    EXPECT_TRUE(agreement.failed(
        [&] {
          least = {7 - transport.rank(), 7};
          if (transport.rank() == 1) throw Error("no");
        },
        least));
    EXPECT_EQ(least, (std::array<std::int64_t, 2>{5, 7}));
    const std::uint64_t own = transport.rank() == 2 ? std::uint64_t{1} << 40 : 0u;
    EXPECT_EQ(agreement.equal(own, 7), (std::array<bool, 2>{false, true}));
    EXPECT_EQ(agreement.share("from " + std::to_string(transport.rank()), 2), "from 2");
    EXPECT_EQ(agreement.share({}), "");
    EXPECT_EQ(agreement.largest(transport.rank()), 2.0);
    // Lengths on both sides of what goes with its length, and of what there is room for.
    for (const std::size_t n : {1023u, 1024u, 1025u, 5000u, 33792u, 33793u, 100'000u}) {
      const std::string sent(n, 'x');
      EXPECT_EQ(agreement.share(transport.rank() == 1 ? sent : "mine", 1), sent);
      std::string text = transport.rank() == 0 ? sent : "";
      std::string seen;
      EXPECT_FALSE(agreement.share_and(text, [&] { seen = text; }));
      EXPECT_EQ(seen, sent);
      const auto objection = agreement.share_and(text, [&] {
        if (transport.rank() == 2) throw Error("not this");
      });
      EXPECT_EQ(objection, std::optional<std::string>("not this"));
    }
  });
}

// Hears of a text far larger than any memory on one rank.
class Exaggerating final : public transport::PassingNative {
 public:
  Exaggerating(transport::Native& below, bool exaggerates)
      : PassingNative(below), exaggerates_(exaggerates) {}
  void broadcast(std::span<std::byte> bytes, int root) override {
    below_.broadcast(bytes, root);
    const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
    if (exaggerates_ && !has_exaggerated_)
      std::memcpy(bytes.data(), &huge, sizeof huge);  // the text's length
    has_exaggerated_ = true;
  }

 private:
  bool exaggerates_;
  bool has_exaggerated_ = false;
};

TEST(Agreement, ATextWithoutRoomOnOneRankIsAReasonOnAll) {
  transport::Hub hub(3);
  transport::run_ranks(hub, [](transport::LoopbackTransport& transport, transport::LoopbackNative& native) {
    Exaggerating exaggerating(native, transport.rank() == 1);
    Agreement agreement(exaggerating, transport.rank(), 3);
    EXPECT_THROW(agreement.share("a text", 0), TransportError);
    EXPECT_TRUE(agreement.all(true)) << "and the ranks are still together";
    const auto reason = agreement.failed([] { throw Error(std::string(10'000, 'x')); });
    ASSERT_TRUE(reason);
    EXPECT_EQ(*reason, std::string(Agreement::kReasonRoom - 1, 'x'));
  });
}

}  // namespace
}  // namespace eco::runtime
