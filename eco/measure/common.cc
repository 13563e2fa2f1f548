#include "eco/measure/common.h"

#include <algorithm>

#include "eco/base/quantile.h"

namespace eco::measure {
namespace {

constexpr std::size_t kMostRanks = 12;
constexpr std::size_t kExchangedBytes = 8;
// Rounds differ by a factor of two from one to the next where processors are shared; where the way of a message is long they
// do not, and few are enough.
constexpr int kFew = 3;
constexpr double kLong_s = 5e-3;
constexpr int kExchanges = 9;
constexpr int kRoundsOfExchange = 4;
// Over a tenth of a second: which ranks share a processor changes. In a host of its own less hangs on it.
constexpr int kRings = 40;
constexpr int kRingsOfHost = 12;
constexpr int kRoundsOfRing = 16;  // as many as a collective's, so that whoever was awake at first has slept

// Where a ring takes no longer than two hosts' own exchange its messages need not wait for each other; this much more is no
// chance.
constexpr double kLongerRing = 1.1;
// An exchange of small messages that takes longer than this times what links and processors explain is held up by
// something else.
constexpr double kUnexplained = 1.25;

// So many of 0 to n - 1, evenly.
std::vector<int> chosen(std::size_t n) {
  const std::size_t n_chosen = std::min(n, kMostRanks);
  std::vector<int> places;
  for (std::size_t i = 0; i < n_chosen; ++i) places.push_back(static_cast<int>(i * n / n_chosen));
  return places;
}

// Null if no two of these hosts were measured.
const net::PairTimes* slowest_pair(const net::Network& network, const std::vector<int>& hosts) {
  const auto takes_part = [&](int host) { return std::binary_search(hosts.begin(), hosts.end(), host); };
  const net::PairTimes* slowest = nullptr;
  for (const net::PairTimes& pair : network.pairs) {
    if (!takes_part(pair.a) || !takes_part(pair.b)) continue;
    if (slowest == nullptr || pair.seconds.front() > slowest->seconds.front()) slowest = &pair;
  }
  return slowest;
}

bool is_enough(const std::vector<double>& seconds, int wanted) {
  const auto n = std::ssize(seconds);
  return n >= wanted || (n >= kFew && seconds.back() > kLong_s);
}

double quickest(const std::vector<double>& seconds) {
  return *std::min_element(seconds.begin(), seconds.end());
}

// Of these ranks, among which the two have the longest way.
Common measure_among(Conductor& conductor, const std::vector<int>& ranks, const std::vector<int>& two,
                     double beyond_two_s, int n_rings, const std::function<bool()>& in_time) {
  CommonTimes times;
  while (!is_enough(times.all_s, kExchanges) && in_time()) {
    times.two_s.push_back(conductor.exchange(two, kExchangedBytes, kRoundsOfExchange));
    times.all_s.push_back(conductor.exchange(ranks, kExchangedBytes, kRoundsOfExchange));
  }
  if (times.all_s.empty() || !has_common(times, beyond_two_s)) return {};
  const std::vector<int> fewer(ranks.begin(),
                               ranks.begin() + static_cast<std::ptrdiff_t>(n_in_short_ring(ranks.size())));
  while (!is_enough(times.ring_s, n_rings) && in_time()) {
    times.ring_s.push_back(conductor.exchange(ranks, 1, kExchangedBytes, kRoundsOfRing));
    times.short_ring_s.push_back(conductor.exchange(fewer, 1, kExchangedBytes, kRoundsOfRing));
  }
  return common_from(ranks.size(), times);
}

}  // namespace

double explained_s(const net::Network& network, const std::vector<int>& host_of_rank) {
  std::vector<double> busy_s(network.resources.size());
  for (std::size_t i = 0; i < host_of_rank.size(); ++i) {
    for (std::size_t j = 0; j < host_of_rank.size(); ++j) {
      if (i == j) continue;
      for (const int r : network.route(host_of_rank[i], host_of_rank[j]).resources) {
        const auto resource = static_cast<std::size_t>(r);
        busy_s[resource] += network.wire_bytes(host_of_rank[i], host_of_rank[j], kExchangedBytes) /
                            network.resources[resource].bytes_per_s;
      }
    }
  }
  const double links_s = *std::max_element(busy_s.begin(), busy_s.end());
  const double processor_s = static_cast<double>(host_of_rank.size() - 2) *
                             std::max(network.send_overhead_s, network.receive_overhead_s);
  return std::max(links_s, processor_s);
}

bool has_common(const CommonTimes& times, double beyond_two_s) {
  const double two_s = quickest(times.two_s);
  return two_s > 0 && quickest(times.all_s) > kUnexplained * (two_s + beyond_two_s);
}

std::size_t n_in_short_ring(std::size_t n_ranks) { return std::max<std::size_t>(2, n_ranks / 2); }

// A pair that exchanges has two messages and two that wake in its own time; all n have n (n - 1) messages, and each wakes
// once. In a ring one message after the other holds what is common, and whoever wakes for it: n of both a round, if that is
// longer than the way of one message, and with it than two. If it is not, a ring of fewer, k, is shorter by no more than what
// those who are left out held. So
//
//   all = two + (n (n - 1) - 2) message + (n - 2) wake
//   ring = n (message + wake), if ring > two;     else ring - short ring = (n - k) (message + wake)
Common common_from(std::size_t n_ranks, const CommonTimes& times) {
  const double n = static_cast<double>(n_ranks);
  const double beyond_s = std::max(0.0, base::median(times.all_s) - base::median(times.two_s));
  const double n_messages = n * (n - 1) - 2;
  const Common as_messages{beyond_s / n_messages, 0};
  if (times.ring_s.empty() || times.short_ring_s.empty()) return as_messages;
  const double ring_s = base::median(times.ring_s);
  const double n_more = n - static_cast<double>(n_in_short_ring(n_ranks));
  const double both_s = ring_s > kLongerRing * base::median(times.two_s)
                            ? ring_s / n
                            : (ring_s - base::median(times.short_ring_s)) / n_more;
  if (both_s <= as_messages.message_s) return as_messages;
  const double message_s = std::max(0.0, (beyond_s - (n - 2) * both_s) / (n_messages - (n - 2)));
  return {message_s, both_s - message_s};
}

Common measure_common(Conductor& conductor, net::Network& network, const std::vector<int>& rank_of_host,
                      const std::function<bool()>& in_time) {
  network.finish();
  const std::vector<int> hosts = chosen(rank_of_host.size());
  const net::PairTimes* slowest = slowest_pair(network, hosts);
  if (hosts.size() < 3 || slowest == nullptr) return {};
  const auto rank_of = [&](int host) { return rank_of_host[static_cast<std::size_t>(host)]; };
  std::vector<int> ranks;
  for (const int host : hosts) ranks.push_back(rank_of(host));
  return measure_among(conductor, ranks, {rank_of(slowest->a), rank_of(slowest->b)},
                       explained_s(network, hosts), kRings, in_time);
}

Common measure_processors(Conductor& conductor, net::Network& network, int host,
                          const std::vector<int>& ranks, const std::function<bool()>& in_time) {
  if (std::ssize(ranks) < net::kFewestWhoShare) return {};
  network.finish();
  std::vector<int> some;
  for (const int place : chosen(ranks.size())) some.push_back(ranks[static_cast<std::size_t>(place)]);
  const std::vector<int> hosts(some.size(), host);
  return measure_among(conductor, some, {some.front(), some[some.size() / 2]}, explained_s(network, hosts),
                       kRingsOfHost, in_time);
}

}  // namespace eco::measure
