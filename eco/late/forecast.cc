#include "eco/late/forecast.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <string>
#include <utility>

#include "eco/base/errors.h"
#include "eco/late/mail.h"
#include "eco/sim/channels.h"
#include "eco/sim/event_queue.h"
#include "eco/sim/wires.h"

namespace eco::late {
namespace {

using sim::EventKind;
using sim::later;
using sim::Moment;

class Simulator {
 public:
  Simulator(const net::GroupView& view, std::span<ScheduleSource* const> sources)
      : network_(*view.network),
        view_(view),
        sources_(sources),
        wires_(view, true),
        channels_(view, {}),
        events_(sources.size()),
        cpu_(sources.size()) {}

  Forecast run(const std::vector<double>& arrival_s) {
    for (std::size_t rank = 0; rank < sources_.size(); ++rank) {
      cpu_[rank].s = arrival_s[rank];
      events_.push(arrival_s[rank], static_cast<std::uint32_t>(rank), EventKind::entry, rank);
    }
    while (!events_.is_empty()) {
      const sim::Event event = events_.pop();
      switch (event.kind) {
        case EventKind::entry:
          enter(static_cast<int>(event.message));
          break;
        case EventKind::wake:
          wake(event.message);
          break;
        case EventKind::hop:
          on_hop(event.message);
          break;
        case EventKind::arrival:
          on_arrival(event.message);
          break;
        case EventKind::confirms:
          on_answer(event.message);
          break;
        default:  // of synchronous sends
          on_confirmation(transits_[event.message]);
      }
    }
    return finish();
  }

 private:
  struct Transit {
    sim::Message message;
    std::uint32_t channel = 0;
    Letter letter;
  };
  struct Wake {
    int rank;
    Ticket ticket;
    Moment when;
  };

  Moment& cpu(int rank) { return cpu_[static_cast<std::size_t>(rank)]; }
  ScheduleSource& source(int rank) { return *sources_[static_cast<std::size_t>(rank)]; }

  void enter(int rank) {
    cpu(rank) = wires_.woken(view_.host_of(rank), cpu(rank));
    source(rank).enter();
    take_orders(rank);
  }

  void complete(int rank, Ticket ticket, const Moment& when) {
    cpu(rank) = later(cpu(rank), when);
    source(rank).on_done(ticket);
    take_orders(rank);
  }

  void wake(std::uint32_t index) {
    const Wake due = wakes_[index];
    if (!source(due.rank).is_done()) complete(due.rank, due.ticket, due.when);
  }

  // Eager sends are complete as soon as they are posted, which may bring new orders: first all of these, in their order.
  void take_orders(int rank) {
    std::deque<Ticket> sent;
    for (bool first = true; first || !sent.empty(); first = false) {
      if (!sent.empty()) {
        const Ticket ticket = sent.front();
        sent.pop_front();
        source(rank).on_done(ticket);
      }
      for (const Order& order : source(rank).take_orders()) {
        if (order.kind == Order::Kind::wake) {
          wakes_.push_back({rank, order.ticket, cpu(rank)});
          wakes_.back().when.s += order.after_s;
          events_.push(wakes_.back().when.s, static_cast<std::uint32_t>(wakes_.size() - 1), EventKind::wake,
                       static_cast<std::size_t>(rank));
        } else if (order.kind == Order::Kind::send) {
          send(rank, order);
          if (!order.synchronous) sent.push_back(order.ticket);
        } else if (auto met = mail_.want({rank, order.peer, order.channel, order.ticket, order.target})) {
          // It came before and lies in the library's memory.
          early_.push_back(std::move(*met));
        }
      }
    }
    while (!early_.empty()) {
      const Meeting met = std::move(early_.front());
      early_.pop_front();
      receive(met, cpu(met.slot.rank));
    }
  }

  void send(int rank, const Order& order) {
    ++result_.n_messages;
    cpu(rank) = cpu(rank).after_overhead(network_.send_overhead_s);
    const auto index = static_cast<std::uint32_t>(transits_.size());
    transits_.emplace_back();
    Transit& transit = transits_.back();
    transit.channel = channels_.number(rank, order.peer, order.channel);
    transit.letter = {.from = rank, .to = order.peer, .channel = order.channel, .ticket = order.ticket};
    transit.letter.bytes = order.source;
    transit.letter.owes_completion = order.synchronous;
    transit.letter.number = index;
    transit.message.bytes = order.source.size();
    transit.message.wire_bytes =
        network_.wire_bytes(view_.host_of(rank), view_.host_of(order.peer), order.source.size());
    transit.message.first = transit.message.last = cpu(rank);
    events_.push(cpu(rank).s, index, EventKind::hop, static_cast<std::size_t>(rank));
  }

