#include "eco/net/check.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <tuple>
#include <vector>

namespace eco::net {
namespace {

using Reason = std::optional<std::string>;

std::string at(const char* what, std::size_t index) {
  return std::string(what) + " " + std::to_string(index);
}

bool is_time(double value) { return std::isfinite(value) && value >= 0; }
bool is_rate(double value) { return std::isfinite(value) && value > 0; }
bool is_host(const Network& network, int host) { return host >= 0 && host < network.n_hosts(); }

// The first host that is there twice. Of thousands of hosts, so by sorting.
Reason check_hosts(const Network& network) {
  const auto before = [&](std::size_t a, std::size_t b) {
    return std::tie(network.hosts[a], a) < std::tie(network.hosts[b], b);
  };
  std::vector<std::size_t> order(network.hosts.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), before);
  std::size_t first = network.hosts.size();
  std::size_t second = first;
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (order[i - 1] >= first || !(network.hosts[order[i - 1]] == network.hosts[order[i]])) continue;
    first = order[i - 1];
    second = order[i];
  }
  if (second == network.hosts.size()) return std::nullopt;
  return at("hosts", first) + " and " + std::to_string(second) + " are the same ('" +
         network.hosts[first].name + "')";
}

// A further rail need not reach all hosts.
enum class Reach : std::uint8_t { all_hosts, some_hosts };

Reason check_subnets(const Network& network, Reach reach) {
  const int n = network.n_hosts();
  std::vector<bool> seen(network.hosts.size(), false);
  int previous_lowest = -1;
  for (std::size_t s = 0; s < network.subnets.size(); ++s) {
    const Subnet& subnet = network.subnets[s];
    const std::string where = at("subnet", s) + ": ";
    if (subnet.hosts.empty()) return where + "has no hosts";
    int previous = -1;
    for (const int host : subnet.hosts) {
      if (host < 0 || host >= n) {
        return where + at("host", static_cast<std::size_t>(host)) + " is out of range, there are " +
               std::to_string(n);
      }
      if (host <= previous) return where + "its hosts are not ascending";
      if (seen[static_cast<std::size_t>(host)])
        return where + "host " + std::to_string(host) + " is in two subnets";
      seen[static_cast<std::size_t>(host)] = true;
      previous = host;
    }
    if (subnet.hosts.front() < previous_lowest) return where + "subnets are not ordered by their lowest host";
    previous_lowest = subnet.hosts.front();
    const bool lone = subnet.hosts.size() == 1;
    if (lone != (subnet.kind == SubnetKind::lone)) {
      return where + "is called " + std::string(name(subnet.kind)) + " but has " +
             std::to_string(subnet.hosts.size()) + " hosts";
    }
    if (!is_time(subnet.latency_s)) return where + "latency_s is not a time";
    if (!is_rate(subnet.bytes_per_s) && !(lone && subnet.bytes_per_s == 0))
      return where + "bytes_per_s is not a rate";
  }
  for (std::size_t host = 0; reach == Reach::all_hosts && host < seen.size(); ++host) {
    if (!seen[host]) return at("host", host) + " is in no subnet";
  }
  return std::nullopt;
}

Reason check_between(const Network& network) {
  const std::size_t n = network.subnets.size();
  if (network.between.size() != n * (n - 1) / 2) {
    return "there are " + std::to_string(n) + " subnets but " + std::to_string(network.between.size()) +
           " entries in 'between'";
  }
  std::size_t i = 0;
  for (std::size_t from = 0; from < n; ++from) {
    for (std::size_t to = from + 1; to < n; ++to, ++i) {
      const Between& pair = network.between[i];
      const std::string where = at("between", i) + ": ";
      if (pair.from != static_cast<int>(from) || pair.to != static_cast<int>(to)) {
        return where + "expected subnets " + std::to_string(from) + " and " + std::to_string(to);
      }
      if (!is_time(pair.latency_s)) return where + "latency_s is not a time";
      if (!is_rate(pair.bytes_per_s)) return where + "bytes_per_s is not a rate";
    }
  }
  int previous = -1;
  for (std::size_t u = 0; u < network.uplinks.size(); ++u) {
    const Uplink& uplink = network.uplinks[u];
    if (uplink.subnet <= previous || uplink.subnet >= static_cast<int>(n)) {
      return at("uplink", u) + ": subnet " + std::to_string(uplink.subnet) +
             " is out of range or out of order";
    }
    if (!is_rate(uplink.bytes_per_s)) return at("uplink", u) + ": bytes_per_s is not a rate";
    previous = uplink.subnet;
  }
  return std::nullopt;
}

