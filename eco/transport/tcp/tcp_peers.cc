// Who is connected: connections opened and accepted, strangers among them, and peers that are lost.
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "eco/transport/tcp/tcp_transport.h"

namespace eco::transport::tcp {
namespace {

// A peer that nothing was heard of for so long gets a connection, if it has none, only so that its end is noticed.
constexpr std::chrono::milliseconds kSilence(100);
// Accepted connections that have not proved who they are; ranks may all come at once.
constexpr std::size_t kFewestStrangers = 64;
// Then those that are there are listened to, however many more knock.
constexpr std::size_t kAcceptedAtOnce = 16;
// Who is turned away at the door comes again after 1, 2, 4, ... ms, at most 100, so often: two seconds and a half in all.
// Where other rails lead to the same peer, one is soon given up.
constexpr int kMostTimesTurnedAway = 32;
constexpr int kMostTimesOnOneOfMany = 6;
constexpr std::chrono::milliseconds kLongestRest(100);

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
  Socket socket = connect_to(peer, rail);
  if (!socket) return nullptr;
  const std::uint32_t number =
      add(Connection::opened(std::move(socket), next_connection(), job_.key, hello_to(peer, rail)));
  to = static_cast<int>(number);
  them.was_met = true;
  ++them.n_open;
  Connection& opened = *connections_[number];
  for (std::uint32_t lost = 0; lost < them.is_lost.size(); ++lost) {
    if (them.is_lost[lost]) opened.put({.kind = FrameKind::lost, .id = lost});
  }
  return &opened;
}

Socket TcpTransport::connect_to(int peer, int rail) const {
  const Endpoint& endpoint = job_.endpoints[static_cast<std::size_t>(peer)][static_cast<std::size_t>(rail)];
  Socket socket = connect_from(job_.addresses[static_cast<std::size_t>(rail)], endpoint);
  if (socket) prepare(socket, options_.lost_after_s);
  return socket;
}

Hello TcpTransport::hello_to(int peer, int rail) const {
  Hello hello{.from = static_cast<std::uint32_t>(job_.rank),
              .to = static_cast<std::uint32_t>(peer),
              .rail = static_cast<std::uint32_t>(rail),
              .n_ranks = static_cast<std::uint32_t>(n_ranks()),
              .nonce = {}};
  fill_randomly(hello.nonce);
  return hello;
}

// A peer that listens and closes has no room: strangers crowd there, or it has no descriptor left. One that has gone does not
// listen, and then the next knock fails. Times are counted, not seconds: the program may be away in between.
bool TcpTransport::comes_again(Connection& connection) {
  if (!connection.is_at_the_door()) return false;
  const bool is_last = n_living_rails(connection.peer()) == 1;
  if (connection.n_turned_away >= (is_last ? kMostTimesTurnedAway : kMostTimesOnOneOfMany)) return false;
  const std::chrono::milliseconds rest(std::int64_t{1} << connection.n_turned_away++);
  connection.knocks_at = Clock::now() + std::min(rest, kLongestRest);
  ::epoll_ctl(events_.get(), EPOLL_CTL_DEL, connection.descriptor(), nullptr);
  connection.rest();
  connection.watches_output = false;
  resting_.push_back(connection.number());
  return true;
}

int TcpTransport::knock_again() {
  if (resting_.empty()) return -1;
  const Clock::time_point now = Clock::now();
  std::optional<Clock::time_point> next;
  for (const std::uint32_t number : std::exchange(resting_, {})) {
    Connection* const connection = connections_[number].get();
    if (connection == nullptr || !connection->is_resting()) continue;  // taken down meanwhile
    if (now < connection->knocks_at) {
      resting_.push_back(number);
      next = next ? std::min(*next, connection->knocks_at) : connection->knocks_at;
      continue;
    }
    const int peer = connection->peer();
    const int rail = connection->rail();
    Socket socket = connect_to(peer, rail);
    if (!socket) {
      lose_rail(peer, rail, false);
      continue;
    }
    connection->knock(std::move(socket), hello_to(peer, rail));
    watch(*connection);
  }
  if (!next) return -1;
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(*next - now).count());
}

// Of those that were listened to and have said nothing yet the oldest, if there are any: a rank speaks at once.
std::uint32_t TcpTransport::least_welcome(std::size_t n_new) const {
  const auto end = strangers_.end() - static_cast<std::ptrdiff_t>(n_new);
  const auto silent = std::find_if(strangers_.begin(), end, [this](std::uint32_t number) {
    return !connections_[number]->has_introduced_itself();
  });
  return silent != end ? *silent : strangers_.front();
}

void TcpTransport::accept_from(std::size_t listener) {
  for (std::size_t n_accepted = 0; n_accepted < kAcceptedAtOnce;) {
    Socket socket = accept(listening_[listener]);
    if (socket) {
      prepare(socket, options_.lost_after_s);
      const std::size_t most = std::max(kFewestStrangers, 2 * peers_.size() * job_.addresses.size());
      if (strangers_.size() >= most) drop(least_welcome(n_accepted), Connection::End::refused);
      strangers_.push_back(add(Connection::accepted(std::move(socket), next_connection(), job_.key)));
      ++n_accepted;
      continue;
    }
    // Nobody there, or one that has gone meanwhile; without descriptors the kernel looks for neither. The first is there: the
    // listener has said so.
    const bool is_full = errno == EMFILE || errno == ENFILE || errno == ENOMEM;
    if (n_accepted > 0 || !is_full) return;
    if (strangers_.empty()) {
      has_failed_ = true;  // no peer will ever come in
      return;
    }
    drop(least_welcome(n_accepted), Connection::End::refused);
  }
}

bool TcpTransport::on_hello(const Hello& hello) {
  return hello.to == static_cast<std::uint32_t>(rank()) &&
         hello.n_ranks == static_cast<std::uint32_t>(n_ranks()) && hello.from < hello.n_ranks &&
         hello.from != hello.to && hello.rail < static_cast<std::uint32_t>(n_rails()) &&
         is_between(static_cast<int>(hello.from), static_cast<int>(hello.rail));
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
  watch(added);
  return number;
}

void TcpTransport::watch(Connection& connection) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = connection.number();
  if (::epoll_ctl(events_.get(), EPOLL_CTL_ADD, connection.descriptor(), &event) != 0) has_failed_ = true;
  listen_for(connection);
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
  Connection& connection = *connections_[number];
  if (end == Connection::End::broken && comes_again(connection)) return;
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
