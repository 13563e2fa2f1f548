// What a rank does next, decided while it runs: the automaton's side of a collective whose pattern forms as ranks come.
//
//   source.enter();                                        // the rank is in the call
//   for (const Order& order : source.take_orders()) post(order);
//   source.on_done(ticket);                                // one of them is complete: there may be more orders now
//   source.is_done();                                      // nothing is under way and nothing will be
//
// A source knows no transport, clock or thread: the same one runs live (Executor::run), in virtual time and through every
// order of events (eco/late). It is deterministic: the same events in the same order give the same orders.
//
// Orders that were given must be posted in their order. Messages of one sender, receiver and channel match in the order of
// posting; a channel is received either from anybody or from named peers, never both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "eco/transport/transport.h"

namespace eco::exec {

using transport::Ticket;

struct Order {
  enum class Kind : std::uint8_t { send, recv, wake };
  Kind kind = Kind::send;
  int peer = -1;  // send, recv; of a recv also kAnyPeer
  int channel = 0;
  std::span<const std::byte> source{};  // send
  std::span<std::byte> target{};        // recv: room for the longest that may come
  bool synchronous = false;             // send: complete only when matched
  double after_s = 0;                   // wake: completes so much later
  Ticket ticket = 0;
};

// What a source wrote on a ticket, to know it again: what it is for, of whom, which one.
struct Note {
  std::uint32_t what = 0;
  int who = -1;
  std::size_t index = 0;
};

// The orders of one source, and what each is for.
class OrderBook {
 public:
  void send(int peer, int channel, std::span<const std::byte> bytes, Note note, bool synchronous = false) {
    add({.kind = Order::Kind::send,
         .peer = peer,
         .channel = channel,
         .source = bytes,
         .synchronous = synchronous},
        note);
  }
  void recv(int peer, int channel, std::span<std::byte> bytes, Note note) {
    add({.kind = Order::Kind::recv, .peer = peer, .channel = channel, .target = bytes}, note);
  }
  void wake(double after_s, Note note) { add({.kind = Order::Kind::wake, .after_s = after_s}, note); }

  // Forgets the ticket, which may be given again.
  Note close(Ticket ticket) {
    const Line line = lines_[ticket];
    if (!line.is_wake) --n_messages_;
    free_.push_back(ticket);
    return line.note;
  }
  // Messages that are not complete.
  std::size_t n_messages() const { return n_messages_; }
  std::vector<Order> take() { return std::exchange(orders_, {}); }

 private:
  struct Line {
    Note note;
    bool is_wake = false;
  };

  void add(Order order, Note note) {
    const bool is_wake = order.kind == Order::Kind::wake;
    if (!is_wake) ++n_messages_;
    if (free_.empty()) {
      free_.push_back(static_cast<Ticket>(lines_.size()));
      lines_.emplace_back();
    }
    order.ticket = free_.back();
    free_.pop_back();
    lines_[order.ticket] = {note, is_wake};
    orders_.push_back(order);
  }

  std::vector<Order> orders_;
  std::vector<Line> lines_;  // by ticket
  std::vector<Ticket> free_;
  std::size_t n_messages_ = 0;
};

class ScheduleSource {
 public:
  virtual ~ScheduleSource() = default;

  // Once, when the rank is in the call.
  virtual void enter() = 0;
  virtual void on_done(Ticket ticket) = 0;
  // Wakes may still be under way; whoever drives the source forgets them.
  virtual bool is_done() const = 0;
  virtual std::vector<Order> take_orders() { return book_.take(); }
  // The ranks that this one found late, by its own patience, so far; of sources that have none, nobody.
  virtual std::span<const int> late() const { return {}; }

 protected:
  OrderBook book_;
};

}  // namespace eco::exec
