// Who is connected: connections opened and accepted, strangers among them, and peers that are lost.
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>

#include "eco/transport/tcp/tcp_transport.h"

namespace eco::transport::tcp {
namespace {

// A peer that nothing was heard of for so long gets a connection, if it has none, only so that its end is noticed.
constexpr std::chrono::milliseconds kSilence(100);
// Accepted connections that have not proved who they are; ranks may all come at once.
constexpr std::size_t kFewestStrangers = 64;

}  // namespace

std::size_t TcpTransport::n_connections() const {
  return static_cast<std::size_t>(std::count_if(
      connections_.begin(), connections_.end(),
      [](const auto& each) { return each != nullptr && (each->is_opener() || each->is_open()); }));
}

Connection* TcpTransport::way_to(int peer, std::size_t rail, std::size_t tag) {
  while (true) {
    const int over = rail_for(peer, rail, tag);
    if (over < 0) return nullptr;
    if (Connection* const connection = open(peer, over)) return connection;
    lose_rail(peer, over, false);
  }
}

Connection* TcpTransport::open(int peer, int rail) {
  Peer& them = peers_[static_cast<std::size_t>(peer)];
  int& to = them.to[static_cast<std::size_t>(rail)];
  if (to >= 0) return connections_[static_cast<std::size_t>(to)].get();
  const Endpoint& endpoint = job_.endpoints[static_cast<std::size_t>(peer)][static_cast<std::size_t>(rail)];
  Socket socket = connect_from(job_.addresses[static_cast<std::size_t>(rail)], endpoint);
  if (!socket) return nullptr;
  prepare(socket, options_.lost_after_s);
  Hello hello{.from = static_cast<std::uint32_t>(job_.rank),
              .to = static_cast<std::uint32_t>(peer),
              .rail = static_cast<std::uint32_t>(rail),
              .n_ranks = static_cast<std::uint32_t>(n_ranks()),
              .nonce = {}};
  fill_randomly(hello.nonce);
  const std::uint32_t number = add(Connection::opened(std::move(socket), next_connection(), job_.key, hello));
  to = static_cast<int>(number);
  them.was_met = true;
  ++them.n_open;
  Connection& opened = *connections_[number];
  for (std::uint32_t lost = 0; lost < them.is_lost.size(); ++lost) {
    if (them.is_lost[lost]) opened.put({.kind = FrameKind::lost, .id = lost});
  }
  return &opened;
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

bool TcpTransport::on_hello(const Hello& hello) {
  return hello.to == static_cast<std::uint32_t>(rank()) &&
         hello.n_ranks == static_cast<std::uint32_t>(n_ranks()) && hello.from < hello.n_ranks &&
         hello.from != hello.to && hello.rail < static_cast<std::uint32_t>(n_rails());
}

bool TcpTransport::on_welcome(Connection& connection) {
  if (connection.is_opener()) return true;
  Peer& peer = peers_[static_cast<std::size_t>(connection.peer())];
  // It knocked before its opener gave that rail up: what it brings comes again over another.
  if (peer.is_lost[static_cast<std::size_t>(connection.rail())]) return false;
  std::erase(strangers_, connection.number());
  ++peer.n_open;
  peer.was_met = true;
  return true;
}

std::uint32_t TcpTransport::next_connection() const {
  return free_connections_.empty() ? static_cast<std::uint32_t>(connections_.size())
                                   : free_connections_.back();
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
  added.quiet_since = Clock::now();
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

void TcpTransport::drop(std::uint32_t number, Connection::End end) {
  const Connection& connection = *connections_[number];
  if (end == Connection::End::refused || !is_known(&connection)) ++n_refused_;
  if (!is_known(&connection)) {
    std::erase(strangers_, number);
    connections_[number].reset();
    dropped_.push_back(number);
    return;
  }
  const int peer = connection.peer();
  const int rail = connection.rail();
  Peer& them = peers_[static_cast<std::size_t>(peer)];
  const bool is_liar = end == Connection::End::refused && connection.is_open();
  if (is_liar) {
    // A rank of this job that says what no rank says: nothing that it sent is to be trusted.
    has_failed_ = true;
    them.is_broken = true;
  }
  them.has_left |= end == Connection::End::orderly;
  take_down(number);
  to_move_.push_back(peer);
  if (end != Connection::End::orderly && !is_liar) lose_rail(peer, rail, false);
}

void TcpTransport::take_down(std::uint32_t number) {
  const Connection& connection = *connections_[number];
  Peer& peer = peers_[static_cast<std::size_t>(connection.peer())];
  --peer.n_open;
  if (connection.is_opener()) peer.to[static_cast<std::size_t>(connection.rail())] = -1;
  waiting_bytes_ -= inbox_.forget(number);
  for (Send& send : sends_) {
    if (send.is_used && send.connection == number) send.connection = kNoConnection;
  }
  connections_[number].reset();
  dropped_.push_back(number);
}

// By the clock: strangers who knock and signals that interrupt make no peer less silent.
int TcpTransport::watch_silent_peers() {
  const Clock::time_point now = Clock::now();
  if (!silent_since_) silent_since_ = now;
  const auto left = *silent_since_ + kSilence - now;
  if (left.count() > 0) return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left).count());
  for (int peer = 0; peer < n_ranks(); ++peer) {
    const Peer& them = peers_[static_cast<std::size_t>(peer)];
    if (them.owed_receives > 0 && !them.was_met) way_to(peer, 0, 0);
  }
  return -1;
}

bool TcpTransport::has_lost_peer() const {
  return std::any_of(gone_.begin(), gone_.end(), [this](int rank) {
    const Peer& peer = peers_[static_cast<std::size_t>(rank)];
    return (peer.is_broken || peer.n_open == 0) && peer.owed_receives + peer.owed_sends > 0;
  });
}

}  // namespace eco::transport::tcp