// Each apart from the others or within one that comes before it.
Reason check_sites(const Network& network) {
  const int n = static_cast<int>(network.subnets.size());
  std::vector<int> n_links(network.subnets.size(), 0);
  if (network.sites.size() > 2 * network.subnets.size())
    return "has " + std::to_string(network.sites.size()) + " sites, more than twice its " +
           std::to_string(network.subnets.size()) + " subnets";
  for (std::size_t i = 0; i < network.sites.size(); ++i) {
    const Site& site = network.sites[i];
    const std::string where = at("site", i) + ": ";
    if (site.subnets.empty()) return where + "has no subnets";
    for (std::size_t k = 0; k < site.subnets.size(); ++k) {
      const int subnet = site.subnets[k];
      if (subnet < 0 || subnet >= n) return where + "there is no subnet " + std::to_string(subnet);
      if (k > 0 && subnet <= site.subnets[k - 1]) return where + "its subnets are not ascending";
      int& links = n_links[static_cast<std::size_t>(subnet)];
      if (site.bytes_per_s > 0 && ++links > kMostSiteLinks)
        return where + "what leaves subnet " + std::to_string(subnet) + " crosses more than " +
               std::to_string(kMostSiteLinks) + " links of sites";
    }
    if (site.bytes_per_s != 0 && !is_rate(site.bytes_per_s)) return where + "bytes_per_s is not a rate";
    for (std::size_t j = 0; j < i; ++j) {
      const auto n_shared = std::count_if(site.subnets.begin(), site.subnets.end(),
                                          [&](int subnet) { return network.sites[j].has(subnet); });
      if (n_shared != 0 && n_shared != std::ssize(site.subnets))
        return where + "is neither apart from nor within " + at("site", j);
    }
  }
  return std::nullopt;
}

Reason check_samples(const Network& network) {
  for (std::size_t i = 1; i < network.sizes.size(); ++i) {
    if (network.sizes[i] <= network.sizes[i - 1]) return "sizes are not ascending";
  }
  int previous_a = -1;
  int previous_b = -1;
  for (std::size_t p = 0; p < network.pairs.size(); ++p) {
    const PairTimes& pair = network.pairs[p];
    const std::string where = at("pair", p) + ": ";
    if (pair.a < 0 || pair.a >= pair.b || pair.b >= network.n_hosts()) {
      return where + "hosts " + std::to_string(pair.a) + " and " + std::to_string(pair.b) +
             " are no pair of " + std::to_string(network.n_hosts()) + " hosts";
    }
    if (pair.a < previous_a || (pair.a == previous_a && pair.b <= previous_b))
      return where + "is out of order";
    previous_a = pair.a;
    previous_b = pair.b;
    if (pair.seconds.size() != network.sizes.size()) return where + "has not one time for each size";
    if (!pair.samples.empty() && pair.samples.size() != network.sizes.size()) {
      return where + "has not one list of samples for each size";
    }
    for (const double seconds : pair.seconds) {
      if (!is_rate(seconds)) return where + "a time is not positive and finite";
    }
    for (const auto& of_size : pair.samples) {
      for (const double seconds : of_size) {
        if (!is_time(seconds)) return where + "a sample is not a time";
      }
    }
  }
  for (std::size_t c = 0; c < network.concurrent.size(); ++c) {
    const ConcurrentTest& test = network.concurrent[c];
    const std::string where = at("concurrent test", c) + ": ";
    if (test.alone_s.size() != test.pairs.size() || test.together_s.size() != test.pairs.size()) {
      return where + "has not one time alone and one together for each pair";
    }
    for (const auto& pair : test.pairs) {
      if (pair.size() != 2 || !is_host(network, pair[0]) || !is_host(network, pair[1])) {
        return where + "names a host that is not there";
      }
    }
  }
  return std::nullopt;
}

