#include "eco/measure/sharing.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace eco::measure {
namespace {

// A flow that a shared medium would slow n-fold is halfway there at (1 + n) / 2: sharing; below 1.3 nothing was shared
// (acknowledgements of the opposite direction and a busy processor cost up to that). Between the two nobody knows.
constexpr double kUndisturbed = 1.3;
// By so much more than others a pair is faster on its way, not by chance.
constexpr double kClearlyFaster = 1.25;
// An acknowledgement for every full packet is 5 % of an Ethernet's bytes; more than twice that is something else.
constexpr double kMostReverse = 0.1;

constexpr std::array<std::string_view, 4> kWords = {"bus", "uplink", "duplex", "both ways"};  // by Question

double threshold(std::size_t n_flows) { return (1.0 + static_cast<double>(n_flows)) / 2; }

double rate_between(const std::vector<net::Between>& between, int s, int t) {
  for (const net::Between& pair : between) {
    if (pair.from == std::min(s, t) && pair.to == std::max(s, t)) return pair.bytes_per_s;
  }
  return 0;
}

// Two hosts to talk to outside subnet `s`, in two subnets if possible, those with the best rates first.
struct Outside {
  int first;
  int second;
  double rate;  // the slower of the two
};

// Whether both are in a site that `s` is not in: flows from there to them meet on its link.
bool are_behind_one_link(const net::Network& network, int s, int t, int u) {
  return std::any_of(network.sites.begin(), network.sites.end(),
                     [&](const net::Site& site) { return site.has(t) && site.has(u) && !site.has(s); });
}

// Of its own site, if it is in one, unless others are clearly faster: farther away the site's link is crossed too.
std::optional<Outside> partners(const net::Network& network, int s) {
  const std::vector<net::Subnet>& subnets = network.subnets;
  const std::vector<net::Between>& between = network.between;
  const net::Site* const site = net::innermost_site(network.sites, s);
  const auto rate_to = [&](int t) { return rate_between(between, s, t); };
  double within = 0;
  for (int t = 0; t < static_cast<int>(subnets.size()); ++t) {
    if (t != s && site != nullptr && site->has(t)) within = std::max(within, rate_to(t));
  }
  std::vector<int> others;
  for (int t = 0; t < static_cast<int>(subnets.size()); ++t) {
    if (t == s) continue;
    if (site == nullptr || site->has(t) || rate_to(t) > kClearlyFaster * within) others.push_back(t);
  }
  std::stable_sort(others.begin(), others.end(), [&](int x, int y) { return rate_to(x) > rate_to(y); });
  if (others.empty()) return std::nullopt;
  const auto& nearest = subnets[static_cast<std::size_t>(others[0])].hosts;
  if (others.size() >= 2) {
    const auto apart = std::find_if(others.begin() + 1, others.end(), [&](int t) {
      return !are_behind_one_link(network, s, others[0], t) &&
             kClearlyFaster * rate_to(t) > rate_to(others[1]);
    });
    const int second = apart == others.end() ? others[1] : *apart;
    return Outside{nearest[0], subnets[static_cast<std::size_t>(second)].hosts[0], rate_to(second)};
  }
  if (nearest.size() < 2) return std::nullopt;  // both flows would meet in one host's port: nothing to learn
  // Into one bus the flows meet on that bus, whatever the uplinks do.
  const net::Subnet& target = subnets[static_cast<std::size_t>(others[0])];
  const double rate = rate_to(others[0]);
  if (target.kind == net::SubnetKind::bus && 2 * rate > target.bytes_per_s) return std::nullopt;
  return Outside{nearest[0], nearest[1], rate};
}

}  // namespace

std::string SharingTest::what() const {
  return std::string(kWords.at(static_cast<std::size_t>(question))) + " " + std::to_string(subnet);
}

double slowdown(const net::ConcurrentTest& test) {
  const auto longest = [](const std::vector<double>& seconds) {
    return seconds.empty() ? 0.0 : *std::max_element(seconds.begin(), seconds.end());
  };
  const double alone = longest(test.alone_s);
  return alone > 0 ? longest(test.together_s) / alone : 0;
}

std::vector<SharingTest> tests_inside(const net::Partition& subnets) {
  std::vector<SharingTest> tests;
  for (std::size_t s = 0; s < subnets.size(); ++s) {
    const std::vector<int>& h = subnets[s];
    SharingTest test{Question::bus, static_cast<int>(s), {}};
    if (h.size() >= 4) {
      test.flows = {{h[0], h[1]}, {h[2], h[3]}};
      tests.push_back({Question::both_ways, static_cast<int>(s), {{h[0], h[1]}, {h[1], h[2]}, {h[2], h[0]}}});
    } else if (h.size() == 3) {
      test.flows = {{h[0], h[1]}, {h[1], h[2]}, {h[2], h[0]}};
    } else if (h.size() == 2) {
      test.flows = {{h[0], h[1]}, {h[1], h[0]}};
    } else {
      continue;
    }
    tests.push_back(std::move(test));
  }
  return tests;
}

std::vector<SharingTest> tests_across(const net::Network& network) {
  const std::vector<net::Subnet>& subnets = network.subnets;
  std::vector<SharingTest> tests;
  for (int s = 0; s < static_cast<int>(subnets.size()); ++s) {
    const net::Subnet& subnet = subnets[static_cast<std::size_t>(s)];
    if (subnet.hosts.size() < 2) continue;
    const auto outside = partners(network, s);
    if (!outside) continue;
    // Two flows leaving a bus at its own rate share the bus: that says nothing about what lies behind.
    if (subnet.kind == net::SubnetKind::bus && 2 * outside->rate > subnet.bytes_per_s) continue;
    const int a = subnet.hosts[0];
    const int b = subnet.hosts[1];
    tests.push_back({Question::uplink, s, {{a, outside->first}, {b, outside->second}}});
    tests.push_back({Question::duplex, s, {{a, outside->first}, {outside->second, b}}});
  }
  return tests;
}

double reverse_share(const std::vector<net::ConcurrentTest>& tests) {
  std::vector<double> shares;
  for (const net::ConcurrentTest& test : tests) {
    // Of hosts that all send and receive, or of links that carry both.
    const bool is_duplex = test.what.starts_with(kWords.at(static_cast<std::size_t>(Question::duplex)));
    const bool is_ring = std::all_of(test.pairs.begin(), test.pairs.end(), [&](const auto& flow) {
      return std::any_of(test.pairs.begin(), test.pairs.end(),
                         [&](const auto& other) { return other[0] == flow[1]; });
    });
    const double slower = slowdown(test);
    if ((is_duplex || is_ring) && slower > 0 && slower <= kUndisturbed) shares.push_back(slower - 1);
  }
  if (shares.empty()) return 0;
  std::sort(shares.begin(), shares.end());
  return std::clamp(shares[(shares.size() - 1) / 2], 0.0, kMostReverse);
}

net::SubnetKind kind_from(std::size_t n_hosts, const net::ConcurrentTest* test) {
  if (n_hosts == 1) return net::SubnetKind::lone;
  if (test == nullptr) return net::SubnetKind::unknown;
  const double slower = slowdown(*test);
  if (slower >= threshold(test->pairs.size())) return net::SubnetKind::bus;
  return slower <= kUndisturbed ? net::SubnetKind::switched : net::SubnetKind::unknown;
}

}  // namespace eco::measure
