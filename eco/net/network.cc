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

// Row `a` of the upper triangle over n subnets starts after (n-1) + (n-2) + ... + (n-a) entries.
std::size_t between_index(std::size_t n, std::size_t from, std::size_t to) {
  const std::size_t a = std::min(from, to);
  const std::size_t b = std::max(from, to);
  return a * n - a * (a + 1) / 2 + (b - a - 1);
}

}  // namespace

std::vector<HostId> host_set(std::vector<HostId> hosts) {
  std::sort(hosts.begin(), hosts.end());
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  return hosts;
}

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

bool Site::has(int subnet) const { return std::binary_search(subnets.begin(), subnets.end(), subnet); }

const Site* innermost_site(const std::vector<Site>& sites, int subnet) {
  const Site* innermost = nullptr;
  for (const Site& site : sites) {
    if (site.has(subnet)) innermost = &site;
  }
  return innermost;
}

const std::vector<Subnet>& Network::subnets_of(int rail) const {
  return rail == 0 ? subnets : more_rails[static_cast<std::size_t>(rail - 1)].subnets;
}
const std::vector<Between>& Network::between_of(int rail) const {
  return rail == 0 ? between : more_rails[static_cast<std::size_t>(rail - 1)].between;
}
const std::vector<Uplink>& Network::uplinks_of(int rail) const {
  return rail == 0 ? uplinks : more_rails[static_cast<std::size_t>(rail - 1)].uplinks;
}

void Network::finish() {
  if (const auto reason = contradiction(*this)) throw InvalidArgument("network: " + *reason);
  resources.clear();
  memory_.assign(hosts.size(), -1);
  common_ = -1;
  places_.assign(1 + more_rails.size(), {});
  place_sites();
  for (int rail = 0; rail < n_rails(); ++rail) place_rail(rail);
  subnet_of_host = places_[0].subnet_of_host;
  if (common_message_s > 0 || common_wake_s > 0) {
    common_ = static_cast<int>(resources.size());
    resources.push_back({ResourceKind::common, "common", std::numeric_limits<double>::infinity(), 0, -1});
    resources.back().message_s = common_message_s;
    resources.back().wake_s = common_wake_s;
  }
}

void Network::place_sites() {
  site_links_.clear();
  leaves_.assign(subnets.size(), {});
  for (std::size_t i = sites.size(); i-- > 0;) {  // the innermost first
    const Site& site = sites[i];
    if (site.bytes_per_s == 0) continue;
    const std::string text = "site " + std::to_string(i);
    const int out = static_cast<int>(resources.size());
    resources.push_back(
        {ResourceKind::uplink_out, text + (site.half_duplex ? "" : " out"), site.bytes_per_s, 0, -1});
    if (!site.half_duplex) {
      resources.back().reverse = out + 1;
      resources.push_back({ResourceKind::uplink_in, text + " in", site.bytes_per_s, 0, out});
    }
    for (const int subnet : site.subnets)
      leaves_[static_cast<std::size_t>(subnet)].push_back(static_cast<int>(site_links_.size()));
    site_links_.push_back({out, static_cast<int>(resources.size()) - 1});
  }
}