// That its levels are a tree, and every host is on one of them.
Reason check_levels(const Network& network) {
  const std::vector<Level>& levels = network.tree.levels;
  std::vector<int> seen(network.hosts.size(), 0);
  for (std::size_t l = 0; l < levels.size(); ++l) {
    const Level& level = levels[l];
    const std::string where = at("level", l) + ": ";
    if (l == 0 ? level.parent != -1 : level.parent < 0 || level.parent >= static_cast<int>(l))
      return where + "its parent is not before it";
    for (const int child : level.children) {
      if (child <= static_cast<int>(l) || child >= static_cast<int>(levels.size()) ||
          levels[static_cast<std::size_t>(child)].parent != static_cast<int>(l))
        return where + "level " + std::to_string(child) + " is not below it";
    }
    for (const int host : level.hosts) {
      if (!is_host(network, host)) return where + "host " + std::to_string(host) + " is out of range";
      ++seen[static_cast<std::size_t>(host)];
    }
    if (!std::is_sorted(level.hosts.begin(), level.hosts.end())) return where + "its hosts are not ascending";
    if (!is_time(level.latency_s) || !is_time(level.uplink_latency_s))
      return where + "a latency is not a time";
    if (!is_time(level.bytes_per_s) || !is_time(level.oversubscription))
      return where + "bytes_per_s or oversubscription is not a number from 0";
    if (level.uplink_bytes_per_s && !is_rate(*level.uplink_bytes_per_s))
      return where + "uplink_bytes_per_s is not a rate";
    if (!(level.confidence >= 0 && level.confidence <= 1)) return where + "confidence is not within 0 and 1";
  }
  std::vector<int> parents(levels.size(), 0);
  for (const Level& level : levels) {
    for (const int child : level.children) ++parents[static_cast<std::size_t>(child)];
  }
  for (std::size_t l = 1; l < levels.size(); ++l) {
    if (parents[l] != 1) return at("level", l) + " is not once among the children of its parent";
  }
  for (std::size_t host = 0; network.tree.is_known() && host < seen.size(); ++host) {
    if (seen[host] != 1) return at("host", host) + " is on " + std::to_string(seen[host]) + " levels";
  }
  if (!is_time(network.tree.seconds)) return "the tree's seconds are not a time";
  return std::nullopt;
}

int subnet_of(const Network& network, int host) {
  for (std::size_t s = 0; s < network.subnets.size(); ++s) {
    const std::vector<int>& hosts = network.subnets[s].hosts;
    if (std::find(hosts.begin(), hosts.end(), host) != hosts.end()) return static_cast<int>(s);
  }
  return -1;
}

PairClass class_of(const Network& network, int from, int to) {
  if (from == to) return PairClass::host;
  return subnet_of(network, from) == subnet_of(network, to) ? PairClass::subnet : PairClass::between;
}

// Curves check themselves when they are made.
Reason check_plogp(const Network& network, const std::vector<ClassPLogP>& classes, const char* list) {
  for (std::size_t p = 0; p < classes.size(); ++p) {
    const ClassPLogP& measured = classes[p];
    const std::string where = at(list, p) + ": ";
    const bool is_known = std::any_of(
        classes.begin(), classes.begin() + static_cast<std::ptrdiff_t>(p),
        [&](const ClassPLogP& other) { return other.from == measured.from && other.to == measured.to; });
    if (is_known) return where + "the same two hosts as in one before";
    for (const int host : {measured.from, measured.to}) {
      if (!is_host(network, host)) return where + "names a host that is not there";
    }
    if (class_of(network, measured.from, measured.to) != measured.pairs) {
      return where + "hosts " + std::to_string(measured.from) + " and " + std::to_string(measured.to) +
             " are no pair of class " + std::string(name(measured.pairs));
    }
    if (!is_time(measured.parameters.latency_s)) return where + "latency_s is not a time";
    if (measured.gamma && !std::isfinite(*measured.gamma)) return where + "gamma is not a number";
    int previous = 1;
    for (const SlowDown& slow : measured.slow_down) {
      if (slow.n_pairs <= previous) return where + "slow_down has numbers of pairs that do not ascend from 2";
      if (!is_rate(slow.factor)) return where + "a slow-down is not positive and finite";
      previous = slow.n_pairs;
    }
    for (const PLogPSamples& samples : measured.samples) {
      for (const double seconds : samples.seconds) {
        if (!is_time(seconds)) return where + "a sample is not a time";
      }
    }
  }
  return std::nullopt;
}

