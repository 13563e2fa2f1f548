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
constexpr int kWarmTag = kFirstMeasuredTag;
constexpr int kDataTag = kFirstMeasuredTag + 1;
constexpr int kDoneTag = kFirstMeasuredTag + 2;
constexpr int kMembersTag = 6;
constexpr int kTimesTag = 7;
static_assert(kTimesTag < static_cast<int>(kProbeTags));

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

void Prober::send(int peer, int tag, std::span<const std::byte> message) {
  check(transport_.post_send(peer, tag, message, SendMode::eager, 0), "sending to", peer);
  ++posted_;
}

void Prober::receive(int peer, int tag, std::span<std::byte> message, Ticket ticket) {
  check(transport_.post_recv(peer, tag, message, ticket), "receiving from", peer);
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
  if (order.action == Action::staggered)
    places = static_cast<std::size_t>(order.n_members + order.n_next * order.count);
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
    case Action::staggered:
      return staggered(order);
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
    receive(from, kDataTag, std::span(in_).subspan(static_cast<std::size_t>(i) * bytes, bytes), kIncoming);
  }
  Answer answer;
  if (to >= 0) {
    receive(to, kDoneTag, std::span(in_).last(1), kOther);
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
  const auto n_next = static_cast<std::size_t>(order.n_next);
  ECO_ASSERT(light, me < n, "only members are told of an exchange");
  ECO_ASSERT(light, n_next < n, "nobody sends to itself");
  const auto round = [&] {
    for (std::size_t i = 1; i <= n_next; ++i) {
      const int from = static_cast<int>(members_[(me + n - i) % n]);
      receive(from, kDataTag, std::span(in_).subspan((i - 1) * bytes, bytes));
    }
    for (std::size_t i = 1; i <= n_next; ++i) send(static_cast<int>(members_[(me + i) % n]), kDataTag, bytes);
    wait_all();
  };
  round();
  const double start = clock_();
  for (std::int64_t i = 0; i < order.count; ++i) round();
  return {(clock_() - start) / static_cast<double>(std::max<std::int64_t>(order.count, 1)), 0};
}

// Asks the ranks of the first part of the list in turn and answers those of the second, who ask when they like. Each is asked
// once before any trip to it counts: it may not have been told yet.
Answer Prober::staggered(const Order& order) {
  const auto bytes = static_cast<std::size_t>(order.bytes);
  const auto n = static_cast<std::size_t>(order.n_members);
  const auto n_asked = static_cast<std::size_t>(order.n_next);
  const auto count = static_cast<std::size_t>(order.count);
  ECO_ASSERT(light, n == members_.size() && n_asked <= n, "who is asked is in the list");
  const double apart_s = 1e-9 * static_cast<double>(order.pause_ns);
  // Between two looks for answers, where the shortest trip that counts is 4 ms.
  constexpr double kLook_s = 20e-6;
  // Of receives; what is sent has 0.
  const auto ticket_of = [](std::size_t i) { return static_cast<Ticket>(i + 1); };
  const auto peer = [&](std::size_t i) { return static_cast<int>(members_[i]); };
  // Receives that are posted together need a place each: of who asks one, of an asked one all its answers.
  const auto place = [&](std::size_t i, std::size_t trip) {
    return std::span(in_).subspan((i < n_asked ? i * (count + 1) + trip : n_asked * count + i) * bytes,
                                  bytes);
  };
  std::vector<std::size_t> n_begun(n_asked, 0);
  std::vector<std::size_t> n_came(n, 0);
  std::vector<double> begun_s(n_asked * (count + 1), 0);
  times_.assign(n_asked * count, 0);
  for (std::size_t i = n_asked; i < n; ++i) receive(peer(i), kDataTag, place(i, 0), ticket_of(i));
  std::size_t to_begin = n_asked * (count + 1);
  std::size_t to_come = n * (count + 1);
  std::size_t next = 0;
  double next_s = clock_();
  // The next whose turn it is and who may be asked; n_asked if all of them are still to answer for the first time.
  const auto whom = [&] {
    for (std::size_t k = 0; k < n_asked; ++k) {
      const std::size_t i = (next + k) % n_asked;
      if (n_begun[i] == 0 || (n_came[i] > 0 && n_begun[i] <= count)) return i;
    }
    return n_asked;
  };
  while (to_come > 0) {
    const std::size_t i = to_begin > 0 && clock_() >= next_s ? whom() : n_asked;
    if (i < n_asked) {
      receive(peer(i), kDoneTag, place(i, n_begun[i]), ticket_of(i));
      begun_s[i * (count + 1) + n_begun[i]++] = clock_();
      send(peer(i), kDataTag, bytes);
      --to_begin;
      next = (i + 1) % n_asked;
      next_s = clock_() + apart_s;
    }
    std::array<Ticket, 16> done;
    std::size_t n_done = 0;
    check(to_begin > 0 ? transport_.poll_some(done, n_done) : transport_.wait_some(done, n_done),
          "waiting for a message", -1);
    posted_ -= n_done;
    if (n_done == 0) pause_(kLook_s);
    for (const Ticket ticket : std::span(done).first(n_done)) {
      if (ticket == 0) continue;
      const std::size_t who = ticket - 1;
      const std::size_t trip = n_came[who]++;
      --to_come;
      if (who < n_asked) {
        if (trip > 0) times_[who * count + trip - 1] = clock_() - begun_s[who * (count + 1) + trip];
        continue;
      }
      send(peer(who), kDoneTag, bytes);
      if (trip < count) receive(peer(who), kDataTag, place(who, 0), ticket);
    }
  }
  wait_all();
  Answer answer;
  answer.n_times = static_cast<std::int64_t>(times_.size());
  return answer;
}

