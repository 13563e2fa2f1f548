#include "eco/sim/fair_sharing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <utility>

namespace eco::sim {
namespace {

constexpr double kNever_s = 1e18;
constexpr double kHop = 1e-3;

std::vector<net::Resource> resources_of(const std::vector<double>& rates) {
  std::vector<net::Resource> resources;
  for (const double rate : rates) resources.push_back({net::ResourceKind::host_transmit, "", rate, 0, -1});
  return resources;
}

// When each message ends, if nothing else is added.
std::map<std::uint32_t, double> ends_of(FairSharing& flows) {
  std::map<std::uint32_t, double> ends;
  std::vector<std::uint32_t> messages;
  while (flows.ends_by(kNever_s)) {
    const double s = flows.end_s();
    messages.clear();
    flows.take_ended(messages);
    EXPECT_FALSE(messages.empty());
    for (const std::uint32_t message : messages) ends[message] = s;
  }
  EXPECT_TRUE(flows.is_empty());
  return ends;
}

struct Sent {
  net::Route route;
  double bytes;
};

// Of messages that start together, each on a route of its own.
std::map<std::uint32_t, double> ends_of(const std::vector<double>& rates, const std::vector<Sent>& messages) {
  FairSharing flows(resources_of(rates), 0);
  for (std::uint32_t i = 0; i < messages.size(); ++i)
    flows.add(i, messages[i].route, i, messages[i].bytes, 0);
  return ends_of(flows);
}

TEST(FairSharing, MessagesOfOneRouteShareIt) {
  FairSharing flows(resources_of({100}), 0);
  const net::Route route{{0}, kHop};
  flows.add(0, route, 1, 100, 0);
  flows.add(0, route, 2, 300, 0);
  EXPECT_FALSE(flows.ends_by(1.9));
  const auto ends = ends_of(flows);
  EXPECT_NEAR(ends.at(1), 2, 1e-9);  // 50 bytes/s each
  EXPECT_NEAR(ends.at(2), 4, 1e-9);  // and 200 bytes that it has for itself
}

TEST(FairSharing, WhatOneCannotUseIsForTheOthers) {
  // Routes 0 and 1 leave by the same port of 100; route 0 comes in by one of 20.
  const auto ends = ends_of({100, 20}, {{{{0, 1}, kHop}, 20}, {{{0}, kHop}, 80}});
  EXPECT_NEAR(ends.at(0), 1, 1e-9);
  EXPECT_NEAR(ends.at(1), 1, 1e-9);
}

TEST(FairSharing, SharesAreInInverseProportionToTheLatency) {
  const auto ends = ends_of({100}, {{{{0}, kHop}, 80}, {{{0}, 4 * kHop}, 80}});
  EXPECT_NEAR(ends.at(0), 1, 1e-9);    // 80 bytes/s
  EXPECT_NEAR(ends.at(1), 1.6, 1e-9);  // 20 in the first second, then 100 a second
}

TEST(FairSharing, WhatComesLaterSlowsDownWhatIsThere) {
  FairSharing flows(resources_of({100}), 0);
  const net::Route route{{0}, kHop};
  flows.add(0, route, 0, 100, 0);
  ASSERT_FALSE(flows.ends_by(0.5));
  flows.add(0, route, 1, 25, 0.5);
  const auto ends = ends_of(flows);
  EXPECT_NEAR(ends.at(1), 1.0, 1e-9);
  EXPECT_NEAR(ends.at(0), 1.25, 1e-9);
}

TEST(FairSharing, RoutesThatMeetNowhereDoNotDisturbEachOther) {
  const auto ends = ends_of({100, 10}, {{{{0}, kHop}, 100}, {{{1}, kHop}, 100}});
  EXPECT_NEAR(ends.at(0), 1, 1e-9);
  EXPECT_NEAR(ends.at(1), 10, 1e-9);
}

TEST(FairSharing, WhatIsNearlyThroughEndsWithTheFirst) {
  FairSharing flows(resources_of({100}), 0.01);
  const net::Route route{{0}, kHop};
  flows.add(0, route, 0, 1000, 0);
  flows.add(0, route, 1, 1009, 0);
  flows.add(0, route, 2, 1011, 0);
  const auto ends = ends_of(flows);
  EXPECT_NEAR(ends.at(0), 30, 1e-9);
  EXPECT_EQ(ends.at(1), ends.at(0));
  EXPECT_NEAR(ends.at(2), 30.11, 1e-6);
}

struct Under {
  net::Route route;
  double left = 0;
};

// Straight from the definition: rates of all messages, each alone, by filling all resources at once.
std::map<std::uint32_t, double> rates_of(const std::map<std::uint32_t, Under>& under,
                                         std::vector<double> left) {
  std::map<std::uint32_t, double> rates;
  while (rates.size() < under.size()) {
    std::vector<double> weight(left.size(), 0);
    for (const auto& [message, its] : under) {
      if (rates.contains(message)) continue;
      for (const int r : its.route.resources) weight[static_cast<std::size_t>(r)] += 1 / its.route.latency_s;
    }
    std::size_t full = 0;
    for (std::size_t r = 0; r < left.size(); ++r) {
      if (weight[r] > 0 && (weight[full] == 0 || left[r] / weight[r] < left[full] / weight[full])) full = r;
    }
    const double level = left[full] / weight[full];
    for (const auto& [message, its] : under) {
      const auto& over = its.route.resources;
      if (rates.contains(message) ||
          std::find(over.begin(), over.end(), static_cast<int>(full)) == over.end())
        continue;
      rates[message] = level / its.route.latency_s;
      for (const int r : over) left[static_cast<std::size_t>(r)] -= rates[message];
    }
  }
  return rates;
}

// Ports of 6 hosts and one link between them, messages that come and go at random.
TEST(FairSharing, AgreesWithTheDefinition) {
  std::mt19937 random(7);
  std::vector<double> rates(12, 100);
  for (std::size_t port = 6; port < rates.size(); port += 2) rates[port] = 70;
  rates.push_back(30);
  FairSharing flows(resources_of(rates), 0);
  std::map<std::uint32_t, Under> under;
  std::vector<std::uint32_t> messages;
  double now = 0;
  for (std::uint32_t message = 0; message < 400; ++message) {
    const double coming = now + static_cast<double>(random() % 1000) * 1e-3;
    for (;;) {
      double first = kNever_s;
      const auto speeds = rates_of(under, rates);
      for (const auto& [m, its] : under) first = std::min(first, now + its.left / speeds.at(m));
      const bool ends = flows.ends_by(coming);
      if (std::abs(first - coming) > 1e-6) {
        ASSERT_EQ(ends, first <= coming);
      }
      const double until = ends ? flows.end_s() : coming;
      if (ends) {
        ASSERT_NEAR(until, first, 1e-6);
      }
      for (auto& [m, its] : under) its.left -= speeds.at(m) * (until - now);
      now = until;
      if (!ends) break;
      messages.clear();
      flows.take_ended(messages);
      for (const std::uint32_t m : messages) {
        ASSERT_NEAR(under.at(m).left, 0, 1e-4);
        under.erase(m);
      }
    }
    const int from = static_cast<int>(random() % 6);
    const int to = (from + 1 + static_cast<int>(random() % 5)) % 6;
    const bool crosses = (from < 3) != (to < 3);
    net::Route route{{from, 6 + to}, crosses ? 5e-3 : 1e-3};
    if (crosses) route.resources.push_back(12);
    const double bytes = 1 + static_cast<double>(random() % 100);
    under[message] = {route, bytes};
    flows.add(static_cast<std::uint32_t>(6 * from + to), route, message, bytes, now);
  }
}

}  // namespace
}  // namespace eco::sim
