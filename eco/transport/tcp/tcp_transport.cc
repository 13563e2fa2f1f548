#include "eco/transport/tcp/tcp_transport.h"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "eco/base/errors.h"

namespace eco::transport::tcp {
namespace {

constexpr std::uint64_t kListener = std::uint64_t{1} << 32;
constexpr std::size_t kEventsAtOnce = 64;
// A peer that nothing was heard of for so long gets a connection, if it has none, only so that its end is noticed.
constexpr std::chrono::milliseconds kSilence(100);
// Accepted connections that have not proved who they are; ranks may all come at once.
constexpr std::size_t kFewestStrangers = 64;

}  // namespace

TcpTransport::TcpTransport(Job job, std::vector<Socket> listening, TcpOptions options)
    : job_(std::move(job)), options_(options), listening_(std::move(listening)) {
  events_ = Socket(::epoll_create1(EPOLL_CLOEXEC));
  if (!events_) throw TransportError(std::string("tcp: no epoll: ") + std::strerror(errno));
  for (std::size_t i = 0; i < listening_.size(); ++i) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = kListener | i;
    if (::epoll_ctl(events_.get(), EPOLL_CTL_ADD, listening_[i].get(), &event) != 0)
      throw TransportError(std::string("tcp: cannot watch for connections: ") + std::strerror(errno));
  }
  peers_.resize(job_.endpoints.size());
  for (Peer& peer : peers_) peer.to.assign(job_.addresses.size(), -1);
}

TcpTransport::~TcpTransport() {
  const bool owes = std::any_of(peers_.begin(), peers_.end(),
                                [](const Peer& peer) { return peer.owed_receives + peer.owed_sends > 0; });
  // What is still posted has memory that nobody may touch any more, and peers learn that nothing will come of it.
  if (owes) abandon();
  if (!is_abandoned_) say_bye();
}

// The kernel forgets what it has not delivered when a socket is closed while more is coming in. So what was sent is
// waited for, and what comes is read.
void TcpTransport::say_bye() {
  const auto deadline = Clock::now() + std::chrono::duration<double>(options_.farewell_s);
  for (const auto& connection : connections_) {
    if (!connection || !connection->is_open()) continue;
    connection->put({.kind = FrameKind::bye});
    connection->flush(*this);
    listen_for(*connection);
  }
  const auto is_on_its_way = [](const std::unique_ptr<Connection>& connection) {
    return connection && connection->is_open() &&
           (connection->wants_to_write() || unacknowledged_bytes(connection->socket()) > 0);
  };
  while (std::any_of(connections_.begin(), connections_.end(), is_on_its_way) && Clock::now() < deadline)
    progress(1);
}

void TcpTransport::abandon() {
  is_abandoned_ = true;
  connections_.clear();
  listening_.clear();
  to_flush_.clear();
  strangers_.clear();
  inbox_.clear();
  sends_.clear();
  free_sends_.clear();
  finished_.clear();
  n_posted_ = 0;
  waiting_bytes_ = 0;
  for (Peer& peer : peers_) peer = {};
}

void TcpTransport::set_rails(int first_tag, std::span<const std::uint8_t> rails) {
  const auto first = static_cast<std::size_t>(first_tag);
  if (rail_of_tag_.size() < first + rails.size()) rail_of_tag_.resize(first + rails.size(), 0);
  std::copy(rails.begin(), rails.end(), rail_of_tag_.begin() + first_tag);
}

std::size_t TcpTransport::n_connections() const {
  return static_cast<std::size_t>(std::count_if(
      connections_.begin(), connections_.end(),
      [](const auto& each) { return each != nullptr && (each->is_opener() || each->is_open()); }));
}

std::uint32_t TcpTransport::add(Connection connection) {
  const std::uint32_t number = connection.number();
  if (number == connections_.size()) {
    connections_.emplace_back();
  } else {
    free_connections_.pop_back();
  }
  connections_[number] = std::make_unique<Connection>(std::move(connection));
  Connection& added = *connections_[number];
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = number;
  if (::epoll_ctl(events_.get(), EPOLL_CTL_ADD, added.descriptor(), &event) != 0) has_failed_ = true;
  listen_for(added);
  return number;
}

void TcpTransport::listen_for(Connection& connection) {
  const bool output = connection.wants_to_write();
  if (output == connection.watches_output) return;
  epoll_event event{};
  event.events = EPOLLIN | (output ? EPOLLOUT : 0U);
  event.data.u64 = connection.number();
  if (::epoll_ctl(events_.get(), EPOLL_CTL_MOD, connection.descriptor(), &event) != 0) has_failed_ = true;
  connection.watches_output = output;
}

