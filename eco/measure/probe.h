// The two roles of a measurement of the network: rank 0 conducts, measuring ranks follow orders.
//
// An order goes to the ranks that a measurement needs and to no other, so ranks that are not concerned sit in a
// blocking receive and disturb nothing. A measurement is a ping (round trips of one pair) or a stream (messages one
// way, back to back, acknowledged once at the end), alone or several streams at once; for pLogP also a delayed message
// (its receiver looks for it only when it must be there) and an exchange (each of a group sends to each). For the tree of
// subnets trips of many pairs at once, and streams that tell when each of their messages came.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "eco/measure/characterize.h"
#include "eco/transport/native.h"
#include "eco/transport/transport.h"

namespace eco::measure {

enum class Action : std::int64_t { ping, stream, finish, abort, delayed, exchange, trips, arrivals };

struct Order {
  Action action = Action::ping;
  std::int64_t bytes = 0;     // of one message; of the result's text when finishing
  std::int64_t count = 0;     // round trips, messages of a stream, or rounds of an exchange
  std::int64_t send_to = -1;  // rank, or nobody
  std::int64_t receive_from = -1;
  std::int64_t pause_ns = 0;   // delayed: before the receiver looks; before the sender sends
  std::int64_t n_members = 0;  // exchange: the list of so many ranks follows
  std::int64_t send_bytes =
      0;  // stream, arrivals: of what is sent, where `bytes` and `count` are of what comes
  std::int64_t send_count = 0;
};

struct Flow {
  int from = 0;  // ranks
  int to = 0;
};

struct Answer {
  // ping: all trips; stream: from the first send to the acknowledgement; delayed, at the sender: from the send to its
  // completion, at the receiver: from looking to having; exchange: one round
  double elapsed_s = 0;
  double posting_s = 0;  // stream, delayed: what the sender spent in posting
  std::int64_t n_times =
      0;  // trips, at the one who starts, and arrivals, at the receiver: so many seconds follow
};

// One stream among several at once.
struct Stream {
  Flow flow{};
  std::size_t bytes = 0;  // of a message
  int count = 0;
};

// One message whose receiver looked for it only after a pause.
struct Delayed {
  double posting_s = 0;     // of the sender: until the send was posted
  double completion_s = 0;  // of the sender: until it was complete. Not before the pause ends: a rendezvous
  double receiving_s = 0;   // of the receiver: from posting the receive until the message was there
};

// Carries out orders on one rank. Throws TransportError if the transport fails.
class Prober {
 public:
  Prober(transport::Transport& transport, Clock clock, Pause pause = sleeping_pause());

  Answer perform(const Order& order);
  // Rank other than 0: carries out rank 0's orders until the last; returns its `bytes`.
  std::size_t follow();

 private:
  friend class Conductor;
  template <class Timed>
  void round_trips(const Order& order,
                   const Timed& timed);  // timed(trip), after one that opens the connection
  Answer ping(const Order& order);
  Answer stream(const Order& order);
  Answer trips(const Order& order);
  Answer delayed(const Order& order);
  Answer exchange(const Order& order);
  void send(int peer, int tag, std::size_t bytes);
  void receive(int peer, int tag, std::size_t bytes);
  void wait_all();
  void reserve(std::size_t out_bytes, std::size_t in_bytes);

  transport::Transport& transport_;
  Clock clock_;
  Pause pause_;
  std::vector<std::int64_t> members_;  // of the next exchange
  std::vector<double> times_;          // of the last trips or arrivals
  std::size_t posted_ = 0;
  std::vector<std::byte> out_;  // all that goes out
  std::vector<std::byte> in_;   // all that comes in
};

// Rank 0's side. All calls block until the measurement is done.
class Conductor {
 public:
  explicit Conductor(Prober& prober) : prober_(prober) {}

  // Seconds one way: total over twice the trips, after one untimed small trip that opens the connection.
  double ping(int a, int b, std::size_t bytes, int trips);
  // All flows at once; a rank may send one and receive one. Answers in the order of the flows.
  std::vector<Answer> streams(const std::vector<Flow>& flows, std::size_t bytes, int count);
  // Seconds of each of `trips` round trips, of all pairs at the same time; no rank is in two of them.
  std::vector<std::vector<double>> trips(const std::vector<Flow>& pairs, std::size_t bytes, int trips);
  // When each message of each stream came, in seconds since its receiver was told; all streams at once. A rank may send
  // one and receive one.
  std::vector<std::vector<double>> arrivals(const std::vector<Stream>& streams);
  // One message from `from` to `to`, whose receiver looks for it so long after a small message that came a
  // millisecond before it.
  Delayed delayed(int from, int to, std::size_t bytes, double pause_s);
  // All ranks of the group send `bytes` to each other, so many rounds after a first one that brings them together: seconds
  // of one round on the slowest.
  double exchange(const std::vector<int>& ranks, std::size_t bytes, int rounds);
  // Tells all other ranks that the text of the result, this long, follows; or that there will be none.
  void finish(std::size_t bytes);
  void abort();

 private:
  // What one rank does in a round of several.
  struct Part {
    int rank = 0;
    Order order;
    Answer answer;
    std::vector<double> times;
  };

  void order(int rank, const Order& order);
  Answer answer(int rank, std::vector<double>* times = nullptr);
  // Has all of them carried out at once, in this order; rank 0's own part last.
  void perform(std::vector<Part>& parts);

  Prober& prober_;
};

// Collective: rank 0 conducts, the others follow its orders; the text that it ends with, on every rank. What it throws
// ends in a TransportError on the others.
std::string conducted(transport::Transport& transport, transport::Native& native, const Clock& clock,
                      const std::function<std::string(Conductor&)>& on_rank_0,
                      const Pause& pause = sleeping_pause());

}  // namespace eco::measure
