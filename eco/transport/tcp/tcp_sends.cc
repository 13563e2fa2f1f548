// How a send leaves, what it still waits for, and what of it is kept:
//
//   add -> issue -> [request, matched] -> body written -> handed back -> known to have arrived -> forgotten
//
// Where only one rail leads to the peer nothing is kept: what has been written is over. Where there are several, what has not
// been heard to have arrived may have to be sent again. A message that left without its receiver's consent is handed back as
// soon as it is written, and a copy stays: it counts as outstanding, so copies are bounded by the credit. One that was
// asked for may be of any length: it is handed back once it has arrived.
#include <cstring>
#include <new>

#include "eco/transport/tcp/tcp_transport.h"

namespace eco::transport::tcp {

std::uint32_t TcpTransport::add(Send send) {
  std::uint32_t number = static_cast<std::uint32_t>(sends_.size());
  if (free_sends_.empty()) {
    sends_.emplace_back();
  } else {
    number = free_sends_.back();
    free_sends_.pop_back();
  }
  sends_[number] = std::move(send);
  sends_[number].is_used = true;
  return number;
}

void TcpTransport::issue(std::uint32_t number, Connection& connection) {
  Send& send = sends_[number];
  send.connection = connection.number();
  const std::size_t n_bytes = send.bytes.size();
  const std::size_t cost = n_bytes + kFrameBytes;
  send.was_requested =
      n_bytes > options_.eager_bytes || connection.outstanding_bytes + cost > options_.credit_bytes;
  send.owes_request = send.was_requested;
  // What it owed on a rail that is gone it owes no more.
  send.owes_writing = false;
  send.owes_arrival = false;
  send.owes_match = !send.was_requested && send.mode == SendMode::synchronous && !send.is_handed_back;
  if (send.was_requested) {
    connection.put({.kind = FrameKind::request,
                    .wants_match = true,
                    .tag = send.tag,
                    .id = number,
                    .sequence = send.sequence,
                    .bytes = n_bytes});
  } else {
    connection.outstanding_bytes += cost;
    put_body(number, connection, FrameKind::eager, send.owes_match);
  }
}

void TcpTransport::put_body(std::uint32_t number, Connection& connection, FrameKind kind, bool wants_match) {
  Send& send = sends_[number];
  ++connection.n_bodies;
  send.owes_writing = true;
  send.owes_arrival = n_living_rails(send.peer) > 1;
  if (send.owes_arrival) connection.awaited.push({connection.n_bodies, number});
  connection.put({.kind = kind,
                  .wants_match = wants_match,
                  .tag = send.tag,
                  .id = number,
                  .sequence = send.sequence,
                  .bytes = send.bytes.size()},
                 send.bytes, number);
}

void TcpTransport::settle(std::uint32_t number) {
  Send& send = sends_[number];
  if (send.owes_request || send.owes_match || send.owes_writing) return;
  if (!send.is_handed_back) {
    if (send.owes_arrival && (send.was_requested || !keep(send))) return;
    send.is_handed_back = true;
    finished_.push(send.ticket);
    --peers_[static_cast<std::size_t>(send.peer)].owed_sends;
  }
  if (!send.owes_arrival) forget_send(number);
}

// False without memory: then it waits until it has arrived.
bool TcpTransport::keep(Send& send) {
  const std::size_t n = send.bytes.size();
  if (n == 0) return true;
  send.kept.reset(new (std::nothrow) std::byte[n]);
  if (!send.kept) return false;
  std::memcpy(send.kept.get(), send.bytes.data(), n);
  send.bytes = {send.kept.get(), n};
  kept_bytes_ += n;
  return true;
}

void TcpTransport::forget_send(std::uint32_t number) {
  if (sends_[number].kept) kept_bytes_ -= sends_[number].bytes.size();
  sends_[number] = {};
  free_sends_.push_back(number);
}

TcpTransport::Send* TcpTransport::find_send(const Connection& connection, const Frame& frame) {
  if (frame.id >= sends_.size()) return nullptr;
  Send& send = sends_[frame.id];
  const bool is_same = send.is_used && send.connection == connection.number() && send.tag == frame.tag &&
                       send.sequence == frame.sequence;
  return is_same ? &send : nullptr;
}

bool TcpTransport::on_matched(Connection& connection, const Frame& frame) {
  Send* const send = find_send(connection, frame);
  if (send == nullptr) return false;
  if (send->owes_request) {
    send->owes_request = false;
    put_body(frame.id, connection, FrameKind::data, false);
    to_flush_.push_back(connection.number());
    return true;
  }
  if (!send->owes_match) return false;
  send->owes_match = false;
  settle(frame.id);
  return true;
}

bool TcpTransport::on_had(Connection& connection, const Frame& frame) {
  Send* const send = find_send(connection, frame);
  if (send == nullptr || !send->owes_request) return false;
  send->owes_request = false;
  send->owes_arrival = false;
  settle(frame.id);
  return true;
}

bool TcpTransport::on_credit(Connection& connection, const Frame& frame) {
  if (frame.bytes > connection.outstanding_bytes || frame.sequence > connection.n_bodies) return false;
  connection.outstanding_bytes -= frame.bytes;
  while (!connection.awaited.empty() && connection.awaited.front().place <= frame.sequence) {
    const std::uint32_t number = connection.awaited.front().send;
    connection.awaited.pop();
    sends_[number].owes_arrival = false;
    settle(number);
  }
  return true;
}

void TcpTransport::on_written(std::uint32_t send) {
  sends_[send].owes_writing = false;
  settle(send);
}

}  // namespace eco::transport::tcp