std::uint32_t TcpTransport::next_connection() const {
  return free_connections_.empty() ? static_cast<std::uint32_t>(connections_.size())
                                   : free_connections_.back();
}

int TcpTransport::connection_to(int peer, int rail) {
  Peer& them = peers_[static_cast<std::size_t>(peer)];
  const std::vector<Endpoint>& endpoints = job_.endpoints[static_cast<std::size_t>(peer)];
  // A host with fewer rails gets what would go over those that it lacks on those that it has.
  const std::size_t over = static_cast<std::size_t>(rail) % std::min(job_.addresses.size(), endpoints.size());
  if (them.to[over] >= 0 || them.is_broken) return them.to[over];
  Socket socket = connect_from(job_.addresses[over], endpoints[over]);
  if (!socket) {
    them.is_broken = true;
    gone_.push_back(peer);
    return -1;
  }
  prepare(socket, options_.lost_after_s);
  Hello hello{.from = static_cast<std::uint32_t>(job_.rank),
              .to = static_cast<std::uint32_t>(peer),
              .rail = static_cast<std::uint32_t>(over),
              .n_ranks = static_cast<std::uint32_t>(n_ranks()),
              .nonce = {}};
  fill_randomly(hello.nonce);
  const std::uint32_t number = add(Connection::opened(std::move(socket), next_connection(), job_.key, hello));
  them.to[over] = static_cast<int>(number);
  them.was_met = true;
  ++them.n_open;
  return them.to[over];
}

Status TcpTransport::post_send(int peer, int tag, std::span<const std::byte> bytes, SendMode mode,
                               Ticket ticket) {
  if (is_abandoned_ || peer < 0 || peer >= n_ranks() || peer == rank() || tag < 0 || tag > max_tag())
    return Status::failed;
  const auto at = static_cast<std::size_t>(tag);
  const int to = connection_to(peer, at < rail_of_tag_.size() ? rail_of_tag_[at] : 0);
  if (to < 0) return Status::lost_peer;
  Connection& connection = *connections_[static_cast<std::size_t>(to)];

  std::uint32_t number = static_cast<std::uint32_t>(sends_.size());
  if (free_sends_.empty()) {
    sends_.emplace_back();
  } else {
    number = free_sends_.back();
    free_sends_.pop_back();
  }
  Send& send = sends_[number];
  send = {.ticket = ticket,
          .tag = static_cast<std::uint32_t>(tag),
          .sequence = inbox_.stream(peer, static_cast<std::uint32_t>(tag)).sent++,
          .bytes = bytes,
          .connection = connection.number(),
          .is_used = true};
  ++n_posted_;
  ++peers_[static_cast<std::size_t>(peer)].owed_sends;

  Frame frame{.kind = FrameKind::eager,
              .wants_match = mode == SendMode::synchronous,
              .tag = send.tag,
              .id = number,
              .sequence = send.sequence,
              .bytes = bytes.size()};
  const std::size_t cost = bytes.size() + kFrameBytes;
  if (bytes.size() <= options_.eager_bytes && connection.outstanding_bytes + cost <= options_.credit_bytes) {
    connection.outstanding_bytes += cost;
    send.owes_writing = true;
    send.owes_match = frame.wants_match;
    connection.put(frame, bytes, number);
  } else {
    frame.kind = FrameKind::request;
    frame.wants_match = true;
    send.owes_request = true;
    connection.put(frame);
  }
  if (connection.is_open()) connection.flush(*this);
  listen_for(connection);
  return Status::ok;
}

