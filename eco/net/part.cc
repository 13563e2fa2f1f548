#include "eco/net/part.h"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>

namespace eco::net {
namespace {

// Of the whole: how messages and processors are, but for hosts and whatever has as many entries as they.
Network without_hosts(const Network& whole) {
  Network part;
  part.transport = whole.transport;
  part.send_overhead_s = whole.send_overhead_s;
  part.receive_overhead_s = whole.receive_overhead_s;
  part.memory_latency_s = whole.memory_latency_s;
  part.memory_bytes_per_s = whole.memory_bytes_per_s;
  part.combine_bytes_per_s = whole.combine_bytes_per_s;
  part.packet_bytes = whole.packet_bytes;
  part.frame_bytes = whole.frame_bytes;
  part.envelope_bytes = whole.envelope_bytes;
  part.reverse_share = whole.reverse_share;
  part.memory_pair_bytes_per_s = whole.memory_pair_bytes_per_s;
  part.memory_message_s = whole.memory_message_s;
  part.memory_wake_s = whole.memory_wake_s;
  part.common_message_s = whole.common_message_s;
  part.common_wake_s = whole.common_wake_s;
  part.measured_at = whole.measured_at;
  part.note = whole.note;
  return part;
}

// Hosts of the part that stand for a pair that was measured: of the same subnets, and one or two as it was.
bool stand_in(const Network& whole, const Network& part, const std::vector<int>& new_subnet,
              ClassPLogP& pair) {
  const auto subnet = [&](int host) {
    return new_subnet[static_cast<std::size_t>(whole.subnet_of_host[static_cast<std::size_t>(host)])];
  };
  const int s = subnet(pair.from);
  const int t = subnet(pair.to);
  if (s < 0 || t < 0) return false;
  const auto& from = part.subnets[static_cast<std::size_t>(s)].hosts;
  const auto& to = part.subnets[static_cast<std::size_t>(t)].hosts;
  const bool upward = pair.from < pair.to;
  if (pair.pairs == PairClass::subnet) {
    if (from.size() < 2) return false;
    pair.from = upward ? from[0] : from[1];
    pair.to = upward ? from[1] : from[0];
  } else {
    pair.from = from[0];
    pair.to = to[0];
  }
  return true;
}

}  // namespace

Rail rail_of(const Rail& whole, const std::vector<int>& hosts) {
  std::vector<int> wanted = hosts;
  std::sort(wanted.begin(), wanted.end());
  std::vector<std::pair<Subnet, std::size_t>> kept;  // with their old places
  for (std::size_t s = 0; s < whole.subnets.size(); ++s) {
    Subnet subnet = whole.subnets[s];
    std::erase_if(subnet.hosts,
                  [&](int host) { return !std::binary_search(wanted.begin(), wanted.end(), host); });
    if (subnet.hosts.empty()) continue;
    if (subnet.hosts.size() == 1) subnet.kind = SubnetKind::lone;
    kept.emplace_back(std::move(subnet), s);
  }
  // By their lowest hosts, which need not be those that they had.
  std::sort(kept.begin(), kept.end(),
            [](const auto& a, const auto& b) { return a.first.hosts.front() < b.first.hosts.front(); });
  Rail part{.subnets = {}, .between = {}, .uplinks = {}, .name = whole.name};
  std::vector<int> new_subnet(whole.subnets.size(), -1);
  for (auto& [subnet, place] : kept) {
    new_subnet[place] = static_cast<int>(part.subnets.size());
    part.subnets.push_back(std::move(subnet));
  }
  const auto renumbered = [&](int s) { return new_subnet[static_cast<std::size_t>(s)]; };
  for (Between pair : whole.between) {
    std::tie(pair.from, pair.to) = std::minmax({renumbered(pair.from), renumbered(pair.to)});
    if (pair.from >= 0) part.between.push_back(pair);
  }
  std::sort(part.between.begin(), part.between.end(), [](const Between& a, const Between& b) {
    return std::tie(a.from, a.to) < std::tie(b.from, b.to);
  });
  for (Uplink uplink : whole.uplinks) {
    uplink.subnet = renumbered(uplink.subnet);
    if (uplink.subnet >= 0) part.uplinks.push_back(uplink);
  }
  std::sort(part.uplinks.begin(), part.uplinks.end(),
            [](const Uplink& a, const Uplink& b) { return a.subnet < b.subnet; });
  return part;
}

Part part_of(const std::shared_ptr<const Network>& network, const std::vector<int>& hosts) {
  const Network& whole = *network;
  Network part = without_hosts(whole);
  Rail first = rail_of({whole.subnets, whole.between, whole.uplinks}, hosts);
  // In ascending order, so that whatever is in order of hosts stays so.
  std::vector<int> kept = hosts;
  std::sort(kept.begin(), kept.end());
  kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
  for (const int host : kept) part.hosts.push_back(whole.hosts[static_cast<std::size_t>(host)]);
  const auto renumbered = [&](int host) {
    return static_cast<int>(std::lower_bound(kept.begin(), kept.end(), host) - kept.begin());
  };
  std::vector<int> new_subnet(whole.subnets.size(), -1);
  for (std::size_t s = 0; s < first.subnets.size(); ++s) {
    const auto host = static_cast<std::size_t>(first.subnets[s].hosts.front());
    new_subnet[static_cast<std::size_t>(whole.subnet_of_host[host])] = static_cast<int>(s);
  }
  const auto renumber = [&](std::vector<Subnet>& subnets) {
    for (Subnet& subnet : subnets) {
      for (int& host : subnet.hosts) host = renumbered(host);
    }
  };
  renumber(first.subnets);
  part.subnets = std::move(first.subnets);
  part.between = std::move(first.between);
  part.uplinks = std::move(first.uplinks);
  for (Site site : whole.sites) {
    for (int& subnet : site.subnets) subnet = new_subnet[static_cast<std::size_t>(subnet)];
    std::erase(site.subnets, -1);
    std::sort(site.subnets.begin(), site.subnets.end());
    if (!site.subnets.empty()) part.sites.push_back(std::move(site));
  }
  part.rails = whole.rails;
  for (const Rail& rail : whole.more_rails)
    renumber(part.more_rails.emplace_back(rail_of(rail, hosts)).subnets);
  for (ClassPLogP measured : whole.plogp) {
    measured.samples.clear();
    if (stand_in(whole, part, new_subnet, measured)) part.plogp.push_back(std::move(measured));
  }
  part.finish();

  Part result{std::make_shared<const Network>(std::move(part)), {}};
  for (const int host : hosts) result.hosts.push_back(renumbered(host));
  return result;
}

}  // namespace eco::net