Reason check_rail_pairs(const Network& network) {
  const auto are_of_all_rails = [&](const std::vector<double>& values) {
    return values.size() == network.rails.size() && std::all_of(values.begin(), values.end(), is_time);
  };
  for (std::size_t p = 0; p < network.rail_pairs.size(); ++p) {
    const RailPair& pair = network.rail_pairs[p];
    if (!is_host(network, pair.a) || !is_host(network, pair.b) || pair.a == pair.b)
      return at("rail pair", p) + " is no pair of hosts";
    if (!are_of_all_rails(pair.bytes_per_s) || !are_of_all_rails(pair.latency_s))
      return at("rail pair", p) + " has not one rate and one latency for each rail";
  }
  return std::nullopt;
}

Reason check_rail_plogp(const Network& network) {
  for (std::size_t r = 0; r < network.rail_plogp.size(); ++r) {
    const RailPLogP& of_rail = network.rail_plogp[r];
    const std::string where = at("rail_plogp", r) + ": ";
    const auto& known = network.rails;
    if (std::find(known.begin(), known.end(), of_rail.rail) == known.end())
      return where + "'" + of_rail.rail + "' is none of the rails";
    for (std::size_t before = 0; before < r; ++before) {
      if (network.rail_plogp[before].rail == of_rail.rail) return where + "is of the same rail as one before";
    }
    if (auto reason = check_plogp(network, of_rail.classes, "classes")) return where + *reason;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> contradiction(const Network& network) {
  if (network.hosts.empty()) return "there are no hosts";
  if (auto reason = check_hosts(network)) return reason;
  if (!is_time(network.send_overhead_s) || !is_time(network.receive_overhead_s))
    return "an overhead is not a time";
  if (!is_time(network.memory_latency_s)) return "memory_latency_s is not a time";
  if (!is_rate(network.memory_bytes_per_s)) return "memory_bytes_per_s is not a rate";
  if (!is_rate(network.combine_bytes_per_s)) return "combine_bytes_per_s is not a rate";
  if (!is_rate(network.packet_bytes)) return "packet_bytes is not positive";
  if (network.memory_pair_bytes_per_s != 0 && !is_rate(network.memory_pair_bytes_per_s))
    return "memory_pair_bytes_per_s is not a rate";
  if (!is_time(network.memory_message_s)) return "memory_message_s is not a time";
  if (!is_time(network.memory_wake_s)) return "memory_wake_s is not a time";
  if (!is_time(network.common_message_s)) return "common_message_s is not a time";
  if (!is_time(network.common_wake_s)) return "common_wake_s is not a time";
  for (const double share : {network.frame_bytes / network.packet_bytes,
                             network.envelope_bytes / network.packet_bytes, network.reverse_share}) {
    if (!(share >= 0 && share < 1)) return "headers, envelope or reverse_share are not below the payload's";
  }
  if (auto reason = check_subnets(network, Reach::all_hosts)) return reason;
  if (auto reason = check_between(network)) return reason;
  if (auto reason = check_sites(network)) return reason;
  for (std::size_t r = 0; r < network.more_rails.size(); ++r) {
    Network alone;
    alone.hosts = network.hosts;
    alone.subnets = network.more_rails[r].subnets;
    alone.between = network.more_rails[r].between;
    alone.uplinks = network.more_rails[r].uplinks;
    Reason reason = check_subnets(alone, Reach::some_hosts);
    if (!reason) reason = check_between(alone);
    if (reason) return at("rail", r + 1) + ": " + *reason;
  }
  if (auto reason = check_samples(network)) return reason;
  if (auto reason = check_rail_pairs(network)) return reason;
  if (auto reason = check_levels(network)) return reason;
  if (auto reason = check_plogp(network, network.plogp, "plogp")) return reason;
  return check_rail_plogp(network);
}

}  // namespace eco::net
