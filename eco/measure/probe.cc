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

constexpr int kOrderTag = 1;
constexpr int kAnswerTag = 2;
constexpr int kWarmTag = 3;
constexpr int kDataTag = 4;
constexpr int kDoneTag = 5;

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

Prober::Prober(transport::Transport& transport, Clock clock)
    : transport_(transport), clock_(std::move(clock)) {}

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
  const std::size_t places = order.action == Action::stream ? static_cast<std::size_t>(order.count) : 1;
  reserve(std::max(bytes, kSmallest), std::max(bytes * places + 1, kSmallest));
  return order.action == Action::ping ? ping(order) : stream(order);
}

Answer Prober::ping(const Order& order) {
  const bool starts = order.send_to >= 0;
  const int peer = static_cast<int>(starts ? order.send_to : order.receive_from);
  const auto bytes = static_cast<std::size_t>(order.bytes);
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
  const double start = clock_();
  for (std::int64_t i = 0; i < order.count; ++i) trip(kDataTag, bytes);
  return {clock_() - start, 0};
}

Answer Prober::stream(const Order& order) {
  const auto bytes = static_cast<std::size_t>(order.bytes);
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
    for (std::int64_t i = 0; i < order.count; ++i) send(to, kDataTag, bytes);
    answer.posting_s = clock_() - before;
  }
  std::array<Ticket, 16> done;
  while (posted_ > 0) {
    std::size_t n_done = 0;
    check(transport_.wait_some(done, n_done), "waiting for a message", -1);
    posted_ -= n_done;
    expected -= std::count(done.begin(), done.begin() + static_cast<std::ptrdiff_t>(n_done), kIncoming);
    if (from >= 0 && expected == 0) {
      send(from, kDoneTag, 1);
      expected = -1;
    }
  }
  answer.elapsed_s = clock_() - start;
  return answer;
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
    Answer answer = perform(order);
    check(transport_.post_send(0, kAnswerTag, bytes_of(answer), SendMode::eager, 0), "sending to", 0);
    ++posted_;
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

Answer Conductor::answer(int rank) {
  Answer answer;
  check(prober_.transport_.post_recv(rank, kAnswerTag, bytes_of(answer), 0), "receiving from", rank);
  ++prober_.posted_;
  prober_.wait_all();
  return answer;
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

std::vector<Answer> Conductor::streams(const std::vector<Flow>& flows, std::size_t bytes, int count) {
  std::vector<std::pair<int, Order>> orders;  // one per rank; receivers before those that only send
  const auto order_of = [&](int rank) -> Order& {
    for (auto& [other, order] : orders) {
      if (other == rank) return order;
    }
    return orders.emplace_back(rank, Order{Action::stream, static_cast<std::int64_t>(bytes), count, -1, -1})
        .second;
  };
  for (const Flow& flow : flows) order_of(flow.to).receive_from = flow.from;
  for (const Flow& flow : flows) order_of(flow.from).send_to = flow.to;

  std::vector<Answer> of_rank(orders.size());
  for (const auto& [rank, its_order] : orders) {
    if (rank != 0) order(rank, its_order);
  }
  for (std::size_t i = 0; i < orders.size(); ++i) {
    if (orders[i].first == 0) of_rank[i] = prober_.perform(orders[i].second);
  }
  for (std::size_t i = 0; i < orders.size(); ++i) {
    if (orders[i].first != 0) of_rank[i] = answer(orders[i].first);
  }
  std::vector<Answer> answers;
  for (const Flow& flow : flows) {
    for (std::size_t i = 0; i < orders.size(); ++i) {
      if (orders[i].first == flow.from) answers.push_back(of_rank[i]);
    }
  }
  return answers;
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
                      const std::function<std::string(Conductor&)>& on_rank_0) {
  Prober prober(transport, clock);
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
