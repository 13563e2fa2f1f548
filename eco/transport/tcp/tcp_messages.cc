// What travels: sends and receives as they are posted, the frames that come of them, and what waits for its receive.
#include <algorithm>
#include <cstring>

#include "eco/transport/tcp/tcp_transport.h"

namespace eco::transport::tcp {

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

}  // namespace eco::transport::tcp
