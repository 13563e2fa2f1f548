// A network in virtual time, for tests of measuring: ranks are threads that run one at a time, messages are packets
// that queue at the resources of a given Network, and the clock moves only when everybody waits. Instant and exact.
//
//   VirtualNetwork world(synthetic_network("hosts=3+3+2 uplink_mbit=40"), {0, 1, 2, 3, 4, 5, 6, 7});
//   world.run([&](transport::Transport& t, transport::Native& n, Clock clock) { ... });    // on every rank
//
// What one rank has of it is in testing_rank.h. Header-only, so that the core library does not carry it.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <queue>
#include <random>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "eco/measure/characterize.h"
#include "eco/net/ambient.h"
#include "eco/net/network.h"
#include "eco/transport/rank_threads.h"

namespace eco::measure::testing {

// One round trip of a pair that takes `factor` times as long as it should.
struct Spoilt {
  int a = 0;  // hosts, either order
  int b = 0;
  std::size_t bytes = 0;
  int trip = 0;  // the how manieth of this pair and size
  double factor = 1;
};

struct VirtualOptions {
  double noise = 0;  // every message takes up to this fraction longer; seeded
  unsigned seed = 1;
  std::vector<Spoilt> spoilt = {};
  // Larger messages wait for their receive and then twice the latency, and are complete when they are there.
  std::size_t eager_limit = std::numeric_limits<std::size_t>::max();
  // Receiving costs its time when the receiver waits, not when the message arrives: as bytes lie in a socket until
  // somebody reads them.
  bool reads_in_wait = false;
  int dies = -1;            // this rank stops ...
  double dies_after_s = 0;  // ... at its first call after this time
};

// What a dying rank throws; whoever waits for it gets Status::lost_peer.
struct Died {};

class VirtualNetwork {
 public:
  using Body = std::function<void(transport::Transport&, transport::Native&, Clock)>;

  VirtualNetwork(net::Network network, std::vector<int> host_of_rank, VirtualOptions options = {})
      : quiet_(std::move(network)),
        network_(quiet_),
        host_of_rank_(std::move(host_of_rank)),
        options_(std::move(options)) {
    free_at_.assign(network_.resources.size(), 0);
    random_.seed(options_.seed);
  }

  // Runs `body` on every rank; rethrows the first exception that is not a death.
  void run(const Body& body) {
    ranks_ = std::vector<Rank>(host_of_rank_.size());
    running_ = 0;
    for (Rank& rank : ranks_) rank.ready = true;
    transport::run_rank_threads(static_cast<int>(ranks_.size()), [&](int rank) { live(rank, body); });
  }

  double now() const { return now_; }

  // By a rank, inside run(): from now on others send as much as this says, until the next one.
  void carry(const net::Ambient& ambient) { network_ = net::under(quiet_, ambient); }

  // For a rank's own use, inside run().
  Pause pause(int rank) {
    return [this, rank](double seconds) { spend(rank, seconds); };
  }

 private:
  struct Message;
  struct Rank {
    bool ready = false;
    bool finished = false;
    bool lost = false;  // waits for what will never come
    std::size_t posted = 0;
    std::deque<transport::Ticket> done;
    double processor_free = 0;
    std::deque<std::function<void()>> outgoing;  // messages that wait for the one being sent
    bool sending = false;
    bool waiting = false;                         // in wait_some: reads what has arrived
    std::deque<std::shared_ptr<Message>> unread;  // with reads_in_wait
    std::condition_variable turn;
  };

  struct Message {
    int from, to, tag;
    std::vector<std::byte> bytes;
    double started = 0;
    std::size_t packets = 0;
    std::size_t on_their_way = 0;
    double factor = 1;
    bool is_held = false;  // until there is a receive for it
    bool is_rendezvous = false;
    transport::Ticket ticket = 0;
  };
  using Shared = std::shared_ptr<Message>;

  struct Posted {
    std::span<std::byte> memory;
    transport::Ticket ticket;
  };
  struct Channel {
    std::deque<Shared> sent;  // in order of posting; delivered in that order
    std::deque<Shared> arrived;
    std::deque<Posted> receives;
  };

  struct Event {
    double time;
    std::uint64_t number;
    std::function<void()> happen;
    bool operator>(const Event& other) const {
      return std::tie(time, number) > std::tie(other.time, other.number);
    }
  };

  class Transport;
  class Native;

  void at(double time, std::function<void()> happen) { events_.push({time, n_events_++, std::move(happen)}); }

  void live(int me, const Body& body);

