// Rank 0's side of a measurement of the network: who does what, and what of the answers is the result.
//
//   const std::string text = conducted(transport, native, clock, [&](Conductor& conductor) { ... });    // collective
//   const double seconds = conductor.ping(a, b, bytes, 2);
//
// A measurement is a ping (round trips of one pair) or a stream (messages one way, back to back, acknowledged once at the
// end), alone or several streams at once; for pLogP also a delayed message (its receiver looks for it only when it must
// be there) and an exchange (each of a group sends to each). For the tree of subnets trips of many pairs at once, in turn or
// under way together, and streams that tell when each of their messages came.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "eco/measure/probe.h"
#include "eco/transport/native.h"
#include "eco/transport/transport.h"

namespace eco::measure {

struct Flow {
  int from = 0;  // ranks
  int to = 0;
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

// Rank 0's side. All calls block until the measurement is done.
class Conductor {
 public:
  Conductor(Prober& prober, int n_ranks) : prober_(prober), n_ranks_(n_ranks) {}

  // Seconds one way: total over twice the trips, after one untimed small trip that opens the connection.
  double ping(int a, int b, std::size_t bytes, int trips);
  // All flows at once; a rank may send one and receive one. Answers in the order of the flows.
  std::vector<Answer> streams(const std::vector<Flow>& flows, std::size_t bytes, int count);
  // Seconds of each of `trips` round trips, of all pairs at the same time; no rank is in two of them.
  std::vector<std::vector<double>> trips(const std::vector<Flow>& pairs, std::size_t bytes, int trips);
  // The same in rounds, all ordered at once; the seconds of each round. A rank may be in several rounds, not twice in one.
  // Answers are short enough to be sent before rank 0, which may be in a later round itself, hears them.
  std::vector<std::vector<std::vector<double>>> trips_in_rounds(const std::vector<std::vector<Flow>>& rounds,
                                                                std::size_t bytes, int trips);
  // The same, but a rank that starts several trips begins the next so long after the last, whether that is back or not.
  std::vector<std::vector<std::vector<double>>> staggered_trips(const std::vector<std::vector<Flow>>& rounds,
                                                                std::size_t bytes, int trips, double apart_s);
  // When each message of each stream came, in seconds since its receiver was told; all streams at once. A rank may send
  // one and receive one.
  std::vector<std::vector<double>> arrivals(const std::vector<Stream>& streams);
  // One message from `from` to `to`, whose receiver looks for it so long after a small message that came a
  // millisecond before it.
  Delayed delayed(int from, int to, std::size_t bytes, double pause_s);
  // All ranks of the group send `bytes` to each other, so many rounds after a first one that brings them together: seconds
  // of one round on the slowest.
  double exchange(const std::vector<int>& ranks, std::size_t bytes, int rounds) {
    return exchange(ranks, static_cast<int>(ranks.size()) - 1, bytes, rounds);
  }
  // The same, but each sends only to so many behind it, in this order and round: with 1, a ring.
  double exchange(const std::vector<int>& ranks, int n_next, std::size_t bytes, int rounds);
  // Tells all other ranks that the text of the result, this long, follows.
  void finish(std::size_t bytes);

 private:
  // What one rank does in a round of several.
  struct Part {
    int rank = 0;
    Order order;
    Answer answer;
    std::vector<double> times;
  };

  // What the rank does; with this order if it is new. Entered in the order of asking: receivers before those that only
  // send.
  static Part& part_of(std::vector<Part>& parts, int rank, const Order& order);

  // Has all of them carried out at once, in this order; rank 0's own part last.
  void perform(std::vector<Part>& parts);

  Prober& prober_;
  int n_ranks_;
};

// Collective: rank 0 conducts, the others follow its orders; the text that it ends with, on every rank. What it throws
// ends in a TransportError on the others. A transport that threw one is abandoned: nothing can be posted any more.
std::string conducted(transport::Transport& transport, transport::Native& native, const Clock& clock,
                      const std::function<std::string(Conductor&)>& on_rank_0,
                      const Pause& pause = sleeping_pause());

}  // namespace eco::measure