Status TcpTransport::post_recv(int peer, int tag, std::span<std::byte> bytes, Ticket ticket) {
  if (is_abandoned_ || peer < 0 || peer >= n_ranks() || peer == rank() || tag < 0 || tag > max_tag())
    return Status::failed;
  Inbox::Stream& stream = inbox_.stream(peer, static_cast<std::uint32_t>(tag));
  const std::uint64_t sequence = stream.first + stream.posted.size();
  stream.posted.push({.memory = bytes, .ticket = ticket});
  ++n_posted_;
  ++peers_[static_cast<std::size_t>(peer)].owed_receives;

  Inbox::Arrived* const message = stream.find_arrived(sequence);
  if (message == nullptr) return Status::ok;
  if (message->frame.bytes > bytes.size()) {
    has_failed_ = true;  // truncation; reported by the next wait, as for messages that come later
    return Status::ok;
  }
  Inbox::Posted& posted = *stream.find_posted(sequence);
  Connection* const connection = connections_[message->connection].get();
  const bool is_there = connection != nullptr && connection->is_open() && connection->peer() == peer;
  // Of a peer that is gone whole messages can still be had.
  if (!is_there && !message->is_complete) return Status::ok;
  posted.state = Inbox::Posted::State::filling;
  if (is_there && message->frame.wants_match) {
    connection->put({.kind = FrameKind::matched,
                     .tag = message->frame.tag,
                     .id = message->frame.id,
                     .sequence = sequence});
  }
  if (message->frame.kind == FrameKind::request) {
    posted.is_granted = true;
    posted.granted_bytes = message->frame.bytes;
    stream.forget(message);
  } else if (!message->is_complete) {
    message->is_adopted = true;
  } else {
    finish_waiting(is_there ? connection : nullptr, peer, stream, *message, posted);
  }
  if (is_there) {
    connection->flush(*this);
    listen_for(*connection);
  }
  return Status::ok;
}

bool TcpTransport::on_hello(const Hello& hello) {
  return hello.to == static_cast<std::uint32_t>(rank()) &&
         hello.n_ranks == static_cast<std::uint32_t>(n_ranks()) && hello.from < hello.n_ranks &&
         hello.from != hello.to && hello.rail < static_cast<std::uint32_t>(n_rails());
}

void TcpTransport::on_welcome(Connection& connection) {
  if (connection.is_opener()) return;
  std::erase(strangers_, connection.number());
  Peer& peer = peers_[static_cast<std::size_t>(connection.peer())];
  ++peer.n_open;
  peer.was_met = true;
}

std::optional<std::span<std::byte>> TcpTransport::on_frame(Connection& connection, const Frame& frame) {
  constexpr std::optional<std::span<std::byte>> kRefused = std::nullopt;
  const std::optional<std::span<std::byte>> nothing = std::span<std::byte>();
  switch (frame.kind) {
    case FrameKind::eager:
    case FrameKind::request:
      return on_message(connection, frame);
    case FrameKind::data:
      return on_data(connection, frame);
    case FrameKind::matched:
      return on_matched(connection, frame) ? nothing : kRefused;
    case FrameKind::credit:
      if (frame.bytes > connection.outstanding_bytes) return kRefused;
      connection.outstanding_bytes -= frame.bytes;
      return nothing;
    case FrameKind::bye:
      break;
  }
  return kRefused;
}

std::optional<std::span<std::byte>> TcpTransport::on_message(Connection& connection, const Frame& frame) {
  using State = Inbox::Posted::State;
  const bool is_request = frame.kind == FrameKind::request;
  if (!is_request) {
    // What its sender counts as outstanding is this or more: beyond the credit it has not kept to it.
    connection.unreported_bytes += frame.bytes + kFrameBytes;
    if (frame.bytes > options_.eager_bytes || connection.unreported_bytes > options_.credit_bytes)
      return std::nullopt;
  }
  Inbox::Stream& stream = inbox_.stream(connection.peer(), frame.tag);
  if (frame.sequence < stream.first || stream.find_arrived(frame.sequence) != nullptr) return std::nullopt;
  Inbox::Posted* const posted = stream.find_posted(frame.sequence);
  if (posted == nullptr) {
    Inbox::Arrived& message = stream.arrived.emplace_back();
    message.frame = frame;
    message.connection = connection.number();
    if (is_request) return std::span<std::byte>();
    message.memory.resize(frame.bytes);
    waiting_bytes_ += frame.bytes;
    return std::span(message.memory);
  }
  if (posted->state != State::waiting) return std::nullopt;
  if (frame.bytes > posted->memory.size()) {
    has_failed_ = true;  // truncation, as MPI would report it
    return std::nullopt;
  }
  posted->state = State::filling;
  if (frame.wants_match) {
    connection.put(
        {.kind = FrameKind::matched, .tag = frame.tag, .id = frame.id, .sequence = frame.sequence});
    to_flush_.push_back(connection.number());
  }
  if (!is_request) return posted->memory.first(frame.bytes);
  posted->is_granted = true;
  posted->granted_bytes = frame.bytes;
  return std::span<std::byte>();
}

std::optional<std::span<std::byte>> TcpTransport::on_data(Connection& connection, const Frame& frame) {
  Inbox::Posted* const posted = inbox_.stream(connection.peer(), frame.tag).find_posted(frame.sequence);
  if (posted == nullptr || !posted->is_granted || posted->granted_bytes != frame.bytes) return std::nullopt;
  posted->is_granted = false;
  return posted->memory.first(frame.bytes);
}