void Network::place_rail(int rail) {
  const std::vector<Subnet>& of_rail = subnets_of(rail);
  const std::string prefix = rail == 0 ? "" : "rail " + std::to_string(rail) + " ";
  Places& places = places_[static_cast<std::size_t>(rail)];
  for (auto per_host : {&Places::transmit, &Places::receive, &Places::subnet_of_host, &Places::position})
    (places.*per_host).assign(hosts.size(), -1);
  for (auto per_subnet : {&Places::bus, &Places::uplink_out, &Places::uplink_in})
    (places.*per_subnet).assign(of_rail.size(), -1);

  const auto add = [&](ResourceKind kind, const std::string& resource_name, double rate) {
    resources.push_back({kind, prefix + resource_name, rate, 0, -1});
    return static_cast<int>(resources.size()) - 1;
  };
  const auto join = [this](int one, int other) {
    resources[static_cast<std::size_t>(one)].reverse = other;
    resources[static_cast<std::size_t>(other)].reverse = one;
  };
  for (std::size_t s = 0; s < of_rail.size(); ++s) {
    const Subnet& subnet = of_rail[s];
    double rate = subnet.bytes_per_s;
    // A lone host's port is known only by what went through it; a host without any network has only its
    // memory.
    if (rate == 0) rate = memory_bytes_per_s;
    if (subnet.kind == SubnetKind::bus)
      places.bus[s] = add(ResourceKind::bus, "bus " + std::to_string(s), rate);
    for (std::size_t i = 0; i < subnet.hosts.size(); ++i) {
      const auto host = static_cast<std::size_t>(subnet.hosts[i]);
      const std::string number = std::to_string(host);
      places.subnet_of_host[host] = static_cast<int>(s);
      places.position[host] = static_cast<int>(i);
      if (subnet.kind != SubnetKind::bus) {
        places.transmit[host] = add(ResourceKind::host_transmit, "host " + number + " out", rate);
        places.receive[host] = add(ResourceKind::host_receive, "host " + number + " in", rate);
        join(places.transmit[host], places.receive[host]);
      }
      if (rail != 0) continue;
      memory_[host] = add(ResourceKind::memory, "memory " + number, memory_bytes_per_s);
      resources.back().message_s = memory_message_s;
      resources.back().wake_s = memory_wake_s;
    }
  }
  for (const Uplink& uplink : uplinks_of(rail)) {
    if (!uplink.shared)
      continue;  // each pair has the rate for itself: what limits it is a pair resource, below
    const auto s = static_cast<std::size_t>(uplink.subnet);
    const std::string number = std::to_string(uplink.subnet);
    if (uplink.half_duplex) {
      places.uplink_out[s] = add(ResourceKind::uplink_out, "uplink " + number, uplink.bytes_per_s);
      places.uplink_in[s] = places.uplink_out[s];
    } else {
      places.uplink_out[s] = add(ResourceKind::uplink_out, "uplink " + number + " out", uplink.bytes_per_s);
      places.uplink_in[s] = add(ResourceKind::uplink_in, "uplink " + number + " in", uplink.bytes_per_s);
      join(places.uplink_out[s], places.uplink_in[s]);
    }
  }
  const std::vector<Between>& pairs_of_subnets = between_of(rail);
  places.pair_base.assign(pairs_of_subnets.size(), -1);
  for (std::size_t i = 0; i < pairs_of_subnets.size(); ++i) {
    const Between& pair = pairs_of_subnets[i];
    const std::vector<int>& from = of_rail[static_cast<std::size_t>(pair.from)].hosts;
    const std::vector<int>& to = of_rail[static_cast<std::size_t>(pair.to)].hosts;
    double slowest = std::numeric_limits<double>::infinity();
    for (const int r : route(from.front(), to.front(), rail).resources) {
      slowest = std::min(slowest, resources[static_cast<std::size_t>(r)].bytes_per_s);
    }
    if (pair.bytes_per_s >= kExplained * slowest) continue;
    places.pair_base[i] = static_cast<int>(resources.size());
    for (const int a : from) {
      for (const int b : to) {
        const std::string low = std::to_string(a);
        const std::string high = std::to_string(b);
        const int up = add(ResourceKind::pair, "host " + low + " to " + high, pair.bytes_per_s);
        join(up, add(ResourceKind::pair, "host " + high + " to " + low, pair.bytes_per_s));
      }
    }
  }
}

