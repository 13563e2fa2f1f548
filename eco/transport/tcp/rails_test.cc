#include "eco/transport/tcp/rails.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <mutex>
#include <string>
#include <vector>

#include "eco/base/errors.h"
#include "eco/transport/loopback/loopback.h"
#include "eco/transport/tcp/testing.h"

namespace eco::transport::tcp {
namespace {

std::vector<std::string> rails(const std::vector<std::string>& lines, std::string& reason) {
  reason.clear();
  return names_of(common_rails(lines, reason));
}

TEST(Rails, AreTheNetworksOfAllHosts) {
  std::string reason;
  const std::vector<std::string> found = rails(
      {"a 10.1.0.0/24 10.1.0.1 10.2.0.0/24 10.2.0.1", "b 10.2.0.0/24 10.2.0.2 10.1.0.0/24 10.1.0.2"}, reason);
  EXPECT_EQ(found, (std::vector<std::string>{"10.1.0.0/24", "10.2.0.0/24"})) << "in rank 0's order";
  EXPECT_EQ(reason, "");
}

TEST(Rails, ThoseThatSomeHostsLackComeLast) {
  std::string reason;
  const std::vector<CommonRail> found = common_rails(
      {"a#1 10.8.0.0/24 10.8.0.1 10.1.0.0/24 10.1.0.1", "b#2 10.1.0.0/24 10.1.0.2 10.9.0.0/24 10.9.0.2",
       "c#3 10.9.0.0/24 10.9.0.3 10.1.0.0/24 10.1.0.3", "d#4 10.1.0.0/24 10.1.0.4 10.8.0.0/24 10.8.0.4"},
      reason);
  EXPECT_EQ(names_of(found), (std::vector<std::string>{"10.1.0.0/24", "10.8.0.0/24", "10.9.0.0/24"}));
  EXPECT_EQ(found[1].lacking, (std::vector<std::string>{"b", "c"}));
  EXPECT_EQ(found[2].lacking, (std::vector<std::string>{"a", "d"})) << "rank 0 lacks it itself";
  EXPECT_EQ(who_lacks(found[0]), "");
  EXPECT_EQ(who_lacks(found[1]), "not on b, c");
  EXPECT_EQ(who_lacks({"n", {"a", "b", "c", "d", "e"}}), "not on a, b, c and 2 more");
  EXPECT_EQ(reason, "");
}

TEST(Rails, SomeHostsWithTheSameAddressHaveNone) {
  std::string reason;
  const auto found = rails({"a 10.1.0.0/24 10.1.0.1", "b 10.1.0.0/24 10.1.0.2 172.17.0.0/16 172.17.0.1",
                            "c 10.1.0.0/24 10.1.0.3 172.17.0.0/16 172.17.0.1"},
                           reason);
  EXPECT_EQ(found, std::vector<std::string>{"10.1.0.0/24"});
  EXPECT_EQ(reason, "172.17.0.0/16 has the same address on several hosts");
}

TEST(Rails, ANetworkOfOneHostIsNone) {
  std::string reason;
  const auto found = rails({"a 10.1.0.0/24 10.1.0.1 10.9.0.0/24 10.9.0.1", "b 10.1.0.0/24 10.1.0.2"}, reason);
  EXPECT_EQ(found, std::vector<std::string>{"10.1.0.0/24"});
  EXPECT_EQ(reason, "10.9.0.0/24 is on one host only");
  rails({"a 10.1.0.0/24 10.1.0.1", "b 10.1.0.0/24 10.1.0.2 10.9.0.0/24 10.9.0.1"}, reason);
  EXPECT_EQ(reason, "") << "there may be as many of these as hosts";
  // Two ranks of a host that do not see the same networks: nobody knows what the host has.
  EXPECT_EQ(rails({"a n 10.1.0.1 m 10.2.0.1", "a n 10.1.0.1", "b n 10.1.0.2 m 10.2.0.2"}, reason),
            std::vector<std::string>{"n"});
}

TEST(Rails, ABridgeOfContainersIsNone) {
  std::string reason;
  const auto found = rails(
      {"a 172.17.0.0/16 172.17.0.1 10.1.0.0/24 10.1.0.1", "b 172.17.0.0/16 172.17.0.1 10.1.0.0/24 10.1.0.2"},
      reason);
  EXPECT_EQ(found, std::vector<std::string>{"10.1.0.0/24"});
  EXPECT_EQ(reason, "172.17.0.0/16 has the same address on several hosts");
  // Ranks of one host have it too, and may.
  EXPECT_EQ(rails({"a n 10.1.0.1", "a n 10.1.0.1", "b n 10.1.0.2"}, reason).size(), 1u);
}

// Hosts that are threads, each with its own address on two networks of the loopback.
std::vector<MetOnRails> meet_as(int n_hosts, const std::function<WantedRails(int)>& wanted) {
  Hub hub(n_hosts);
  std::vector<MetOnRails> all(static_cast<std::size_t>(n_hosts));
  run_ranks(hub, [&](LoopbackTransport& transport, LoopbackNative& native) {
    const int rank = transport.rank();
    all[static_cast<std::size_t>(rank)] = meet_on_rails(native, rank, n_hosts, wanted(rank));
  });
  return all;
}

std::string on_loopback(int network, int rank) {
  return "127." + std::to_string(network) + ".0." + std::to_string(1 + rank);
}

TEST(Rails, NamedOnesAreMetOn) {
  // Addresses differ between hosts, so they are given by number here: the names of rails have to be the same.
  const auto all = meet_as(3, [](int rank) {
    return WantedRails{.host = std::to_string(rank), .wanted = {"lo", "127.0.0.1"}, .fewest = 2};
  });
  for (const MetOnRails& met : all) {
    EXPECT_FALSE(met.transport);
    EXPECT_NE(met.reason.find("lo has the same address on several hosts"), std::string::npos) << met.reason;
  }
}

TEST(Rails, OneRankThatLacksWhatIsNamedLeavesAllWithout) {
  const auto all = meet_as(2, [](int rank) {
    return WantedRails{
        .host = std::to_string(rank), .wanted = {rank == 1 ? "nothing0" : on_loopback(1, rank)}, .fewest = 1};
  });
  for (const MetOnRails& met : all) {
    EXPECT_FALSE(met.transport);
    EXPECT_NE(met.reason.find("nothing0"), std::string::npos) << met.reason;
  }
}

TEST(Rails, WhereOneRankMayNotHaveTheirDescriptorsThereAreNone) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{100, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  const auto meet_alike = [](int n_ranks) {
    return meet_as(n_ranks, [](int) { return WantedRails{.host = "one", .wanted = {"lo"}, .fewest = 1}; });
  };
  const auto many = meet_alike(20);
  const auto three = meet_alike(3);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  for (const MetOnRails& met : many) {
    EXPECT_FALSE(met.transport);
    EXPECT_NE(met.reason.find("descriptors"), std::string::npos) << met.reason;
  }
  for (const MetOnRails& met : three) EXPECT_TRUE(met.transport) << met.reason;
}

TEST(Rails, RanksOfOneHostHaveNoUseForSeveral) {
  const auto all = meet_as(2, [](int) { return WantedRails{.host = "one", .wanted = {"lo"}, .fewest = 2}; });
  for (const MetOnRails& met : all) EXPECT_EQ(met.reason, "all ranks are on one host");
  const auto one = meet_as(2, [](int) { return WantedRails{.host = "one", .wanted = {"lo"}, .fewest = 1}; });
  for (const MetOnRails& met : one) {
    EXPECT_TRUE(met.transport) << met.reason;
    EXPECT_EQ(names_of(met.rails), std::vector<std::string>{"lo"});
  }
}

}  // namespace
}  // namespace eco::transport::tcp