bool TcpTransport::on_matched(Connection& connection, const Frame& frame) {
  if (frame.id >= sends_.size()) return false;
  Send& send = sends_[frame.id];
  if (!send.is_used || send.connection != connection.number() || send.tag != frame.tag ||
      send.sequence != frame.sequence) {
    return false;
  }
  if (send.owes_request) {
    send.owes_request = false;
    send.owes_writing = true;
    connection.put({.kind = FrameKind::data,
                    .tag = send.tag,
                    .id = frame.id,
                    .sequence = send.sequence,
                    .bytes = send.bytes.size()},
                   send.bytes, frame.id);
    to_flush_.push_back(connection.number());
    return true;
  }
  if (!send.owes_match) return false;
  send.owes_match = false;
  if (!send.owes_writing) end_send(frame.id);
  return true;
}

bool TcpTransport::on_body(Connection& connection, const Frame& frame) {
  Inbox::Stream& stream = inbox_.stream(connection.peer(), frame.tag);
  Inbox::Posted* const posted = stream.find_posted(frame.sequence);
  Inbox::Arrived* const message =
      frame.kind == FrameKind::eager ? stream.find_arrived(frame.sequence) : nullptr;
  if (message != nullptr && !message->is_adopted) {
    message->is_complete = true;
  } else if (posted == nullptr) {
    return false;
  } else if (message != nullptr) {
    finish_waiting(&connection, connection.peer(), stream, *message, *posted);
  } else {
    if (frame.kind == FrameKind::eager) take_up(connection, frame.bytes);
    end_receive(connection.peer(), stream, *posted);
  }
  return true;
}

void TcpTransport::on_written(std::uint32_t send) {
  sends_[send].owes_writing = false;
  if (!sends_[send].owes_match) end_send(send);
}

void TcpTransport::finish_waiting(Connection* connection, int peer, Inbox::Stream& stream,
                                  const Inbox::Arrived& message, Inbox::Posted& posted) {
  if (!message.memory.empty())
    std::memcpy(posted.memory.data(), message.memory.data(), message.memory.size());
  waiting_bytes_ -= message.memory.size();
  if (connection != nullptr) take_up(*connection, message.memory.size());
  stream.forget(&message);
  end_receive(peer, stream, posted);
}

void TcpTransport::take_up(Connection& connection, std::size_t bytes) {
  connection.taken_up_bytes += bytes + kFrameBytes;
  // Now and then, so that the sender never runs dry and hears of it seldom.
  if (4 * connection.taken_up_bytes < options_.credit_bytes) return;
  connection.put({.kind = FrameKind::credit, .bytes = connection.taken_up_bytes});
  connection.unreported_bytes -= connection.taken_up_bytes;
  connection.taken_up_bytes = 0;
  to_flush_.push_back(connection.number());
}

void TcpTransport::end_send(std::uint32_t number) {
  Send& send = sends_[number];
  finished_.push(send.ticket);
  --peers_[static_cast<std::size_t>(connections_[send.connection]->peer())].owed_sends;
  send = {};
  free_sends_.push_back(number);
}

void TcpTransport::end_receive(int peer, Inbox::Stream& stream, Inbox::Posted& posted) {
  posted.state = Inbox::Posted::State::done;
  finished_.push(posted.ticket);
  --peers_[static_cast<std::size_t>(peer)].owed_receives;
  stream.retire();
}

void TcpTransport::accept_from(std::size_t listener) {
  // The first is there: the listener has said so.
  for (bool is_first = true;;) {
    Socket socket = accept(listening_[listener]);
    if (socket) {
      prepare(socket, options_.lost_after_s);
      const std::size_t most = std::max(kFewestStrangers, 2 * peers_.size() * job_.addresses.size());
      if (strangers_.size() >= most) drop(strangers_.front(), Connection::End::refused);
      strangers_.push_back(add(Connection::accepted(std::move(socket), next_connection(), job_.key)));
      is_first = false;
      continue;
    }
    // Nobody there, or one that has gone meanwhile; without descriptors the kernel looks for neither.
    const bool is_full = errno == EMFILE || errno == ENFILE || errno == ENOMEM;
    if (!is_first || !is_full) return;
    if (strangers_.empty()) {
      has_failed_ = true;  // no peer will ever come in
      return;
    }
    drop(strangers_.front(), Connection::End::refused);
  }
}