std::size_t Prober::follow() {
  for (;;) {
    Order& order = told_;
    receive(0, kOrderTag, bytes_of(order));
    wait_all();
    if (order.action == Action::finish) return static_cast<std::size_t>(order.bytes);
    if (order.action == Action::abort)
      throw TransportError("characterize: rank 0 gave up; its message says why");
    if (order.n_members > 0) {
      members_.resize(static_cast<std::size_t>(order.n_members));
      receive(0, kMembersTag, std::as_writable_bytes(std::span(members_)));
      wait_all();
    }
    Answer answer = perform(order);
    send(0, kAnswerTag, bytes_of(answer));
    if (answer.n_times > 0) send(0, kTimesTag, std::as_bytes(std::span(times_)));
    wait_all();
  }
}

void Prober::gather(const std::vector<int>& ranks) { members_.assign(ranks.begin(), ranks.end()); }

void Prober::tell(int rank, const Order& order) {
  send(rank, kOrderTag, std::as_bytes(std::span(&order, 1)));
  wait_all();
  if (order.n_members == 0) return;
  send(rank, kMembersTag, std::as_bytes(std::span(members_)));
  wait_all();
}

void Prober::tell(std::vector<Told> orders) {
  telling_ = std::move(orders);
  for (const Told& told : telling_) {
    send(told.rank, kOrderTag, std::as_bytes(std::span(&told.order, 1)));
    if (!told.members.empty()) send(told.rank, kMembersTag, std::as_bytes(std::span(told.members)));
  }
  wait_all();
}

Answer Prober::hear(int rank, std::vector<double>* times) {
  receive(rank, kAnswerTag, bytes_of(heard_));
  wait_all();
  if (heard_.n_times > 0) {
    heard_times_.resize(static_cast<std::size_t>(heard_.n_times));
    receive(rank, kTimesTag, std::as_writable_bytes(std::span(heard_times_)));
    wait_all();
    if (times != nullptr) *times = heard_times_;
  }
  return heard_;
}

void Prober::dismiss() {
  // Posted and not waited for: what was posted before the failure may never complete. A rank that is lost can't be
  // told, the others still can.
  static const Order kFarewell{Action::abort, 0, 0, -1, -1};
  const auto bytes = std::as_bytes(std::span<const Order, 1>(&kFarewell, 1));
  for (int rank = 1; rank < transport_.n_ranks(); ++rank) {
    static_cast<void>(transport_.post_send(rank, kOrderTag, bytes, SendMode::eager, 0));
  }
}

}  // namespace eco::measure
