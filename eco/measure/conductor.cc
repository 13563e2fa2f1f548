#include "eco/measure/conductor.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <utility>

#include "eco/base/errors.h"

namespace eco::measure {
namespace {

// What a receiver gets to read the small message and leave the library, before the message it will be late for.
constexpr double kHeadStart_s = 1e-3;

}  // namespace

Conductor::Part& Conductor::part_of(std::vector<Part>& parts, int rank, const Order& order) {
  const auto found =
      std::find_if(parts.begin(), parts.end(), [&](const Part& part) { return part.rank == rank; });
  return found != parts.end() ? *found : parts.emplace_back(Part{rank, order, {}, {}});
}

void Conductor::perform(std::vector<Part>& parts) {
  std::vector<Prober::Told> orders;
  for (const Part& part : parts) {
    if (part.rank != 0) orders.push_back({part.rank, part.order});
  }
  prober_.tell(std::move(orders));
  for (Part& part : parts) {
    if (part.rank != 0) continue;
    part.answer = prober_.perform(part.order);
    part.times = prober_.times();
  }
  for (Part& part : parts) {
    if (part.rank != 0) part.answer = prober_.hear(part.rank, &part.times);
  }
}

double Conductor::ping(int a, int b, std::size_t bytes, int trips) {
  // The responder is told first: when the starter's first message arrives, it is there.
  const Order starts{Action::ping, static_cast<std::int64_t>(bytes), trips, b, -1};
  const Order responds{Action::ping, static_cast<std::int64_t>(bytes), trips, -1, a};
  Answer timed;
  if (b != 0) prober_.tell(b, responds);
  if (a != 0) prober_.tell(a, starts);
  if (a == 0) timed = prober_.perform(starts);
  if (b == 0) prober_.perform(responds);
  if (a != 0) timed = prober_.hear(a);
  if (b != 0) prober_.hear(b);
  return timed.elapsed_s / (2.0 * trips);
}

std::vector<std::vector<double>> Conductor::trips(const std::vector<Flow>& pairs, std::size_t bytes,
                                                  int trips) {
  return std::move(trips_in_rounds({pairs}, bytes, trips).front());
}

std::vector<std::vector<std::vector<double>>> Conductor::trips_in_rounds(
    const std::vector<std::vector<Flow>>& rounds, std::size_t bytes, int trips) {
  // Responders are told first, as in ping(), and nobody of a later round before all of an earlier one: whoever is in both
  // waits for no pair of the later one before it is done with the earlier.
  std::vector<Part> parts;
  const auto size = static_cast<std::int64_t>(bytes);
  for (const std::vector<Flow>& pairs : rounds) {
    for (const Flow& pair : pairs)
      parts.push_back({pair.to, {Action::trips, size, trips, -1, pair.from}, {}, {}});
    for (const Flow& pair : pairs)
      parts.push_back({pair.from, {Action::trips, size, trips, pair.to, -1}, {}, {}});
  }
  perform(parts);
  std::vector<std::vector<std::vector<double>>> times;
  std::size_t part = 0;
  for (const std::vector<Flow>& pairs : rounds) {
    part += pairs.size();
    auto& of_round = times.emplace_back();
    for (std::size_t i = 0; i < pairs.size(); ++i) of_round.push_back(std::move(parts[part++].times));
  }
  return times;
}

std::vector<std::vector<std::vector<double>>> Conductor::staggered_trips(
    const std::vector<std::vector<Flow>>& rounds, std::size_t bytes, int trips, double apart_s) {
  struct Asking {
    std::vector<std::int64_t> asks;      // in the order of the rounds
    std::vector<std::int64_t> is_asked;  // by these
    std::vector<double> times;
  };
  std::map<int, Asking> ranks;
  for (const std::vector<Flow>& pairs : rounds) {
    for (const Flow& pair : pairs) {
      ranks[pair.from].asks.push_back(pair.to);
      ranks[pair.to].is_asked.push_back(pair.from);
    }
  }
  const auto told = [&](int rank, const Asking& asking) {
    Prober::Told all{rank, {Action::staggered, static_cast<std::int64_t>(bytes), trips, -1, -1}, asking.asks};
    all.members.insert(all.members.end(), asking.is_asked.begin(), asking.is_asked.end());
    all.order.pause_ns = static_cast<std::int64_t>(1e9 * apart_s);
    all.order.n_next = std::ssize(asking.asks);
    all.order.n_members = std::ssize(all.members);
    return all;
  };
  std::vector<Prober::Told> orders;
  for (const auto& [rank, asking] : ranks) {
    if (rank != 0) orders.push_back(told(rank, asking));
  }
  prober_.tell(std::move(orders));
  for (auto& [rank, asking] : ranks) {
    if (rank == 0) {
      const Prober::Told own = told(rank, asking);
      prober_.gather({own.members.begin(), own.members.end()});
      prober_.perform(own.order);
      asking.times = prober_.times();
    } else {
      prober_.hear(rank, &asking.times);
    }
  }
  std::map<int, std::ptrdiff_t> n_taken;  // of the times of a rank
  std::vector<std::vector<std::vector<double>>> times;
  for (const std::vector<Flow>& pairs : rounds) {
    auto& of_round = times.emplace_back();
    for (const Flow& pair : pairs) {
      const auto first = ranks[pair.from].times.begin() + n_taken[pair.from];
      of_round.emplace_back(first, first + trips);
      n_taken[pair.from] += trips;
    }
  }
  return times;
}

std::vector<std::vector<double>> Conductor::arrivals(const std::vector<Stream>& streams) {
  std::vector<Part> parts;
  const Order idle{Action::arrivals, 0, 0, -1, -1};
  for (const Stream& stream : streams) {
    Order& order = part_of(parts, stream.flow.to, idle).order;
    order.receive_from = stream.flow.from;
    order.bytes = static_cast<std::int64_t>(stream.bytes);
    order.count = stream.count;
  }
  for (const Stream& stream : streams) {
    Order& order = part_of(parts, stream.flow.from, idle).order;
    order.send_to = stream.flow.to;
    order.send_bytes = static_cast<std::int64_t>(stream.bytes);
    order.send_count = stream.count;
  }
  perform(parts);
  std::vector<std::vector<double>> times;
  for (const Stream& stream : streams) times.push_back(part_of(parts, stream.flow.to, idle).times);
  return times;
}

std::vector<Answer> Conductor::streams(const std::vector<Flow>& flows, std::size_t bytes, int count) {
  std::vector<Part> parts;
  const auto size = static_cast<std::int64_t>(bytes);
  Order idle{Action::stream, size, count, -1, -1};
  idle.send_bytes = size;
  idle.send_count = count;
  for (const Flow& flow : flows) part_of(parts, flow.to, idle).order.receive_from = flow.from;
  for (const Flow& flow : flows) part_of(parts, flow.from, idle).order.send_to = flow.to;
  perform(parts);
  std::vector<Answer> answers;
  for (const Flow& flow : flows) answers.push_back(part_of(parts, flow.from, idle).answer);
  return answers;
}

Delayed Conductor::delayed(int from, int to, std::size_t bytes, double pause_s) {
  Order sends{Action::delayed, static_cast<std::int64_t>(bytes), 1, to, -1};
  Order receives{Action::delayed, static_cast<std::int64_t>(bytes), 1, -1, from};
  receives.pause_ns = static_cast<std::int64_t>(1e9 * pause_s);
  sends.pause_ns = static_cast<std::int64_t>(1e9 * std::min(kHeadStart_s, pause_s / 2));
  Answer at_sender;
  Answer at_receiver;
  if (to != 0) prober_.tell(to, receives);
  if (from != 0) prober_.tell(from, sends);
  if (from == 0) at_sender = prober_.perform(sends);
  if (to == 0) at_receiver = prober_.perform(receives);
  if (from != 0) at_sender = prober_.hear(from);
  if (to != 0) at_receiver = prober_.hear(to);
  return {at_sender.posting_s, at_sender.elapsed_s, at_receiver.elapsed_s};
}

double Conductor::exchange(const std::vector<int>& ranks, int n_next, std::size_t bytes, int rounds) {
  Order exchange{Action::exchange, static_cast<std::int64_t>(bytes), rounds, -1, -1};
  exchange.n_members = static_cast<std::int64_t>(ranks.size());
  exchange.n_next = n_next;
  prober_.gather(ranks);
  bool takes_part = false;
  for (const int rank : ranks) {
    takes_part |= rank == 0;
    if (rank != 0) prober_.tell(rank, exchange);
  }
  double slowest = takes_part ? prober_.perform(exchange).elapsed_s : 0;
  for (const int rank : ranks) {
    if (rank != 0) slowest = std::max(slowest, prober_.hear(rank).elapsed_s);
  }
  return slowest;
}

void Conductor::finish(std::size_t bytes) {
  std::vector<Prober::Told> orders;
  for (int rank = 1; rank < n_ranks_; ++rank)
    orders.push_back({rank, {Action::finish, static_cast<std::int64_t>(bytes), 0, -1, -1}});
  prober_.tell(std::move(orders));
}

std::string conducted(transport::Transport& transport, transport::Native& native, const Clock& clock,
                      const std::function<std::string(Conductor&)>& on_rank_0, const Pause& pause) {
  Prober prober(transport, clock, pause);
  std::string text;
  try {
    if (transport.rank() == 0) {
      Conductor conductor(prober, transport.n_ranks());
      try {
        text = on_rank_0(conductor);
      } catch (...) {
        prober.dismiss();
        throw;
      }
      conductor.finish(text.size());
    } else {
      text.resize(prober.follow());
    }
  } catch (const TransportError&) {
    transport.abandon();  // what is still posted would be written to the prober, which goes now
    throw;
  }
  native.broadcast(std::as_writable_bytes(std::span(text)), 0);
  return text;
}

}  // namespace eco::measure