  // Gives the turn to a rank that can go on, moving time if need be. Called with the lock, by whoever has the turn.
  void pass_on() {
    for (;;) {
      for (std::size_t r = 0; r < ranks_.size(); ++r) {
        if (!ranks_[r].ready || ranks_[r].finished) continue;  // what comes to who is gone wakes nobody
        running_ = static_cast<int>(r);
        ranks_[r].turn.notify_one();
        return;
      }
      if (events_.empty()) {
        bool someone = false;
        for (Rank& rank : ranks_) {
          if (rank.finished) continue;
          someone = rank.lost = rank.ready = true;  // nothing will ever come
        }
        if (!someone) return;
        continue;
      }
      Event event = events_.top();
      events_.pop();
      now_ = std::max(now_, event.time);
      event.happen();
    }
  }

  // Until somebody makes this rank ready.
  void sleep(int me) {
    std::unique_lock lock(mutex_);
    Rank& rank = ranks_[static_cast<std::size_t>(me)];
    rank.ready = false;
    pass_on();
    rank.turn.wait(lock, [&] { return running_ == me && rank.ready; });
  }

  void spend(int me, double seconds) {
    const double end = now_ + seconds;
    at(end, [this, me] { ranks_[static_cast<std::size_t>(me)].ready = true; });
    while (now_ < end) sleep(me);  // arrivals wake it too
  }

  void maybe_die(int me) {
    if (me != options_.dies || now_ < options_.dies_after_s) return;
    take_back_receives(me);
    throw Died();
  }

  double factor_of(const Message& message) {
    const int a = std::min(host(message.from), host(message.to));
    const int b = std::max(host(message.from), host(message.to));
    // Two messages make a trip.
    const int trip = seen_[{a, b, message.bytes.size()}]++ / 2;
    double factor = 1 + options_.noise * std::uniform_real_distribution<>(0, 1)(random_);
    for (const Spoilt& spoilt : options_.spoilt) {
      if (std::min(spoilt.a, spoilt.b) == a && std::max(spoilt.a, spoilt.b) == b &&
          spoilt.bytes == message.bytes.size() && spoilt.trip == trip) {
        factor *= spoilt.factor;
      }
    }
    return factor;
  }

  int host(int rank) const { return host_of_rank_[static_cast<std::size_t>(rank)]; }

  void launch(const Shared& message) {
    message->started = now_;
    message->factor = factor_of(*message);
    const double size = static_cast<double>(message->bytes.size());
    message->packets = std::max<std::size_t>(
        1, static_cast<std::size_t>((size + network_.packet_bytes - 1) / network_.packet_bytes));
    message->on_their_way = message->packets;
    Rank& rank = ranks_[static_cast<std::size_t>(message->from)];
    rank.outgoing.push_back([this, message] { send_packet(message, message->packets); });
    if (!rank.sending) next_message(rank);
  }

  void next_message(Rank& rank) {
    rank.sending = !rank.outgoing.empty();
    if (!rank.sending) return;
    const auto start = std::move(rank.outgoing.front());
    rank.outgoing.pop_front();
    start();
  }

  // The packets of a message enter the first resource one after the other, so that messages take turns there.
  void send_packet(const Shared& message, std::size_t left) {
    const net::Route route = network_.route(host(message->from), host(message->to));
    const double whole = static_cast<double>(message->bytes.size());
    const double size = std::min(
        network_.packet_bytes, whole - network_.packet_bytes * static_cast<double>(message->packets - left));
    auto hops = std::make_shared<const net::Route>(route);
    cross(message, hops, 0, size, [this, message, left] {
      if (left > 1) {
        send_packet(message, left - 1);
      } else {
        next_message(ranks_[static_cast<std::size_t>(message->from)]);
      }
    });
  }

  void cross(const Shared& message, const std::shared_ptr<const net::Route>& route, std::size_t hop,
             double size, const std::function<void()>& left_first_hop) {
    if (hop == route->resources.size()) {
      at(now_ + route->latency_s, [this, message] {
        if (--message->on_their_way == 0) arrive(message);
      });
      return;
    }
    const auto r = static_cast<std::size_t>(route->resources[hop]);
    const net::Resource& resource = network_.resources[r];
    const double end = std::max(now_, free_at_[r]) + size / resource.bytes_per_s + resource.message_s;
    free_at_[r] = end;
    at(end, [this, message, route, hop, size, left_first_hop] {
      if (hop == 0) left_first_hop();
      cross(message, route, hop + 1, size, left_first_hop);
    });
  }

