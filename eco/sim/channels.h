// Messages under way in virtual time, and the channels that they match in.
//
//   Channels channels(view, schedules[0].rails);
//   const std::uint32_t number = channels.number(sender, receiver, op.channel);
//   channels[number].push(message, false);
//   channels.route(channels[number]).latency_s
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "eco/base/numbering.h"
#include "eco/net/group_view.h"
#include "eco/net/network.h"
#include "eco/sched/window.h"
#include "eco/sim/moment.h"

namespace eco::sim {

// A message above the eager limit goes through all three: its request crosses the route alone, the receiver grants it
// when the receive is there, and then its bytes follow.
enum class Stage : std::uint8_t { eager, request, granted };

struct Message {
  std::uint32_t channel = 0;
  sched::OpId send = 0;
  sched::OpId receive = 0;  // of a granted one
  std::uint16_t hop = 0;
  Stage stage = Stage::eager;
  std::size_t bytes = 0;
  double wire_bytes = 0;
  Moment first;  // when its first packet reaches the present hop; the receiver, once there
  Moment last;   // when its last byte left the previous hop
};

// Messages of one (sender, receiver, channel) match in order, so at most one of the two sides is ahead.
struct Channel {
  int sender = 0;
  int receiver = 0;
  std::uint32_t route = 0;
  std::uint32_t way_back = 0;  // a route too: of answers
  // Receives posted (operation ids) or messages arrived (indices), oldest first. Mostly there is one, which needs no memory
  // elsewhere: those behind it wait in `others`, from `head` on.
  std::uint32_t oldest = 0;
  std::uint32_t n_waiting = 0;
  std::uint32_t head = 0;
  bool waiting_are_receives = false;
  std::vector<std::uint32_t> others{};

  bool is_empty() const { return n_waiting == 0; }
  std::uint32_t pop() {
    const std::uint32_t front = oldest;
    if (--n_waiting > 0) oldest = others[head++];
    if (head > 0 && head == others.size()) {
      others.clear();
      head = 0;
    }
    return front;
  }
  void push(std::uint32_t item, bool is_receive) {
    waiting_are_receives = is_receive;
    if (n_waiting++ == 0) {
      oldest = item;
    } else {
      others.push_back(item);
    }
  }
};

// All channels of a group's ranks, numbered as they come into use, with the routes of their messages.
class Channels {
 public:
  // `rails` as Schedule::rails; of a network with fewer rails than it names, those that there are carry the rest.
  Channels(const net::GroupView& view, std::vector<std::uint8_t> rails)
      : view_(view), rails_(std::move(rails)) {}

  std::uint32_t number(int sender, int receiver, int channel) {
    const auto n_ranks = static_cast<std::uint64_t>(view_.n_ranks());
    const auto [number, is_new] = numbers_.of(
        (static_cast<std::uint64_t>(channel) * n_ranks + static_cast<std::uint64_t>(sender)) * n_ranks +
        static_cast<std::uint64_t>(receiver));
    if (is_new) {
      channels_.push_back({.sender = sender,
                           .receiver = receiver,
                           .route = route_number(sender, receiver, channel),
                           .way_back = route_number(receiver, sender, channel)});
    }
    return number;
  }
  Channel& operator[](std::uint32_t number) { return channels_[number]; }
  const net::Route& route(const Channel& channel) const { return routes_[channel.route]; }
  const net::Route& way_back(const Channel& channel) const { return routes_[channel.way_back]; }

 private:
  std::uint32_t route_number(int sender, int receiver, int channel) {
    const auto c = static_cast<std::size_t>(channel);
    const int rail = (c < rails_.size() ? rails_[c] : 0) % view_.network->n_rails();
    const int from = view_.host_of(sender);
    const int to = view_.host_of(receiver);
    const auto n_hosts = static_cast<std::uint64_t>(view_.network->n_hosts());
    const auto [number, is_new] = route_numbers_.of(
        (static_cast<std::uint64_t>(rail) * n_hosts + static_cast<std::uint64_t>(from)) * n_hosts +
        static_cast<std::uint64_t>(to));
    if (is_new) routes_.push_back(view_.network->route(from, to, rail));
    return number;
  }

  const net::GroupView& view_;
  std::vector<std::uint8_t> rails_;
  std::vector<Channel> channels_;
  base::Numbering numbers_;
  std::vector<net::Route> routes_;
  base::Numbering route_numbers_;
};

}  // namespace eco::sim