double Network::rail_bytes_per_s(int rail) const {
  double fastest = 0;
  for (const Subnet& subnet : subnets_of(rail)) fastest = std::max(fastest, subnet.bytes_per_s);
  // Lone hosts need not have one.
  if (fastest > 0) return fastest;
  for (const Between& pair : between_of(rail)) fastest = std::max(fastest, pair.bytes_per_s);
  return fastest;
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
  slim.tree = {};
  for (ClassPLogP& measured : slim.plogp) measured.samples.clear();
  slim.rail_plogp.clear();
  slim.rail_pairs.clear();
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

Route Network::route(int from, int to, int rail) const {
  ECO_ASSERT(light, from >= 0 && from < n_hosts() && to >= 0 && to < n_hosts(), "route between known hosts");
  ECO_ASSERT(light, rail >= 0 && rail < n_rails(), "a rail that there is");
  const auto a = static_cast<std::size_t>(from);
  const auto b = static_cast<std::size_t>(to);
  if (from == to) {
    const double one_s = 1 / copy_bytes_per_s();
    return {{memory_[a]}, memory_latency_s, std::max(0.0, one_s - 1 / memory_bytes_per_s)};
  }
  if (!has_rail(from, rail) || !has_rail(to, rail)) rail = 0;

  const Places& places = places_[static_cast<std::size_t>(rail)];
  const auto s = static_cast<std::size_t>(places.subnet_of_host[a]);
  const auto t = static_cast<std::size_t>(places.subnet_of_host[b]);
  Route route;
  const auto cross = [&route](int resource) {
    if (resource >= 0) route.resources.push_back(resource);
  };
  cross(common_);
  cross(places.transmit[a]);
  cross(places.bus[s]);
  if (s == t) {
    route.latency_s = subnets_of(rail)[s].latency_s;
  } else {
    const std::size_t i = between_index(subnets_of(rail).size(), s, t);
    route.latency_s = between_of(rail)[i].latency_s;
    cross(places.uplink_out[s]);
    const bool by_sites = rail == 0 && !site_links_.empty();
    // From the inside out, until a site has both; and the other way round.
    const auto is_behind = [this](std::size_t subnet, int link) {
      const auto& links = leaves_[subnet];
      return std::find(links.begin(), links.end(), link) != links.end();
    };
    if (by_sites) {
      for (const int link : leaves_[s]) {
        if (!is_behind(t, link)) cross(site_links_[static_cast<std::size_t>(link)].out);
      }
    }
    if (places.pair_base[i] >= 0) {
      // Two per pair of hosts, the lower subnet's host first: down the numbers is the even one.
      const bool upward = s < t;
      const std::size_t low = upward ? a : b;
      const std::size_t high = upward ? b : a;
      const int width = static_cast<int>(subnets_of(rail)[upward ? t : s].hosts.size());
      cross(places.pair_base[i] + 2 * (places.position[low] * width + places.position[high]) +
            (upward ? 0 : 1));
    }
    if (by_sites) {
      for (std::size_t l = leaves_[t].size(); l-- > 0;) {
        const int link = leaves_[t][l];
        if (!is_behind(s, link)) cross(site_links_[static_cast<std::size_t>(link)].in);
      }
    }
    cross(places.uplink_in[t]);
    cross(places.bus[t]);
  }
  cross(places.receive[b]);
  return route;
}

double Network::wire_bytes(std::size_t bytes) const {
  if (frame_bytes == 0 && envelope_bytes == 0) return static_cast<double>(bytes);
  const double payload = static_cast<double>(bytes) + envelope_bytes;
  const double n_packets = std::ceil(payload / packet_bytes);
  return (payload + n_packets * frame_bytes) * packet_bytes / (packet_bytes + frame_bytes);
}

double Network::wire_bytes(int from, int to, std::size_t bytes) const {
  return from == to ? static_cast<double>(bytes) : wire_bytes(bytes);
}

double Network::message_s(int from, int to, std::size_t bytes) const {
  const Route path = route(from, to);
  const double all = wire_bytes(from, to, bytes);
  const double first = std::min(all, packet_bytes);
  double slowest = std::numeric_limits<double>::infinity();
  double seconds = send_overhead_s + receive_overhead_s + path.latency_s;
  for (const int r : path.resources) {
    const Resource& resource = resources[static_cast<std::size_t>(r)];
    seconds += first / resource.bytes_per_s + resource.message_s + resource.wake_s;
    slowest = std::min(slowest, resource.bytes_per_s);
  }
  return seconds + (all - first) / slowest + all * path.receiving_s_per_byte;
}

std::string Network::fingerprint() const {
  std::string text = "network 1;" + transport + ";";
  for (int rail = 0; rail < n_rails(); ++rail) {
    if (rail > 0) text += "rail " + std::to_string(rail) + ";";
    for (const Subnet& subnet : subnets_of(rail)) {
      text += "subnet";
      for (const int host : subnet.hosts) text += " " + std::to_string(host);
      text += " " + std::string(name(subnet.kind)) + " " + quantised(subnet.latency_s) + " " +
              quantised(subnet.bytes_per_s) + ";";
    }
    for (const Between& pair : between_of(rail)) {
      text += "between " + quantised(pair.latency_s) + " " + quantised(pair.bytes_per_s) + ";";
    }
    for (const Uplink& uplink : uplinks_of(rail)) {
      text += "uplink " + std::to_string(uplink.subnet) + " " + quantised(uplink.bytes_per_s) + " " +
              std::to_string(uplink.shared) + std::to_string(uplink.half_duplex) + ";";
    }
  }
  for (const Site& site : sites) {
    text += "site";
    for (const int subnet : site.subnets) text += " " + std::to_string(subnet);
    text += " " + quantised(site.bytes_per_s) + " " + std::to_string(site.half_duplex) + ";";
  }
  for (const double value : {send_overhead_s, receive_overhead_s, memory_latency_s, memory_bytes_per_s,
                             combine_bytes_per_s, packet_bytes}) {
    text += quantised(value) + " ";
  }
  return base::digest(text);
}

}  // namespace eco::net
