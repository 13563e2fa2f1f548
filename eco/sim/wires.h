// The network's resources in virtual time: who has which until when, and how a message passes one (predict.h has the model).
//
//   Wires wires(network, true);
//   const Passage passage = wires.pass(message, route, bytes);      // its next hop
//   passage.arrives ? deliver at message.first.s : hop again at message.first.s
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

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
  Wires(const net::Network& network, bool with_waking)
      : network_(network),
        free_(network.resources.size()),
        busy_s_(network.resources.size()),
        with_waking_(with_waking) {
    for (std::size_t r = 0; r < network.resources.size(); ++r) {
      if (network.resources[r].kind == net::ResourceKind::common) common_ = static_cast<int>(r);
    }
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
    if (common_ >= 0) return held(common_, when);
    return network_.memory_wake_s == 0 ? when : held(network_.route(host, host).resources.front(), when);
  }
  // When a rank that is busy until `busy` is there for what came over this route at `when`: if it slept, awake. What is
  // shared comes first on a route.
  Moment awake(const Moment& busy, const net::Route& route, const Moment& when) {
    if (busy.s > when.s) return busy;
    return route.resources.empty() ? when : held(route.resources.front(), when);
  }
  // When an answer of no bytes has come that is given at `when`, behind what is queued on its way by now. It keeps nobody
  // waiting: `when` may be far ahead of what is known of others.
  Moment answered(const net::Route& way_back, const Moment& when) const {
    Moment there = when;
    for (const int r : way_back.resources) {
      const auto resource = static_cast<std::size_t>(r);
      there = later(there, free_[resource]);
      if (with_waking_) there = there.after_transfer(network_.resources[resource].message_s);
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
    const double busy_s = network_.reverse_share * bytes / network_.resources[resource].bytes_per_s;
    free_[resource] = later(free_[resource], now).after_transfer(busy_s);
    busy_s_[resource] += busy_s;
  }

  // For as long as waking a rank holds it, behind whoever has it.
  Moment held(int shared, const Moment& when) {
    const auto resource = static_cast<std::size_t>(shared);
    const double seconds = network_.resources[resource].wake_s;
    if (seconds == 0 || !with_waking_) return when;
    free_[resource] = later(when, free_[resource]).after_transfer(seconds);
    busy_s_[resource] += seconds;
    return free_[resource];
  }

  const net::Network& network_;
  std::vector<Moment> free_;  // per resource
  std::vector<double> busy_s_;
  bool with_waking_;
  int common_ = -1;  // what hosts have in common: the first resource of every route between them
};

}  // namespace eco::sim
