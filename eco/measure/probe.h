// What a rank does in a measurement of the network: it follows rank 0's orders (conductor.h), and tells what they took.
//
// An order goes to the ranks that a measurement needs and to no other, so ranks that are not concerned sit in a
// blocking receive and disturb nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "eco/measure/characterize.h"
#include "eco/transport/transport.h"

namespace eco::measure {

// All messages have tags below this; what is measured has so many from the first on, orders and answers have the others, so that
// either can be given a rail (Transport::set_rails).
inline constexpr std::size_t kProbeTags = 8;
inline constexpr int kFirstMeasuredTag = 3;
inline constexpr std::size_t kMeasuredTags = 3;

enum class Action : std::int64_t {
  ping,
  stream,
  finish,
  abort,
  delayed,
  exchange,
  trips,
  arrivals,
  staggered
};

struct Order {
  Action action = Action::ping;
  std::int64_t bytes = 0;  // of one message; of the result's text when finishing
  // Round trips (staggered: with each), messages of a stream, or rounds of an exchange.
  std::int64_t count = 0;
  std::int64_t send_to = -1;  // rank, or nobody
  std::int64_t receive_from = -1;
  // Delayed: before the receiver looks, before the sender sends; staggered: between trips.
  std::int64_t pause_ns = 0;
  // Exchange, staggered: the list of so many ranks follows. Exchange: each sends to so many behind it in that list; staggered:
  // this rank asks the first so many of it.
  std::int64_t n_members = 0;
  std::int64_t n_next = 0;
  std::int64_t send_bytes =
      0;  // stream, arrivals: of what is sent, where `bytes` and `count` are of what comes
  std::int64_t send_count = 0;
};

struct Answer {
  // ping: all trips; stream: from the first send to the acknowledgement; delayed, at the sender: from the send to its
  // completion, at the receiver: from looking to having; exchange: one round
  double elapsed_s = 0;
  double posting_s = 0;  // stream, delayed: what the sender spent in posting
  std::int64_t n_times =
      0;  // trips and staggered, at the one who starts, and arrivals, at the receiver: so many seconds follow
};

// Carries out orders on one rank. Throws TransportError if the transport fails.
class Prober {
 public:
  Prober(transport::Transport& transport, Clock clock, Pause pause = sleeping_pause());

  Answer perform(const Order& order);
  // Seconds of the last trips (staggered: one rank after the other), or of the last arrivals.
  const std::vector<double>& times() const { return times_; }
  // Rank other than 0: carries out rank 0's orders until the last; returns its `bytes`.
  std::size_t follow();

  // Rank 0: the list of the orders from now on that have one.
  void gather(const std::vector<int>& ranks);
  void tell(int rank, const Order& order);
  // Several at once, none of an exchange: libraries open connections with the first message, which may take three ways.
  struct Told {
    int rank;
    Order order;
    std::vector<std::int64_t> members = {};  // the order's list, if it has one
  };
  void tell(std::vector<Told> orders);
  // What the rank that was told answers; `times` too, where it has any.
  Answer hear(int rank, std::vector<double>* times = nullptr);
  // Tells all others to give up, whatever may be under way.
  void dismiss();

 private:
  template <class Timed>
  void round_trips(const Order& order,
                   const Timed& timed);  // timed(trip), after one that opens the connection
  Answer ping(const Order& order);
  Answer stream(const Order& order);
  Answer trips(const Order& order);
  Answer delayed(const Order& order);
  Answer exchange(const Order& order);
  Answer staggered(const Order& order);
  void send(int peer, int tag, std::span<const std::byte> message);
  void receive(int peer, int tag, std::span<std::byte> message, transport::Ticket ticket = 0);
  // So many bytes of out_, into in_.
  void send(int peer, int tag, std::size_t bytes) { send(peer, tag, std::span(out_).first(bytes)); }
  void receive(int peer, int tag, std::size_t bytes) { receive(peer, tag, std::span(in_).first(bytes)); }
  void wait_all();
  void reserve(std::size_t out_bytes, std::size_t in_bytes);

  transport::Transport& transport_;
  Clock clock_;
  Pause pause_;
  std::vector<std::int64_t> members_;  // the list of the next order that has one
  std::vector<double> times_;          // of the last trips or arrivals
  std::size_t posted_ = 0;
  std::vector<Told> telling_;
  // What is received into, here so that it lasts until a transport that failed is abandoned.
  Order told_;
  Answer heard_;
  std::vector<double> heard_times_;
  std::vector<std::byte> out_;  // all that goes out
  std::vector<std::byte> in_;   // all that comes in
};

}  // namespace eco::measure
