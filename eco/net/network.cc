#include "eco/net/network.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "eco/base/assert.h"
#include "eco/base/errors.h"
#include "eco/base/json_file.h"
#include "eco/net/check.h"

namespace eco::net {
namespace {

constexpr std::array<std::string_view, 4> kKindNames = {"lone", "switched", "bus", "unknown"};

constexpr std::array<std::string_view, 3> kPairClassNames = {"host", "subnet", "between"};

// A pair whose rate is within 5 % of its slowest resource needs no limit of its own: two estimates of one
// rate from different samples differ by about that much.
constexpr double kExplained = 0.95;

// Exponent and two bits of mantissa: a quarter of an octave, without libm, so equal on every machine.
std::string quantised(double value) {
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);  // in [0.5, 1)
  return std::to_string(exponent * 4 + static_cast<int>(mantissa * 8) - 4);
}

}  // namespace

std::string_view name(SubnetKind kind) { return kKindNames.at(static_cast<std::size_t>(kind)); }

std::optional<SubnetKind> subnet_kind(std::string_view text) {
  const auto found = std::find(kKindNames.begin(), kKindNames.end(), text);
  if (found == kKindNames.end()) return std::nullopt;
  return static_cast<SubnetKind>(found - kKindNames.begin());
}

std::string_view name(PairClass pairs) { return kPairClassNames.at(static_cast<std::size_t>(pairs)); }

std::optional<PairClass> pair_class(std::string_view text) {
  const auto found = std::find(kPairClassNames.begin(), kPairClassNames.end(), text);
  if (found == kPairClassNames.end()) return std::nullopt;
  return static_cast<PairClass>(found - kPairClassNames.begin());
}

std::size_t Network::between_index(int from_subnet, int to_subnet) const {
  // Row `a` of the upper triangle starts after (S-1) + (S-2) + ... + (S-a) entries.
  const auto a = static_cast<std::size_t>(std::min(from_subnet, to_subnet));
  const auto b = static_cast<std::size_t>(std::max(from_subnet, to_subnet));
  return a * subnets.size() - a * (a + 1) / 2 + (b - a - 1);
}

void Network::finish() {
  if (const auto reason = contradiction(*this)) throw InvalidArgument("network: " + *reason);
  const std::size_t n = hosts.size();
  resources.clear();
  subnet_of_host.assign(n, -1);
  position_.assign(n, 0);
  transmit_.assign(n, -1);
  receive_.assign(n, -1);
  memory_.assign(n, -1);
  bus_.assign(subnets.size(), -1);
  uplink_out_.assign(subnets.size(), -1);
  uplink_in_.assign(subnets.size(), -1);
  pair_base_.assign(between.size(), -1);
  common_ = -1;

  const auto add = [this](ResourceKind kind, std::string resource_name, double rate) {
    resources.push_back({kind, std::move(resource_name), rate, 0, -1});
    return static_cast<int>(resources.size()) - 1;
  };
  const auto join = [this](int one, int other) {
    resources[static_cast<std::size_t>(one)].reverse = other;
    resources[static_cast<std::size_t>(other)].reverse = one;
  };
  for (std::size_t s = 0; s < subnets.size(); ++s) {
    const Subnet& subnet = subnets[s];
    double rate = subnet.bytes_per_s;
    // A lone host's port is known only by what went through it; a host without any network has only its
    // memory.
    if (rate == 0) rate = memory_bytes_per_s;
    if (subnet.kind == SubnetKind::bus) bus_[s] = add(ResourceKind::bus, "bus " + std::to_string(s), rate);
    for (std::size_t i = 0; i < subnet.hosts.size(); ++i) {
      const auto host = static_cast<std::size_t>(subnet.hosts[i]);
      const std::string number = std::to_string(host);
      subnet_of_host[host] = static_cast<int>(s);
      position_[host] = static_cast<int>(i);
      if (subnet.kind != SubnetKind::bus) {
        transmit_[host] = add(ResourceKind::host_transmit, "host " + number + " out", rate);
        receive_[host] = add(ResourceKind::host_receive, "host " + number + " in", rate);
        join(transmit_[host], receive_[host]);
      }
      memory_[host] = add(ResourceKind::memory, "memory " + number, memory_bytes_per_s);
    }
  }
  for (const Uplink& uplink : uplinks) {
    if (!uplink.shared)
      continue;  // each pair has the rate for itself: what limits it is a pair resource, below
    const auto s = static_cast<std::size_t>(uplink.subnet);
    const std::string number = std::to_string(uplink.subnet);
    if (uplink.half_duplex) {
      uplink_out_[s] = add(ResourceKind::uplink_out, "uplink " + number, uplink.bytes_per_s);
      uplink_in_[s] = uplink_out_[s];
    } else {
      uplink_out_[s] = add(ResourceKind::uplink_out, "uplink " + number + " out", uplink.bytes_per_s);
      uplink_in_[s] = add(ResourceKind::uplink_in, "uplink " + number + " in", uplink.bytes_per_s);
      join(uplink_out_[s], uplink_in_[s]);
    }
  }
  for (std::size_t i = 0; i < between.size(); ++i) {
    const Between& pair = between[i];
    const std::vector<int>& from = subnets[static_cast<std::size_t>(pair.from)].hosts;
    const std::vector<int>& to = subnets[static_cast<std::size_t>(pair.to)].hosts;
    double slowest = std::numeric_limits<double>::infinity();
    for (const int r : route(from.front(), to.front()).resources) {
      slowest = std::min(slowest, resources[static_cast<std::size_t>(r)].bytes_per_s);
    }
    if (pair.bytes_per_s >= kExplained * slowest) continue;
    pair_base_[i] = static_cast<int>(resources.size());
    for (const int a : from) {
      for (const int b : to) {
        const std::string low = std::to_string(a);
        const std::string high = std::to_string(b);
        const int up = add(ResourceKind::pair, "host " + low + " to " + high, pair.bytes_per_s);
        join(up, add(ResourceKind::pair, "host " + high + " to " + low, pair.bytes_per_s));
      }
    }
  }
  if (common_message_s > 0) {
    common_ = add(ResourceKind::common, "common", std::numeric_limits<double>::infinity());
    resources.back().message_s = common_message_s;
  }
}