  void on_hop(std::uint32_t index) {
    Transit& transit = transits_[index];
    const sim::Passage passage = wires_.pass(transit.message, route_of(transit), transit.message.wire_bytes);
    events_.push(transit.message.first.s, index, passage.arrives ? EventKind::arrival : EventKind::hop,
                 static_cast<std::size_t>(transit.letter.from));
  }

  void on_arrival(std::uint32_t index) {
    const Letter& letter = transits_[index].letter;
    const int to = letter.to;
    cpu(to) =
        wires_.received(cpu(to), view_.host_of(to), route_of(transits_[index]), transits_[index].message);
    if (auto met = mail_.put(letter)) receive(*met, cpu(to));
  }

  void on_answer(std::uint32_t index) {
    Transit& transit = transits_[index];
    const double bytes =
        network_.wire_bytes(view_.host_of(transit.letter.to), view_.host_of(transit.letter.from), 0);
    transit.message.first = wires_.answered(way_back_of(transit), bytes, transit.message.first);
    events_.push(transit.message.first.s, index, EventKind::confirmation,
                 static_cast<std::size_t>(transit.letter.to));
  }

  void on_confirmation(const Transit& transit) {
    const int sender = transit.letter.from;
    complete(sender, transit.letter.ticket,
             wires_.awake(cpu(sender), view_.host_of(sender), way_back_of(transit), transit.message.first));
  }

  const net::Route& route_of(const Transit& transit) { return channels_.route(channels_[transit.channel]); }

  const net::Route& way_back_of(const Transit& transit) {
    return channels_.way_back(channels_[transit.channel]);
  }

  void receive(const Meeting& met, const Moment& when) {
    const std::span<const std::byte> bytes = met.letter.bytes;
    if (!bytes.empty()) std::memcpy(met.slot.target.data(), bytes.data(), bytes.size());
    if (met.letter.owes_completion) {
      Transit& transit = transits_[met.letter.number];
      transit.message.first = when;
      events_.push(when.s, met.letter.number, EventKind::confirms, static_cast<std::size_t>(met.slot.rank));
    }
    complete(met.slot.rank, met.slot.ticket, when);
  }

  Forecast finish() {
    for (std::size_t rank = 0; rank < sources_.size(); ++rank) {
      if (!sources_[rank]->is_done())
        throw InvalidArgument("rank " + std::to_string(rank) + " of a broadcast stands still");
      result_.rank_end_s.push_back(cpu_[rank].s);
      result_.seconds = std::max(result_.seconds, cpu_[rank].s);
    }
    return std::move(result_);
  }

  const net::Network& network_;
  const net::GroupView& view_;
  std::span<ScheduleSource* const> sources_;
  sim::Wires wires_;
  sim::Channels channels_;
  sim::EventQueue events_;
  Mail mail_;
  std::vector<Moment> cpu_;  // by rank: busy until then
  std::deque<Transit> transits_;
  std::vector<Wake> wakes_;
  std::deque<Meeting> early_;
  Forecast result_;
};

}  // namespace

Forecast forecast(const net::GroupView& view, std::span<ScheduleSource* const> sources,
                  const std::vector<double>& arrival_s) {
  return Simulator(view, sources).run(arrival_s);
}

double clairvoyant_bound_s(const net::GroupView& view, int root, std::size_t bytes,
                           const std::vector<double>& arrival_s) {
  const net::Network& network = *view.network;
  double bound_s = arrival_s[static_cast<std::size_t>(root)];
  for (int rank = 0; rank < view.n_ranks(); ++rank) {
    if (view.host_of(rank) == view.host_of(root)) continue;
    const net::Route route = network.route(view.host_of(root), view.host_of(rank));
    const double rate = network.resources[static_cast<std::size_t>(route.resources.back())].bytes_per_s;
    const double both_s =
        std::max(arrival_s[static_cast<std::size_t>(root)], arrival_s[static_cast<std::size_t>(rank)]);
    bound_s = std::max(bound_s, both_s + network.wire_bytes(bytes) / rate);
  }
  return bound_s;
}

}  // namespace eco::late
