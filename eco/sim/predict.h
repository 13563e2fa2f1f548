// What a set of schedules would take on a network: all ranks run in virtual time over the network's resources.
//
//   Prediction p = predict(view, schedules);
//   p.seconds;                                     // when the last rank is done
//   view.network->resources[p.binding].name;       // what carried the most
//
// Every rank walks its schedule through the same sched::Window as the Executor and starts operations in the same
// order, so a choice of window or order is modelled by the very code that will run it. Pure and deterministic: events
// at equal times are handled in the order in which they were created.
//
// The model of one message of b bytes:
//   sender       its CPU is busy for send_overhead_s; an eager send is then complete (the socket holds the bytes)
//   hop k        a first-in first-out server; messages are served in the order of their arrival there.
//                The message passes on packet by packet: it reaches hop k+1 one packet after it started on hop k,
//                occupies each hop for b / rate, and leaves hop k no sooner than one packet after hop k-1.
//   receiver     latency_s after the last hop; its CPU is then busy for receive_overhead_s, and copies what comes through
//                the memory of its host (Route::receiving_s_per_byte)
//   synchronous  the receiver answers that it matched: a message of no bytes, over the way back, behind what is queued there
// A bus is one server for both directions, so a route over two buses holds both. Bytes are wire bytes (net/network.h): with
// the envelope and the headers of packets that are not full. A message that comes to a full-duplex hop also occupies the
// hop's other direction, for its acknowledgements: reverse_share of its bytes. What all hosts have in common is a hop
// that each message, request and answer holds for common_message_s, whatever its bytes.
// Whoever slept when a message or an answer came, and each rank when it calls (those that do at once in rank order), holds it
// for common_wake_s before it runs; a request wakes nobody. Between ranks of one host its memory is that hop, for
// memory_message_s and memory_wake_s: where ranks are more than processors these are what sharing them costs.
//
// That is Sharing::in_turn. Under Sharing::fair messages queue nowhere: one latency after it was handed over a message is
// on all of its route at once, at the rate that fair_sharing.h gives it among all others, until its bytes are through.
// Neither acknowledgements nor what all hosts have in common are in that.
//
// Rendezvous, where eager_bytes says from when: a longer message sends a request of no bytes over the same hops, behind
// what is queued there. When the request has arrived and the receive is posted, the receiver answers as above, the sender hands
// over its bytes (an ordinary send is complete then), and they flow as above.
//
// Not in the model: that ranks which share a core combine, copy and post one after the other, how TCP opens its window
// again after a pause, the processor's own part in requests and answers, lost packets and queues that overflow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "eco/net/group_view.h"
#include "eco/sched/schedule.h"

namespace eco::sim {

// How messages that want one resource at once divide it. in_turn is how a host's own queues do it, and what was held
// against measurements; fair is what many connections do to each other in between, and how flow-level simulators see
// a network.
enum class Sharing : std::uint8_t { in_turn, fair };

struct PredictOptions {
  Sharing sharing = Sharing::in_turn;
  std::size_t window_capacity = 512;  // must be the Executor's
  bool input_is_output = false;
  // Longer messages wait for their receive (rendezvous); 0: none do, or it is not known.
  std::size_t eager_bytes = 0;
  // When each rank calls, by rank; empty: all at once, at 0. What comes for a rank before that waits for it.
  std::vector<double> arrival_s{};
  // Virtual seconds after which a prediction is given up: the candidate has lost already.
  double stop_after_s = std::numeric_limits<double>::infinity();
  bool keep_intervals = false;
  bool keep_operations = false;
};

// One resource carrying one message, for drawing.
struct Interval {
  int resource = 0;
  int from = 0;  // ranks
  int to = 0;
  std::size_t bytes = 0;
  double start_s = 0;
  double end_s = 0;
};

// One operation of a rank's schedule, for drawing beside what the Executor traced (exec/trace.h): a message starts when it
// is posted and ends when its window hears that it is complete.
struct Operation {
  sched::OpKind kind = sched::OpKind::send;
  int peer = -1;  // of messages
  int channel = 0;
  std::size_t bytes = 0;
  double start_s = 0;
  double end_s = 0;
};

// The longest chain of causes that ends with the last rank, split by what the time went into. The terms add up to
// Prediction::seconds.
struct Terms {
  double transfer_s = 0;  // bytes on resources, those of earlier messages in a queue included
  double latency_s = 0;
  double overhead_s = 0;  // CPU per message, at both ends
  double combine_s = 0;   // reductions and copies
};

struct Prediction {
  double seconds = 0;
  bool finished = true;  // false: given up at stop_after_s, and `seconds` is a lower limit
  Terms terms;
  std::vector<double> rank_end_s;
  // Posting sends, combining and copying. What receiving takes is not in it: libraries do it while a rank waits.
  std::vector<double> rank_busy_s;
  std::vector<double> resource_busy_s;  // indexed like Network::resources
  int binding = -1;                     // the busiest resource; -1 if nothing was sent
  std::uint64_t n_operations = 0;
  std::uint64_t n_messages = 0;
  std::uint64_t n_answers = 0;  // that confirm or grant them
  // With keep_intervals: on each resource in order of start; under fair sharing, where they overlap, in order of end.
  std::vector<Interval> intervals;
  std::vector<std::vector<Operation>> rank_operations;  // with keep_operations, in program order
};

// Local. One schedule per rank of the view, in rank order, verified: throws InvalidArgument if they can't end, or if some of
// it is the library's own on an island (whoever has the recipe predicts algo::stand_in()).
Prediction predict(const net::GroupView& view, const std::vector<sched::Schedule>& schedules,
                   const PredictOptions& options = {});

}  // namespace eco::sim
