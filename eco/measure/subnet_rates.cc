#include "eco/measure/subnet_rates.h"

#include <algorithm>
#include <cmath>

#include "eco/measure/derive.h"
#include "eco/measure/find_tree.h"

namespace eco::measure {
namespace {

// Streams: eager messages, enough of them to last long enough.
constexpr std::size_t kLongestStreamBytes = 16384;
constexpr std::size_t kShortestStreamBytes = 2048;
constexpr int kFewestInStream = 4;
constexpr int kMostInStream = 64;
constexpr int kRateRepeats = 3;
// Of a stream's time what is its own at least, whatever its way is said to take.
constexpr double kLeastOfTime = 0.1;
// And of its way's: what is left of it must be more than the way's scatter.
constexpr double kLeastOfWay = 0.5;
// More classes of pairs than this get their rate from the pair times alone.
constexpr std::size_t kMostRateClasses = 64;

net::Partition partition_of(const net::Network& network) {
  net::Partition partition;
  for (const net::Subnet& subnet : network.subnets) partition.push_back(subnet.hosts);
  return partition;
}

double expected_rate(const net::Network& network, const HostFlow& flow) {
  for (std::size_t s = 0; s < network.subnets.size(); ++s) {
    const auto& hosts = network.subnets[s].hosts;
    const bool has_from = std::find(hosts.begin(), hosts.end(), flow.from) != hosts.end();
    const bool has_to = std::find(hosts.begin(), hosts.end(), flow.to) != hosts.end();
    if (has_from && has_to) return network.subnets[s].bytes_per_s;
  }
  double slowest = 1e300;
  for (const net::Between& pair : network.between) slowest = std::min(slowest, pair.bytes_per_s);
  return slowest;
}

// What a message of nothing takes there and back: where that is long, a stream in a budget is short beside it, and how much longer
// several take together would not show.
double way_s(const net::Network& network, const HostFlow& flow) {
  const auto [a, b] = std::minmax(flow.from, flow.to);
  const auto pair = std::ranges::find_if(
      network.pairs, [a = a, b = b](const net::PairTimes& times) { return times.a == a && times.b == b; });
  return pair == network.pairs.end() ? 0 : 2 * pair->seconds.front();
}

void set_kinds(net::Network& network) {
  for (std::size_t s = 0; s < network.subnets.size(); ++s) {
    const std::string what = SharingTest{Question::bus, static_cast<int>(s), {}}.what();
    const auto found = std::find_if(network.concurrent.begin(), network.concurrent.end(),
                                    [&](const net::ConcurrentTest& test) { return test.what == what; });
    net::Subnet& subnet = network.subnets[s];
    subnet.kind = kind_from(subnet.hosts.size(), found == network.concurrent.end() ? nullptr : &*found);
  }
}

}  // namespace

void SubnetRates::measure(net::Network& network) {
  measure_inside(network);
  measure_between(network);
  run_tests(network, tests_inside(partition_of(network)));
  set_kinds(network);
  const std::vector<SharingTest> across = tests_across(network);
  run_tests(network, across);
  derive_uplinks(network, across);
}

void SubnetRates::take_from_tree(net::Network& network) {
  const std::vector<int> level_of_host = network.tree.level_of_host();
  for (net::Subnet& subnet : network.subnets) {
    const int host = subnet.hosts.front();
    const auto level = static_cast<std::size_t>(level_of_host[static_cast<std::size_t>(host)]);
    subnet.kind = network.tree.levels[level].kind;
    if (subnet.hosts.size() > 1) subnet.bytes_per_s = network.tree.levels[level].bytes_per_s;
  }
  measure_between(network);
  std::vector<SharingTest> tests = tests_inside(partition_of(network));
  std::erase_if(tests, [&](const SharingTest& test) {
    const bool is_ring = test.flows.back().to == test.flows.front().from;
    return !is_ring ||
           network.subnets[static_cast<std::size_t>(test.subnet)].kind != net::SubnetKind::switched;
  });
  std::stable_sort(tests.begin(), tests.end(), [&](const SharingTest& x, const SharingTest& y) {
    const auto rate = [&](const SharingTest& test) {
      return network.subnets[static_cast<std::size_t>(test.subnet)].bytes_per_s;
    };
    return rate(x) > rate(y);
  });
  if (tests.size() > 1) tests.resize(1);  // the fastest
  run_tests(network, tests);
  network.uplinks = uplinks_of(network.tree, network.subnets);
}

SubnetRates::StreamShape SubnetRates::shape(double bytes_per_s, double stream_s) {
  const double total = stream_s * bytes_per_s;
  std::size_t bytes = kLongestStreamBytes;
  while (bytes > kShortestStreamBytes && static_cast<double>(bytes) * kFewestInStream > total) bytes /= 2;
  const double messages = total / static_cast<double>(bytes);
  return {bytes, static_cast<int>(std::clamp(messages, static_cast<double>(kFewestInStream),
                                             static_cast<double>(kMostInStream)))};
}

double SubnetRates::measured_rate(int a, int b, double otherwise) {
  const Flow flow{rank_of(a), rank_of(b)};
  const auto [bytes, count] = shape(otherwise, options_.stream_s);
  double one = 1e300;
  double all = 1e300;
  for (int i = 0; i < kRateRepeats && options_.in_time(); ++i) {
    one = std::min(one, conductor_.streams({flow}, bytes, 1)[0].elapsed_s);
    all = std::min(all, conductor_.streams({flow}, bytes, count)[0].elapsed_s);
  }
  const double rate = stream_rate(bytes, count, one, all);
  return rate > 0 ? rate : otherwise;
}

void SubnetRates::measure_inside(net::Network& network) {
  for (std::size_t s = 0; s < std::min(network.subnets.size(), kMostRateClasses); ++s) {
    net::Subnet& subnet = network.subnets[s];
    if (subnet.hosts.size() == 1) continue;
    options_.say("rates inside subnets", 0.8);
    subnet.bytes_per_s = measured_rate(subnet.hosts[0], subnet.hosts[1], subnet.bytes_per_s);
  }
}

void SubnetRates::measure_between(net::Network& network) {
  std::vector<double> best_outside(network.subnets.size(), 0);
  for (std::size_t i = 0; i < network.between.size(); ++i) {
    net::Between& pair = network.between[i];
    const auto from = static_cast<std::size_t>(pair.from);
    const auto to = static_cast<std::size_t>(pair.to);
    if (i < kMostRateClasses) {
      options_.say("rates between subnets", 0.85);
      pair.bytes_per_s =
          measured_rate(network.subnets[from].hosts[0], network.subnets[to].hosts[0], pair.bytes_per_s);
    }
    for (const std::size_t end : {from, to})
      best_outside[end] = std::max(best_outside[end], pair.bytes_per_s);
  }
  for (std::size_t s = 0; s < network.subnets.size(); ++s) {
    net::Subnet& subnet = network.subnets[s];
    if (subnet.hosts.size() == 1) subnet.bytes_per_s = best_outside[s];
  }
}

void SubnetRates::run_tests(net::Network& network, const std::vector<SharingTest>& tests) {
  for (const SharingTest& asked : tests) {
    if (!options_.in_time()) return;
    options_.say("sharing: " + asked.what(), 0.9);
    std::vector<Flow> flows;
    net::ConcurrentTest test;
    test.what = asked.what();
    for (const HostFlow& flow : asked.flows) {
      flows.push_back({rank_of(flow.from), rank_of(flow.to)});
      test.pairs.push_back({flow.from, flow.to});
    }
    std::vector<double> ways_s;
    for (const HostFlow& flow : asked.flows) ways_s.push_back(way_s(network, flow));
    const double longest_s = *std::max_element(ways_s.begin(), ways_s.end());
    const auto [bytes, count] = shape(expected_rate(network, asked.flows.front()),
                                      std::max(options_.stream_s, kLeastOfWay * longest_s));
    test.bytes = bytes * static_cast<std::size_t>(count);
    test.alone_s.assign(flows.size(), 1e300);
    const auto beyond_way = [&](std::size_t f, const Answer& answer) {
      return std::max(answer.elapsed_s - ways_s[f], kLeastOfTime * answer.elapsed_s);
    };
    for (int i = 0; i < kRateRepeats; ++i) {
      for (std::size_t f = 0; f < flows.size(); ++f) {
        const Answer answer = conductor_.streams({flows[f]}, bytes, count)[0];
        test.alone_s[f] = std::min(test.alone_s[f], beyond_way(f, answer));
      }
      const std::vector<Answer> answers = conductor_.streams(flows, bytes, count);
      std::vector<double> together;
      for (std::size_t f = 0; f < flows.size(); ++f) together.push_back(beyond_way(f, answers[f]));
      const auto last = [](const std::vector<double>& seconds) {
        return *std::max_element(seconds.begin(), seconds.end());
      };
      if (test.together_s.empty() || last(together) < last(test.together_s))
        test.together_s = std::move(together);
    }
    network.concurrent.push_back(std::move(test));
  }
}

}  // namespace eco::measure