void TcpTransport::handle(std::uint32_t number, std::uint32_t events) {
  Connection& connection = *connections_[number];
  Connection::End end = Connection::End::none;
  if ((events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0) end = connection.read(*this);
  if (end == Connection::End::none && connection.wants_to_write()) end = connection.flush(*this);
  if (end == Connection::End::none) {
    listen_for(connection);
  } else {
    drop(number, end);
  }
}

void TcpTransport::drop(std::uint32_t number, Connection::End end) {
  const Connection& connection = *connections_[number];
  const bool is_known = connection.is_opener() || connection.is_open();
  if (end == Connection::End::refused || !is_known) ++n_refused_;
  if (is_known) {
    Peer& peer = peers_[static_cast<std::size_t>(connection.peer())];
    --peer.n_open;
    if (connection.is_opener()) peer.to[static_cast<std::size_t>(connection.rail())] = -1;
    if (end != Connection::End::orderly) peer.is_broken = true;
    // A rank of this job that says what no rank says: nothing that it sent is to be trusted.
    if (end == Connection::End::refused && connection.is_open()) has_failed_ = true;
    if (peer.is_broken || peer.n_open == 0) gone_.push_back(connection.peer());
  } else {
    std::erase(strangers_, number);
  }
  connections_[number].reset();
  dropped_.push_back(number);
}

void TcpTransport::progress(int timeout_ms) {
  std::array<epoll_event, kEventsAtOnce> events;
  const int n = ::epoll_wait(events_.get(), events.data(), static_cast<int>(events.size()), timeout_ms);
  if (n < 0 && errno != EINTR)
    has_failed_ = true;  // a program that closes all descriptors has closed this one
  for (int i = 0; i < n; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    const auto number = static_cast<std::uint32_t>(event.data.u64);
    if ((event.data.u64 & kListener) != 0) {
      accept_from(number);
    } else if (connections_[number] != nullptr) {
      handle(number, event.events);
    }
  }
  for (std::size_t i = 0; i < to_flush_.size(); ++i) {
    Connection* const connection = connections_[to_flush_[i]].get();
    if (connection == nullptr) continue;
    connection->flush(*this);
    listen_for(*connection);
  }
  to_flush_.clear();
  free_connections_.insert(free_connections_.end(), dropped_.begin(), dropped_.end());
  dropped_.clear();
}

// By the clock: strangers who knock and signals that interrupt make no peer less silent.
int TcpTransport::watch_silent_peers() {
  const Clock::time_point now = Clock::now();
  if (!silent_since_) silent_since_ = now;
  const auto left = *silent_since_ + kSilence - now;
  if (left.count() > 0) return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left).count());
  for (int peer = 0; peer < n_ranks(); ++peer) {
    const Peer& them = peers_[static_cast<std::size_t>(peer)];
    if (them.owed_receives > 0 && !them.was_met) connection_to(peer, 0);
  }
  return -1;
}

bool TcpTransport::has_lost_peer() const {
  return std::any_of(gone_.begin(), gone_.end(), [this](int rank) {
    const Peer& peer = peers_[static_cast<std::size_t>(rank)];
    return (peer.is_broken || peer.n_open == 0) && peer.owed_receives + peer.owed_sends > 0;
  });
}

Status TcpTransport::hand_out(std::span<Ticket> done, std::size_t& n_done) {
  n_done = std::min(done.size(), finished_.size());
  for (std::size_t i = 0; i < n_done; ++i) {
    done[i] = finished_.front();
    finished_.pop();
  }
  n_posted_ -= n_done;
  if (n_done > 0) silent_since_.reset();
  if (has_failed_) return Status::failed;
  return n_done == 0 && has_lost_peer() ? Status::lost_peer : Status::ok;
}

Status TcpTransport::wait_some(std::span<Ticket> done, std::size_t& n_done) {
  n_done = 0;
  if (n_posted_ == 0) return Status::ok;
  progress(0);
  while (finished_.empty() && !has_failed_ && !has_lost_peer()) {
    const int timeout_ms = watch_silent_peers();
    if (!has_lost_peer()) progress(timeout_ms);
  }
  return hand_out(done, n_done);
}

Status TcpTransport::test_some(std::span<Ticket> done, std::size_t& n_done) {
  n_done = 0;
  if (n_posted_ == 0) return Status::ok;
  progress(0);
  if (finished_.empty()) watch_silent_peers();
  return hand_out(done, n_done);
}

}  // namespace eco::transport::tcp