std::size_t Network::eager_bytes() const {
  std::size_t least = 0;
  for (const ClassPLogP& measured : plogp) {
    if (measured.pairs == PairClass::host || !measured.eager_limit) continue;
    const std::size_t limit = std::max<std::size_t>(*measured.eager_limit, 1);
    least = least == 0 ? limit : std::min(least, limit);
  }
  return least;
}

Network Network::without_samples() const {
  Network slim = *this;
  slim.pairs.clear();
  slim.concurrent.clear();
  for (ClassPLogP& measured : slim.plogp) measured.samples.clear();
  return slim;
}

const ClassPLogP* Network::plogp_between(int from, int to) const {
  const auto subnet = [this](int host) { return subnet_of_host[static_cast<std::size_t>(host)]; };
  const ClassPLogP* reverse = nullptr;
  for (const ClassPLogP& measured : plogp) {
    // Pairs of one host stand for those of every host.
    if ((measured.pairs == PairClass::host) != (from == to)) continue;
    if (from == to) return &measured;
    const bool forward = subnet(measured.from) == subnet(from) && subnet(measured.to) == subnet(to);
    const bool backward = subnet(measured.from) == subnet(to) && subnet(measured.to) == subnet(from);
    // Inside a subnet both directions fit: the one that goes up or down the host numbers like this pair.
    const bool same_way = (measured.from < measured.to) == (from < to);
    if (forward && (!backward || same_way)) return &measured;
    if (forward || backward) reverse = &measured;
  }
  return reverse;
}

Route Network::route(int from, int to) const {
  ECO_ASSERT(light, from >= 0 && from < n_hosts() && to >= 0 && to < n_hosts(), "route between known hosts");
  const auto a = static_cast<std::size_t>(from);
  const auto b = static_cast<std::size_t>(to);
  if (from == to) return {{memory_[a]}, memory_latency_s};

  const auto s = static_cast<std::size_t>(subnet_of_host[a]);
  const auto t = static_cast<std::size_t>(subnet_of_host[b]);
  Route route;
  const auto cross = [&route](int resource) {
    if (resource >= 0) route.resources.push_back(resource);
  };
  cross(common_);
  cross(transmit_[a]);
  cross(bus_[s]);
  if (s == t) {
    route.latency_s = subnets[s].latency_s;
  } else {
    const std::size_t i = between_index(subnet_of_host[a], subnet_of_host[b]);
    route.latency_s = between[i].latency_s;
    cross(uplink_out_[s]);
    if (pair_base_[i] >= 0) {
      // Two per pair of hosts, the lower subnet's host first: down the numbers is the even one.
      const bool upward = s < t;
      const std::size_t low = upward ? a : b;
      const std::size_t high = upward ? b : a;
      const int width = static_cast<int>(subnets[upward ? t : s].hosts.size());
      cross(pair_base_[i] + 2 * (position_[low] * width + position_[high]) + (upward ? 0 : 1));
    }
    cross(uplink_in_[t]);
    cross(bus_[t]);
  }
  cross(receive_[b]);
  return route;
}

double Network::wire_bytes(std::size_t bytes) const {
  if (frame_bytes == 0 && envelope_bytes == 0) return static_cast<double>(bytes);
  const double payload = static_cast<double>(bytes) + envelope_bytes;
  const double n_packets = std::ceil(payload / packet_bytes);
  return (payload + n_packets * frame_bytes) * packet_bytes / (packet_bytes + frame_bytes);
}

double Network::message_s(int from, int to, std::size_t bytes) const {
  const Route path = route(from, to);
  const double all = from == to ? static_cast<double>(bytes) : wire_bytes(bytes);
  const double first = std::min(all, packet_bytes);
  double slowest = std::numeric_limits<double>::infinity();
  double seconds = send_overhead_s + receive_overhead_s + path.latency_s;
  for (const int r : path.resources) {
    const double rate = resources[static_cast<std::size_t>(r)].bytes_per_s;
    seconds += first / rate + resources[static_cast<std::size_t>(r)].message_s;
    slowest = std::min(slowest, rate);
  }
  return seconds + (all - first) / slowest;
}

std::string Network::fingerprint() const {
  std::string text = "network 1;" + transport + ";";
  for (const Subnet& subnet : subnets) {
    text += "subnet";
    for (const int host : subnet.hosts) text += " " + std::to_string(host);
    text += " " + std::string(name(subnet.kind)) + " " + quantised(subnet.latency_s) + " " +
            quantised(subnet.bytes_per_s) + ";";
  }
  for (const Between& pair : between) {
    text += "between " + quantised(pair.latency_s) + " " + quantised(pair.bytes_per_s) + ";";
  }
  for (const Uplink& uplink : uplinks) {
    text += "uplink " + std::to_string(uplink.subnet) + " " + quantised(uplink.bytes_per_s) + " " +
            std::to_string(uplink.shared) + std::to_string(uplink.half_duplex) + ";";
  }
  for (const double value : {send_overhead_s, receive_overhead_s, memory_latency_s, memory_bytes_per_s,
                             combine_bytes_per_s, packet_bytes}) {
    text += quantised(value) + " ";
  }
  return base::digest(text);
}

}  // namespace eco::net
