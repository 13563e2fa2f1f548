#include "eco/net/part.h"

#include <algorithm>
#include <cstddef>
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

Part part_of(const std::shared_ptr<const Network>& network, const std::vector<int>& hosts) {
  const Network& whole = *network;
  if (!whole.more_rails.empty()) return {network, hosts};
  std::vector<std::vector<int>> kept(whole.subnets.size());  // in each subnet, by their old numbers
  for (const int host : hosts)
    kept[static_cast<std::size_t>(whole.subnet_of_host[static_cast<std::size_t>(host)])].push_back(host);

  Network part = without_hosts(whole);
  std::vector<int> new_subnet(whole.subnets.size(), -1);
  std::vector<std::pair<int, int>> numbers;  // old, new
  for (std::size_t s = 0; s < kept.size(); ++s) {
    if (kept[s].empty()) continue;
    std::sort(kept[s].begin(), kept[s].end());
    kept[s].erase(std::unique(kept[s].begin(), kept[s].end()), kept[s].end());
    Subnet subnet = {{}, whole.subnets[s].kind, whole.subnets[s].latency_s, whole.subnets[s].bytes_per_s};
    if (kept[s].size() == 1) subnet.kind = SubnetKind::lone;
    for (const int host : kept[s]) {
      numbers.emplace_back(host, part.n_hosts());
      subnet.hosts.push_back(part.n_hosts());
      part.hosts.push_back(whole.hosts[static_cast<std::size_t>(host)]);
    }
    new_subnet[s] = static_cast<int>(part.subnets.size());
    part.subnets.push_back(std::move(subnet));
  }
  const auto renumbered = [&](int s) { return new_subnet[static_cast<std::size_t>(s)]; };
  for (Between pair : whole.between) {
    pair.from = renumbered(pair.from);
    pair.to = renumbered(pair.to);
    if (pair.from >= 0 && pair.to >= 0) part.between.push_back(pair);
  }
  for (Uplink uplink : whole.uplinks) {
    uplink.subnet = renumbered(uplink.subnet);
    if (uplink.subnet >= 0) part.uplinks.push_back(uplink);
  }
  for (ClassPLogP measured : whole.plogp) {
    measured.samples.clear();
    if (stand_in(whole, part, new_subnet, measured)) part.plogp.push_back(std::move(measured));
  }
  part.finish();

  std::sort(numbers.begin(), numbers.end());
  Part result{std::make_shared<const Network>(std::move(part)), {}};
  for (const int host : hosts) {
    const auto found = std::lower_bound(numbers.begin(), numbers.end(), std::pair(host, 0));
    result.hosts.push_back(found->second);
  }
  return result;
}

}  // namespace eco::net
