// The network's resources in virtual time: who has which until when, and how a message passes one (predict.h has the model).
//
//   Wires wires(view, true);
//   const Passage passage = wires.pass(message, route, bytes);      // its next hop
//   passage.arrives ? deliver at message.first.s : hop again at message.first.s
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "eco/net/group_view.h"
#include "eco/net/network.h"
#include "eco/sim/channels.h"
#include "eco/sim/moment.h"

namespace eco::sim {

struct Passage {
  std::size_t resource = 0;
  bool crosses =
      false;  // a resource, for the time from start to end; false only where a route has none at all
  bool arrives = false;  // at message.first, at the receiver; else that is when it reaches the next hop
  double start_s = 0;
  double end_s = 0;
};

class Wires {
 public:
  // `with_waking`: whether waking and answering take something of what ranks share; not where messages share resources
  // fairly, and pass() is not asked.
  Wires(const net::GroupView& view, bool with_waking)
      : network_(*view.network),
        free_(network_.resources.size()),
        busy_s_(network_.resources.size()),
        with_waking_(with_waking) {
    if (with_waking && network_.common_wake_s > 0) {
      for (std::size_t r = 0; r < network_.resources.size(); ++r) {
        if (network_.resources[r].kind == net::ResourceKind::common) common_ = static_cast<int>(r);
      }
    }
    if (with_waking && network_.memory_wake_s > 0) find_crowded_hosts(view);
  }

  // The message is at its next hop at message.first; `bytes` on the wire.
  Passage pass(Message& message, const net::Route& route, double bytes) {
    if (message.hop == route.resources.size()) {
      message.first = message.last.after_latency(route.latency_s);
      return {.arrives = true};
    }
    const auto resource = static_cast<std::size_t>(route.resources[message.hop]);
    const double rate = network_.resources[resource].bytes_per_s;
    const double message_s = network_.resources[resource].message_s;
    const double busy_s = bytes / rate + message_s;
    const double packet_s = std::min(bytes, network_.packet_bytes) / rate + message_s;
    const Moment start = later(message.first, free_[resource]);
    acknowledge(network_.resources[resource].reverse, bytes, message.first);
    Moment end = start.after_transfer(busy_s);
    if (message.hop > 0) end = later(end, message.last.after_transfer(packet_s));
    free_[resource] = start.after_transfer(busy_s);
    busy_s_[resource] += busy_s;
    message.last = end;
    const bool arrives = ++message.hop == route.resources.size();
    message.first = arrives ? end.after_latency(route.latency_s) : start.after_transfer(packet_s);
    return {resource, true, arrives, start.s, end.s};
  }

  // When a rank of this host runs that slept and could run at `when`: all who wake queue for what hosts have in common, or
  // what the host's ranks have.
  Moment woken(int host, const Moment& when) {
    return held(common_ >= 0 ? common_ : shared_by_ranks_of(host), when);
  }
  // When a rank of this host that is busy until `busy` is there for what came over this route at `when`: if it slept,
  // awake. What hosts have in common comes first on a route between them.
  Moment awake(const Moment& busy, int host, const net::Route& route, const Moment& when) {
    if (busy.s > when.s) return busy;
    const bool by_common = common_ >= 0 && !route.resources.empty() && route.resources.front() == common_;
    return held(by_common ? common_ : shared_by_ranks_of(host), when);
  }
  // When it has taken a message that has come over this route.
  Moment received(const Moment& busy, int host, const net::Route& route, const Message& message) {
    const double copying_s = static_cast<double>(message.bytes) * route.receiving_s_per_byte;
    return awake(busy, host, route, message.first).after_overhead(network_.receive_overhead_s + copying_s);
  }
  // When an answer has come that leaves now, at `when`, and has `bytes` on the wire, behind what is queued on its way. It is charged
  // to each link at once, as acknowledgements are.
  Moment answered(const net::Route& way_back, double bytes, const Moment& when) {
    Moment there = when;
    for (const int r : way_back.resources) {
      const auto resource = static_cast<std::size_t>(r);
      const double busy_s = with_waking_ ? bytes / network_.resources[resource].bytes_per_s +
                                               network_.resources[resource].message_s
                                         : 0;
      charge(resource, busy_s, when);
      there = later(there.after_transfer(busy_s), free_[resource]);
    }
    return there.after_latency(way_back.latency_s);
  }

  // Of each resource; whoever lets bytes flow otherwise than by pass() adds them.
  std::vector<double>& busy_s() { return busy_s_; }

 private:
  // The bytes' acknowledgements on the link's other direction: charged when the message comes to the link, before they
  // are really there, so that nothing is reserved in the future.
  void acknowledge(int reverse, double bytes, const Moment& now) {
    if (reverse < 0 || network_.reverse_share == 0) return;
    const auto resource = static_cast<std::size_t>(reverse);
    charge(resource, network_.reverse_share * bytes / network_.resources[resource].bytes_per_s, now);
  }

  void charge(std::size_t resource, double busy_s, const Moment& now) {
    free_[resource] = later(free_[resource], now).after_transfer(busy_s);
    busy_s_[resource] += busy_s;
  }

  // Where a host has as many ranks of the group as its processors' sharing is measured with, they hold its memory to wake.
  void find_crowded_hosts(const net::GroupView& view) {
    std::vector<int> n_ranks(static_cast<std::size_t>(network_.n_hosts()), 0);
    crowded_.assign(n_ranks.size(), -1);
    for (const int host : view.host_of_rank) {
      const auto h = static_cast<std::size_t>(host);
      if (++n_ranks[h] == net::kFewestWhoShare) crowded_[h] = network_.route(host, host).resources.front();
    }
  }
  int shared_by_ranks_of(int host) const {
    return crowded_.empty() ? -1 : crowded_[static_cast<std::size_t>(host)];
  }

  // For as long as waking a rank holds it, behind whoever has it; -1: nothing is shared.
  Moment held(int shared, const Moment& when) {
    if (shared < 0) return when;
    const auto resource = static_cast<std::size_t>(shared);
    const double seconds = network_.resources[resource].wake_s;
    free_[resource] = later(when, free_[resource]).after_transfer(seconds);
    busy_s_[resource] += seconds;
    return free_[resource];
  }

  const net::Network& network_;
  std::vector<Moment> free_;  // per resource
  std::vector<double> busy_s_;
  bool with_waking_;
  int common_ = -1;           // what hosts have in common and waking holds: first on every route between them
  std::vector<int> crowded_;  // by host: its memory, where its ranks share processors, or -1; empty: nowhere
};

}  // namespace eco::sim
