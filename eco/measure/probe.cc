#include "eco/measure/probe.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>

#include "eco/base/assert.h"
#include "eco/base/errors.h"

namespace eco::measure {
namespace {

using transport::SendMode;
using transport::Status;
using transport::Ticket;

constexpr std::size_t kSmallest = 8;  // bytes of a warm-up message
// What a receiver gets to read the small message and leave the library, before the message it will be late for.
constexpr double kHeadStart_s = 1e-3;

constexpr int kOrderTag = 1;
constexpr int kAnswerTag = 2;
constexpr int kWarmTag = 3;
constexpr int kDataTag = 4;
constexpr int kDoneTag = 5;
constexpr int kMembersTag = 6;
constexpr int kTimesTag = 7;

void check(Status status, const char* doing, int peer) {
  if (status == Status::ok) return;
  throw TransportError(std::string("characterize: ") +
                       (status == Status::lost_peer ? "a peer was lost" : "the transport failed") +
                       " while " + doing + (peer < 0 ? std::string() : " rank " + std::to_string(peer)) +
                       "; start the measurement again when all hosts are up");
}

template <class T>
std::span<std::byte> bytes_of(T& value) {
  return std::as_writable_bytes(std::span<T, 1>(&value, 1));
}

}  // namespace

Prober::Prober(transport::Transport& transport, Clock clock, Pause pause)
    : transport_(transport), clock_(std::move(clock)), pause_(std::move(pause)) {}

void Prober::reserve(std::size_t out_bytes, std::size_t in_bytes) {
  // Grown only between measurements; the contents are never looked at.
  ECO_ASSERT(light, posted_ == 0, "buffers in use do not move");
  if (out_.size() < out_bytes) out_.resize(out_bytes);
  if (in_.size() < in_bytes) in_.resize(in_bytes);
}

void Prober::send(int peer, int tag, std::size_t bytes) {
  check(transport_.post_send(peer, tag, {out_.data(), bytes}, SendMode::eager, 0), "sending to", peer);
  ++posted_;
}

void Prober::receive(int peer, int tag, std::size_t bytes) {
  check(transport_.post_recv(peer, tag, {in_.data(), bytes}, 0), "receiving from", peer);
  ++posted_;
}

void Prober::wait_all() {
  std::array<Ticket, 16> done;
  while (posted_ > 0) {
    std::size_t n_done = 0;
    check(transport_.wait_some(done, n_done), "waiting for a message", -1);
    ECO_ASSERT(light, n_done > 0 && n_done <= posted_, "a transport completes what was posted");
    posted_ -= n_done;
  }
}

Answer Prober::perform(const Order& order) {
  const auto bytes = static_cast<std::size_t>(order.bytes);
  // Receives that are posted together need a place each, and one for the acknowledgement.
  std::size_t places = 1;
  times_.clear();
  if (order.action == Action::stream || order.action == Action::arrivals)
    places = static_cast<std::size_t>(order.count);
  if (order.action == Action::exchange) places = static_cast<std::size_t>(order.n_members);
  reserve(std::max({bytes, static_cast<std::size_t>(order.send_bytes), kSmallest}),
          std::max(bytes * places + 1, kSmallest));
  switch (order.action) {
    case Action::stream:
    case Action::arrivals:
      return stream(order);
    case Action::trips:
      return trips(order);
    case Action::delayed:
      return delayed(order);
    case Action::exchange:
      return exchange(order);
    default:
      return ping(order);
  }
}

template <class Timed>
void Prober::round_trips(const Order& order, const Timed& timed) {
  const bool starts = order.send_to >= 0;
  const int peer = static_cast<int>(starts ? order.send_to : order.receive_from);
  const auto trip = [&](int tag, std::size_t size) {
    receive(peer, tag, size);
    if (starts) {
      send(peer, tag, size);
      wait_all();
    } else {
      wait_all();
      send(peer, tag, size);
      wait_all();
    }
  };
  trip(kWarmTag, kSmallest);
  timed([&] { trip(kDataTag, static_cast<std::size_t>(order.bytes)); });
}

Answer Prober::ping(const Order& order) {
  Answer answer;
  round_trips(order, [&](const auto& trip) {
    const double start = clock_();
    for (std::int64_t i = 0; i < order.count; ++i) trip();
    answer.elapsed_s = clock_() - start;
  });
  return answer;
}

Answer Prober::trips(const Order& order) {
  round_trips(order, [&](const auto& trip) {
    for (std::int64_t i = 0; i < order.count; ++i) {
      const double start = clock_();
      trip();
      times_.push_back(clock_() - start);
    }
  });
  if (order.send_to < 0) times_.clear();
  Answer answer;
  answer.n_times = static_cast<std::int64_t>(times_.size());
  return answer;
}

Answer Prober::stream(const Order& order) {
  const auto bytes = static_cast<std::size_t>(order.bytes);
  const auto send_bytes = static_cast<std::size_t>(order.send_bytes);
  const int from = static_cast<int>(order.receive_from);
  const int to = static_cast<int>(order.send_to);
  // Receives are counted apart from sends: the acknowledgement leaves as soon as the last message is here, also when
  // this rank still sends a stream of its own.
  constexpr Ticket kIncoming = 1;
  constexpr Ticket kOther = 0;
  std::int64_t expected = from >= 0 ? order.count : 0;
  const double start = clock_();
  for (std::int64_t i = 0; i < expected; ++i) {
    std::byte* place = in_.data() + static_cast<std::size_t>(i) * bytes;
    check(transport_.post_recv(from, kDataTag, {place, bytes}, kIncoming), "receiving from", from);
  }
  posted_ += static_cast<std::size_t>(expected);
  Answer answer;
  if (to >= 0) {
    check(transport_.post_recv(to, kDoneTag, {in_.data() + in_.size() - 1, 1}, kOther), "receiving from", to);
    ++posted_;
    const double before = clock_();
    for (std::int64_t i = 0; i < order.send_count; ++i) send(to, kDataTag, send_bytes);
    answer.posting_s = clock_() - before;
  }
  std::array<Ticket, 16> done;
  while (posted_ > 0) {
    std::size_t n_done = 0;
    check(transport_.wait_some(done, n_done), "waiting for a message", -1);
    posted_ -= n_done;
    const auto came = std::count(done.begin(), done.begin() + static_cast<std::ptrdiff_t>(n_done), kIncoming);
    if (order.action == Action::arrivals)
      times_.insert(times_.end(), static_cast<std::size_t>(came), clock_() - start);
    expected -= came;
    if (from >= 0 && expected == 0) {
      send(from, kDoneTag, 1);
      expected = -1;
    }
  }
  answer.elapsed_s = clock_() - start;
  answer.n_times = static_cast<std::int64_t>(times_.size());
  return answer;
}

// The sender's small message says when to start counting the pause; the large one leaves when the receiver pauses. It is
// then not in the library, so what it spends afterwards is the whole cost of receiving.
Answer Prober::delayed(const Order& order) {
  const auto bytes = static_cast<std::size_t>(order.bytes);
  Answer answer;
  if (order.send_to >= 0) {
    const int peer = static_cast<int>(order.send_to);
    send(peer, kWarmTag, kSmallest);
    wait_all();
    pause_(1e-9 * static_cast<double>(order.pause_ns));
    const double start = clock_();
    send(peer, kDataTag, bytes);
    answer.posting_s = clock_() - start;
    wait_all();
    answer.elapsed_s = clock_() - start;
    receive(peer, kDoneTag, 1);
    wait_all();
  } else {
    const int peer = static_cast<int>(order.receive_from);
    receive(peer, kWarmTag, kSmallest);
    wait_all();
    pause_(1e-9 * static_cast<double>(order.pause_ns));
    const double start = clock_();
    receive(peer, kDataTag, bytes);
    wait_all();
    answer.elapsed_s = clock_() - start;
    send(peer, kDoneTag, 1);
    wait_all();
  }
  return answer;
}

// Each sends to the one behind it, then to the one behind that, ...: no two send to one rank at the same step.
Answer Prober::exchange(const Order& order) {
  const auto bytes = static_cast<std::size_t>(order.bytes);
  const std::size_t n = members_.size();
  const auto me = static_cast<std::size_t>(std::find(members_.begin(), members_.end(), transport_.rank()) -
                                           members_.begin());
  ECO_ASSERT(light, me < n, "only members are told of an exchange");
  const auto round = [&] {
    for (std::size_t i = 1; i < n; ++i) {
      const int from = static_cast<int>(members_[(me + n - i) % n]);
      std::byte* place = in_.data() + (i - 1) * bytes;
      check(transport_.post_recv(from, kDataTag, {place, bytes}, 0), "receiving from", from);
      ++posted_;
    }
    for (std::size_t i = 1; i < n; ++i) send(static_cast<int>(members_[(me + i) % n]), kDataTag, bytes);
    wait_all();
  };
  round();
  const double start = clock_();
  for (std::int64_t i = 0; i < order.count; ++i) round();
  return {(clock_() - start) / static_cast<double>(std::max<std::int64_t>(order.count, 1)), 0};
}

std::size_t Prober::follow() {
  for (;;) {
    Order order;
    check(transport_.post_recv(0, kOrderTag, bytes_of(order), 0), "receiving from", 0);
    ++posted_;
    wait_all();
    if (order.action == Action::finish) return static_cast<std::size_t>(order.bytes);
    if (order.action == Action::abort)
      throw TransportError("characterize: rank 0 gave up; its message says why");
    if (order.n_members > 0) {
      members_.resize(static_cast<std::size_t>(order.n_members));
      check(transport_.post_recv(0, kMembersTag, std::as_writable_bytes(std::span(members_)), 0),
            "receiving from", 0);
      ++posted_;
      wait_all();
    }
    Answer answer = perform(order);
    check(transport_.post_send(0, kAnswerTag, bytes_of(answer), SendMode::eager, 0), "sending to", 0);
    ++posted_;
    if (answer.n_times > 0) {
      check(transport_.post_send(0, kTimesTag, std::as_bytes(std::span(times_)), SendMode::eager, 0),
            "sending to", 0);
      ++posted_;
    }
    wait_all();
  }
}

void Conductor::order(int rank, const Order& order) {
  Order copy = order;
  check(prober_.transport_.post_send(rank, kOrderTag, bytes_of(copy), SendMode::eager, 0), "sending to",
        rank);
  ++prober_.posted_;
  prober_.wait_all();
}

Answer Conductor::answer(int rank, std::vector<double>* times) {
  Answer answer;
  check(prober_.transport_.post_recv(rank, kAnswerTag, bytes_of(answer), 0), "receiving from", rank);
  ++prober_.posted_;
  prober_.wait_all();
  if (answer.n_times > 0) {
    std::vector<double> all(static_cast<std::size_t>(answer.n_times));
    check(prober_.transport_.post_recv(rank, kTimesTag, std::as_writable_bytes(std::span(all)), 0),
          "receiving from", rank);
    ++prober_.posted_;
    prober_.wait_all();
    if (times != nullptr) *times = std::move(all);
  }
  return answer;
}

void Conductor::perform(std::vector<Part>& parts) {
  for (const Part& part : parts) {
    if (part.rank != 0) order(part.rank, part.order);
  }
  for (Part& part : parts) {
    if (part.rank != 0) continue;
    part.answer = prober_.perform(part.order);
    part.times = prober_.times_;
  }
  for (Part& part : parts) {
    if (part.rank != 0) part.answer = answer(part.rank, &part.times);
  }
}

double Conductor::ping(int a, int b, std::size_t bytes, int trips) {
  // The responder is told first: when the starter's first message arrives, it is there.
  const Order starts{Action::ping, static_cast<std::int64_t>(bytes), trips, b, -1};
  const Order responds{Action::ping, static_cast<std::int64_t>(bytes), trips, -1, a};
  Answer timed;
  if (b != 0) order(b, responds);
  if (a != 0) order(a, starts);
  if (a == 0) timed = prober_.perform(starts);
  if (b == 0) prober_.perform(responds);
  if (a != 0) timed = answer(a);
  if (b != 0) answer(b);
  return timed.elapsed_s / (2.0 * trips);
}

std::vector<std::vector<double>> Conductor::trips(const std::vector<Flow>& pairs, std::size_t bytes,
                                                  int trips) {
  // Responders are told first, as in ping().
  std::vector<Part> parts;
  const auto size = static_cast<std::int64_t>(bytes);
  for (const Flow& pair : pairs)
    parts.push_back({pair.to, {Action::trips, size, trips, -1, pair.from}, {}, {}});
  for (const Flow& pair : pairs)
    parts.push_back({pair.from, {Action::trips, size, trips, pair.to, -1}, {}, {}});
  perform(parts);
  std::vector<std::vector<double>> times;
  for (std::size_t i = pairs.size(); i < parts.size(); ++i) times.push_back(std::move(parts[i].times));
  return times;
}

std::vector<std::vector<double>> Conductor::arrivals(const std::vector<Stream>& streams) {
  std::vector<Part> parts;  // one per rank; receivers before those that only send
  const auto part_of = [&](int rank) -> Part& {
    const auto found =
        std::find_if(parts.begin(), parts.end(), [&](const Part& part) { return part.rank == rank; });
    return found != parts.end() ? *found
                                : parts.emplace_back(Part{rank, {Action::arrivals, 0, 0, -1, -1}, {}, {}});
  };
  for (const Stream& stream : streams) {
    Order& order = part_of(stream.flow.to).order;
    order.receive_from = stream.flow.from;
    order.bytes = static_cast<std::int64_t>(stream.bytes);
    order.count = stream.count;
  }
  for (const Stream& stream : streams) {
    Order& order = part_of(stream.flow.from).order;
    order.send_to = stream.flow.to;
    order.send_bytes = static_cast<std::int64_t>(stream.bytes);
    order.send_count = stream.count;
  }
  perform(parts);
  std::vector<std::vector<double>> times;
  for (const Stream& stream : streams) times.push_back(part_of(stream.flow.to).times);
  return times;
}

std::vector<Answer> Conductor::streams(const std::vector<Flow>& flows, std::size_t bytes, int count) {
  std::vector<Part> parts;  // one per rank; receivers before those that only send
  const auto part_of = [&](int rank) -> Part& {
    const auto found =
        std::find_if(parts.begin(), parts.end(), [&](const Part& part) { return part.rank == rank; });
    if (found != parts.end()) return *found;
    const auto size = static_cast<std::int64_t>(bytes);
    Order order{Action::stream, size, count, -1, -1};
    order.send_bytes = size;
    order.send_count = count;
    return parts.emplace_back(Part{rank, order, {}, {}});
  };
  for (const Flow& flow : flows) part_of(flow.to).order.receive_from = flow.from;
  for (const Flow& flow : flows) part_of(flow.from).order.send_to = flow.to;
  perform(parts);
  std::vector<Answer> answers;
  for (const Flow& flow : flows) answers.push_back(part_of(flow.from).answer);
  return answers;
}

Delayed Conductor::delayed(int from, int to, std::size_t bytes, double pause_s) {
  Order sends{Action::delayed, static_cast<std::int64_t>(bytes), 1, to, -1};
  Order receives{Action::delayed, static_cast<std::int64_t>(bytes), 1, -1, from};
  receives.pause_ns = static_cast<std::int64_t>(1e9 * pause_s);
  sends.pause_ns = static_cast<std::int64_t>(1e9 * std::min(kHeadStart_s, pause_s / 2));
  Answer at_sender;
  Answer at_receiver;
  if (to != 0) order(to, receives);
  if (from != 0) order(from, sends);
  if (from == 0) at_sender = prober_.perform(sends);
  if (to == 0) at_receiver = prober_.perform(receives);
  if (from != 0) at_sender = answer(from);
  if (to != 0) at_receiver = answer(to);
  return {at_sender.posting_s, at_sender.elapsed_s, at_receiver.elapsed_s};
}

double Conductor::exchange(const std::vector<int>& ranks, std::size_t bytes, int rounds) {
  Order exchange{Action::exchange, static_cast<std::int64_t>(bytes), rounds, -1, -1};
  exchange.n_members = static_cast<std::int64_t>(ranks.size());
  prober_.members_.assign(ranks.begin(), ranks.end());
  bool takes_part = false;
  for (const int rank : ranks) {
    takes_part |= rank == 0;
    if (rank == 0) continue;
    order(rank, exchange);
    const auto members = std::as_bytes(std::span<const std::int64_t>(prober_.members_));
    check(prober_.transport_.post_send(rank, kMembersTag, members, SendMode::eager, 0), "sending to", rank);
    ++prober_.posted_;
    prober_.wait_all();
  }
  double slowest = takes_part ? prober_.perform(exchange).elapsed_s : 0;
  for (const int rank : ranks) {
    if (rank != 0) slowest = std::max(slowest, answer(rank).elapsed_s);
  }
  return slowest;
}

void Conductor::finish(std::size_t bytes) {
  for (int rank = 1; rank < prober_.transport_.n_ranks(); ++rank) {
    order(rank, {Action::finish, static_cast<std::int64_t>(bytes), 0, -1, -1});
  }
}

void Conductor::abort() {
  // Posted and not waited for: what was posted before the failure may never complete. A rank that is lost can't be
  // told, the others still can.
  static const Order kFarewell{Action::abort, 0, 0, -1, -1};
  const auto bytes = std::as_bytes(std::span<const Order, 1>(&kFarewell, 1));
  for (int rank = 1; rank < prober_.transport_.n_ranks(); ++rank) {
    static_cast<void>(prober_.transport_.post_send(rank, kOrderTag, bytes, SendMode::eager, 0));
  }
}

std::string conducted(transport::Transport& transport, transport::Native& native, const Clock& clock,
                      const std::function<std::string(Conductor&)>& on_rank_0, const Pause& pause) {
  Prober prober(transport, clock, pause);
  std::string text;
  if (transport.rank() == 0) {
    Conductor conductor(prober);
    try {
      text = on_rank_0(conductor);
    } catch (...) {
      conductor.abort();
      throw;
    }
    conductor.finish(text.size());
  } else {
    text.resize(prober.follow());
  }
  native.broadcast(std::as_writable_bytes(std::span(text)), 0);
  return text;
}

}  // namespace eco::measure