  // When the receiver runs that slept until its message came: after all others who wake for what is common.
  double woken(const Message& message) {
    const net::Route route = network_.route(host(message.from), host(message.to));
    double when = now_;
    for (const int r : route.resources) {
      const auto resource = static_cast<std::size_t>(r);
      const double wake_s = network_.resources[resource].wake_s;
      if (wake_s > 0) when = free_at_[resource] = std::max(now_, free_at_[resource]) + wake_s;
    }
    return when;
  }

  void arrive(const Shared& message) {
    Rank& rank = ranks_[static_cast<std::size_t>(message->to)];
    if (message->is_rendezvous) {
      Rank& sender = ranks_[static_cast<std::size_t>(message->from)];
      sender.done.push_back(message->ticket);
      sender.ready = true;
    }
    if (options_.reads_in_wait && !rank.waiting) {
      rank.unread.push_back(message);
    } else {
      read(message);
    }
  }

  void begin_waiting(Rank& rank) {
    rank.waiting = true;
    while (!rank.unread.empty()) {
      const Shared message = rank.unread.front();
      rank.unread.pop_front();
      read(message);
    }
  }

  // Messages whose receives are posted get their consent.
  void release(Channel& channel) {
    for (std::size_t i = 0; i < std::min(channel.sent.size(), channel.receives.size()); ++i) {
      const Shared message = channel.sent[i];
      if (!message->is_held) continue;
      message->is_held = false;
      const double latency_s = network_.route(host(message->from), host(message->to)).latency_s;
      at(now_ + 2 * latency_s, [this, message] { launch(message); });
    }
  }

  void read(const Shared& message) {
    Rank& rank = ranks_[static_cast<std::size_t>(message->to)];
    const double natural = now_ - message->started;
    const double awake = rank.processor_free < now_ ? woken(*message) : rank.processor_free;
    const double copying_s = static_cast<double>(message->bytes.size()) *
                             network_.route(host(message->from), host(message->to)).receiving_s_per_byte;
    const double when = awake + network_.receive_overhead_s + copying_s;
    rank.processor_free = when;
    if (message->factor < 1) {
      // Too early to be true: what a jumping clock would show. Everything since posting is undone for the receiver.
      now_ = message->started + message->factor * natural;
      rank.processor_free = std::min(rank.processor_free, now_);
      for (double& free_at : free_at_) free_at = std::min(free_at, now_);
      deliver(message);
      return;
    }
    at(when + (message->factor - 1) * natural, [this, message] { deliver(message); });
  }

  void deliver(const Shared& message) {
    Channel& channel = channels_[{message->from, message->to, message->tag}];
    channel.arrived.push_back(message);
    match(message->to, channel);
  }

  // Nothing is written to the rank's memory any more.
  void take_back_receives(int rank) {
    for (auto& [way, channel] : channels_) {
      if (std::get<1>(way) == rank) channel.receives.clear();
    }
  }

  void match(int to, Channel& channel) {
    Rank& rank = ranks_[static_cast<std::size_t>(to)];
    while (!channel.receives.empty() && !channel.sent.empty()) {
      const auto place = std::find(channel.arrived.begin(), channel.arrived.end(), channel.sent.front());
      if (place == channel.arrived.end()) return;
      const Posted receive = channel.receives.front();
      const auto& bytes = (*place)->bytes;
      std::memcpy(receive.memory.data(), bytes.data(), std::min(bytes.size(), receive.memory.size()));
      rank.done.push_back(receive.ticket);
      rank.ready = true;
      channel.receives.pop_front();
      channel.arrived.erase(place);
      channel.sent.pop_front();
    }
  }

  net::Network quiet_;  // without what others send
  net::Network network_;
  std::vector<int> host_of_rank_;
  VirtualOptions options_;
  std::mutex mutex_;
  std::vector<Rank> ranks_;
  int running_ = 0;
  double now_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t n_events_ = 0;
  std::vector<double> free_at_;
  std::map<std::tuple<int, int, int>, Channel> channels_;
  std::map<std::tuple<int, int, std::size_t>, int> seen_;
  std::mt19937 random_;
  // The native collectives meet here.
  std::vector<std::vector<std::byte>> brought_;
  std::vector<std::vector<std::byte>> result_;
  std::size_t n_brought_ = 0;
  std::uint64_t meetings_ = 0;
};

}  // namespace eco::measure::testing

#include "eco/measure/testing_rank.h"  // IWYU pragma: export
