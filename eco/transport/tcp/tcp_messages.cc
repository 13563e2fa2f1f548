// What travels: sends and receives as they are posted, the frames that come of them, and what waits for its receive.
#include <algorithm>
#include <cstring>

#include "eco/transport/tcp/tcp_transport.h"

namespace eco::transport::tcp {
namespace {

// A sender that may have to send again keeps what it has not heard of: of this much it hears at the latest, of less when
// this rank has nothing else to do (look()).
constexpr std::size_t kTellBytes = 65536;

}  // namespace

Status TcpTransport::post_send(int peer, int tag, std::span<const std::byte> bytes, SendMode mode,
                               Ticket ticket) {
  if (!is_mine(peer, tag)) return Status::failed;
  const auto at = static_cast<std::size_t>(tag);
  Connection* const connection = way_to(peer, rail_of(at), at);
  if (connection == nullptr) return Status::lost_peer;
  const std::uint32_t number = add({.ticket = ticket,
                                    .peer = peer,
                                    .tag = static_cast<std::uint32_t>(tag),
                                    .sequence = inbox_.stream(peer, static_cast<std::uint32_t>(tag)).sent++,
                                    .mode = mode,
                                    .bytes = bytes});
  ++n_posted_;
  ++peers_[static_cast<std::size_t>(peer)].owed_sends;
  issue(number, *connection);
  if (connection->is_open()) connection->flush(*this);
  listen_for(*connection);
  return Status::ok;
}

Status TcpTransport::post_recv(int peer, int tag, std::span<std::byte> bytes, Ticket ticket) {
  if (!is_mine(peer, tag)) return Status::failed;
  Inbox::Stream& stream = inbox_.stream(peer, static_cast<std::uint32_t>(tag));
  const std::uint64_t sequence = stream.post(bytes, ticket);
  ++n_posted_;
  ++peers_[static_cast<std::size_t>(peer)].owed_receives;

  Inbox::Arrived* const message = stream.find_arrived(sequence);
  if (message == nullptr) return Status::ok;
  if (message->frame.bytes > bytes.size()) {
    has_failed_ = true;  // truncation; reported by the next wait, as for messages that come later
    return Status::ok;
  }
  Inbox::Posted& posted = *stream.find_posted(sequence);
  // Of a rail or a peer that is gone whole messages can still be had.
  Connection* const connection =
      message->connection == kNoConnection ? nullptr : connections_[message->connection].get();
  posted.state = Inbox::Posted::State::filling;
  posted.connection = message->connection;
  const bool is_request = message->frame.kind == FrameKind::request;
  if (connection != nullptr && message->frame.wants_match) {
    connection->put({.kind = is_request && message->is_complete ? FrameKind::had : FrameKind::matched,
                     .tag = message->frame.tag,
                     .id = message->frame.id,
                     .sequence = sequence});
  }
  if (message->is_complete) {
    finish_waiting(stream, peer, *message, posted);
  } else if (is_request) {
    posted.is_granted = true;
    posted.granted_bytes = message->frame.bytes;
    stream.forget(message);
  } else {
    message->is_adopted = true;
  }
  if (connection != nullptr) {
    connection->flush(*this);
    listen_for(*connection);
  }
  return Status::ok;
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
    case FrameKind::had:
      return on_had(connection, frame) ? nothing : kRefused;
    case FrameKind::credit:
      return on_credit(connection, frame) ? nothing : kRefused;
    case FrameKind::lost:
      return on_lost(connection, frame) ? nothing : kRefused;
    case FrameKind::probe:
      connection.put({.kind = FrameKind::echo});
      to_flush_.push_back(connection.number());
      return nothing;
    case FrameKind::echo:
      return on_echo(connection) ? nothing : kRefused;
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
  Inbox::Arrived* const before = stream.find_arrived(frame.sequence);
  Inbox::Posted* const posted = stream.find_posted(frame.sequence);
  const bool is_over = frame.sequence < stream.first || (posted != nullptr && posted->state == State::done);
  if (is_over || before != nullptr) return on_repeated(connection, frame, before);
  if (posted == nullptr) {
    Inbox::Arrived& message = stream.arrived.emplace_back();
    message.frame = frame;
    message.connection = connection.number();
    message.owes_credit = !is_request;
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
  posted->connection = connection.number();
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

std::optional<std::span<std::byte>> TcpTransport::on_repeated(Connection& connection, const Frame& frame,
                                                              Inbox::Arrived* message) {
  // Only what a lost rail brought may come again, and what has not come whole has been forgotten with its connection.
  if (n_living_rails(connection.peer()) == n_rails_to(connection.peer())) return std::nullopt;
  const bool is_waiting = message != nullptr;
  if (is_waiting && (!message->is_complete || message->connection != kNoConnection ||
                     message->memory.size() != frame.bytes)) {
    return std::nullopt;
  }
  ++n_repeated_;
  const bool is_request = frame.kind == FrameKind::request;
  if (is_waiting) {  // its receive will answer
    message->frame = frame;
    message->connection = connection.number();
  } else if (frame.wants_match) {
    connection.put({.kind = is_request ? FrameKind::had : FrameKind::matched,
                    .tag = frame.tag,
                    .id = frame.id,
                    .sequence = frame.sequence});
    to_flush_.push_back(connection.number());
  }
  if (is_request) return std::span<std::byte>();
  connection.is_discarding = true;
  if (discarded_.size() < frame.bytes) discarded_.resize(options_.eager_bytes);
  return std::span(discarded_).first(frame.bytes);
}

std::optional<std::span<std::byte>> TcpTransport::on_data(Connection& connection, const Frame& frame) {
  Inbox::Posted* const posted = inbox_.stream(connection.peer(), frame.tag).find_posted(frame.sequence);
  if (posted == nullptr || !posted->is_granted || posted->connection != connection.number() ||
      posted->granted_bytes != frame.bytes) {
    return std::nullopt;
  }
  posted->is_granted = false;
  return posted->memory.first(frame.bytes);
}

bool TcpTransport::on_body(Connection& connection, const Frame& frame) {
  count_arrival(connection, frame);
  if (connection.is_discarding) {
    connection.is_discarding = false;
    take_up(connection, frame.bytes);
    return true;
  }
  Inbox::Stream& stream = inbox_.stream(connection.peer(), frame.tag);
  Inbox::Posted* const posted = stream.find_posted(frame.sequence);
  Inbox::Arrived* const message =
      frame.kind == FrameKind::eager ? stream.find_arrived(frame.sequence) : nullptr;
  if (message != nullptr && !message->is_adopted) {
    message->is_complete = true;
  } else if (posted == nullptr) {
    return false;
  } else if (message != nullptr) {
    finish_waiting(stream, connection.peer(), *message, *posted);
  } else {
    if (frame.kind == FrameKind::eager) take_up(connection, frame.bytes);
    end_receive(connection.peer(), stream, *posted);
  }
  return true;
}

void TcpTransport::finish_waiting(Inbox::Stream& stream, int peer, const Inbox::Arrived& message,
                                  Inbox::Posted& posted) {
  if (!message.memory.empty())
    std::memcpy(posted.memory.data(), message.memory.data(), message.memory.size());
  waiting_bytes_ -= message.memory.size();
  if (message.owes_credit) take_up(*connections_[message.connection], message.memory.size());
  stream.forget(&message);
  end_receive(peer, stream, posted);
}

void TcpTransport::count_arrival(Connection& connection, const Frame& frame) {
  ++connection.n_arrived;
  if (n_rails_to(connection.peer()) == 1) return;  // nobody waits to hear of it
  connection.untold_bytes += frame.bytes + kFrameBytes;
  if (frame.kind == FrameKind::data ||
      connection.untold_bytes >= std::min(kTellBytes, options_.credit_bytes / 4))
    tell(connection);
}

void TcpTransport::tell_all() {
  for (const auto& connection : connections_) {
    if (connection != nullptr && connection->is_open() && connection->untold_bytes > 0) tell(*connection);
  }
}

void TcpTransport::take_up(Connection& connection, std::size_t bytes) {
  connection.taken_up_bytes += bytes + kFrameBytes;
  // Now and then, so that the sender never runs dry and hears of it seldom.
  if (4 * connection.taken_up_bytes >= options_.credit_bytes) tell(connection);
}

void TcpTransport::tell(Connection& connection) {
  connection.put(
      {.kind = FrameKind::credit, .sequence = connection.n_arrived, .bytes = connection.taken_up_bytes});
  connection.unreported_bytes -= connection.taken_up_bytes;
  connection.taken_up_bytes = 0;
  connection.untold_bytes = 0;
  to_flush_.push_back(connection.number());
}

void TcpTransport::end_receive(int peer, Inbox::Stream& stream, Inbox::Posted& posted) {
  posted.state = Inbox::Posted::State::done;
  finished_.push(posted.ticket);
  --peers_[static_cast<std::size_t>(peer)].owed_receives;
  stream.retire();
}

}  // namespace eco::transport::tcp
