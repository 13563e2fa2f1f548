#include "eco/transport/tcp/tcp_transport.h"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "eco/base/errors.h"

namespace eco::transport::tcp {
namespace {

// What epoll says of a listening socket, beside its number; of a connection it says the number alone.
constexpr std::uint64_t kListener = std::uint64_t{1} << 32;
constexpr std::size_t kEventsAtOnce = 64;

// Of two times in ms; -1 is never.
int sooner(int one, int other) { return one < 0 || other < 0 ? std::max(one, other) : std::min(one, other); }

}  // namespace

TcpTransport::TcpTransport(Job job, std::vector<Socket> listening, TcpOptions options)
    : job_(std::move(job)), options_(options), listening_(std::move(listening)) {
  carried_at_.resize(job_.addresses.size());
  events_ = Socket(::epoll_create1(EPOLL_CLOEXEC));
  if (!events_) throw TransportError(std::string("tcp: no epoll: ") + std::strerror(errno));
  for (std::size_t i = 0; i < listening_.size(); ++i) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = kListener | i;
    if (::epoll_ctl(events_.get(), EPOLL_CTL_ADD, listening_[i].get(), &event) != 0)
      throw TransportError(std::string("tcp: cannot watch for connections: ") + std::strerror(errno));
  }
  std::size_t n_rails = job_.addresses.size();
  for (const auto& of_rank : job_.endpoints) n_rails = std::max(n_rails, of_rank.size());
  job_.addresses.resize(n_rails);
  for (auto& of_rank : job_.endpoints) of_rank.resize(n_rails);
  peers_.resize(job_.endpoints.size());
  for (int number = 0; number < n_ranks(); ++number) {
    Peer& peer = peers_[static_cast<std::size_t>(number)];
    peer.to.assign(n_rails, -1);
    peer.is_lost.assign(n_rails, false);
    for (int rail = 0; rail < static_cast<int>(n_rails); ++rail)
      peer.n_rails += is_between(number, rail) ? 1 : 0;
  }
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
  is_in_farewell_ = true;
  const auto deadline = Clock::now() + seconds_of(options_.farewell_s);
  // A rail may still fail; after the bye it matters no more, all is there. One that has just failed may have taken along
  // what told a peer of that: peers have the time in which they notice it to ask again.
  const auto is_waited_for = [](const std::unique_ptr<Connection>& connection) {
    if (!connection) return false;
    if (!connection->is_open()) return connection->has_frames();
    return connection->wants_to_write() || unacknowledged_bytes(connection->socket()) > 0;
  };
  const auto is_asked = [this] {
    return has_peers_with_lost_rails() && Clock::now() < lost_at_ + seconds_of(options_.rail_lost_after_s);
  };
  while (n_rails() > 1 && Clock::now() < deadline &&
         (is_asked() || !to_move_.empty() ||
          std::any_of(connections_.begin(), connections_.end(), is_waited_for))) {
    watch_rails();
    progress(1);
  }
  is_leaving_ = true;
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
  resting_.clear();
  inbox_.clear();
  sends_.clear();
  free_sends_.clear();
  finished_.clear();
  to_move_.clear();
  n_posted_ = 0;
  waiting_bytes_ = 0;
  kept_bytes_ = 0;
  for (Peer& peer : peers_) peer = {};
}

void TcpTransport::look() {
  tell_all();
  progress(0);
  watch_rails();
}

bool TcpTransport::is_pending() {
  if (sends_.size() > free_sends_.size()) return true;
  if (has_peers_with_lost_rails()) return true;
  // A word that goes down with its rail is said again; where there is but one, it is the kernel's to bring.
  return std::any_of(connections_.begin(), connections_.end(), [this](const auto& each) {
    if (each == nullptr || !each->is_open()) return false;
    return each->wants_to_write() || each->untold_bytes > 0 ||
           (n_rails_to(each->peer()) > 1 && !each->is_acknowledged());
  });
}

Status TcpTransport::wait_some(std::span<Ticket> done, std::size_t& n_done) {
  n_done = 0;
  if (is_idle()) return Status::ok;
  progress(0);
  watch_rails();
  while (n_posted_ > 0 && finished_.empty() && !has_failed_ && !has_lost_peer()) {
    const int silent_ms = watch_silent_peers();
    const int rails_ms = watch_rails();
    const int resting_ms = knock_again();
    move_all();
    flush_all();
    if (has_lost_peer()) break;
    progress(sooner(sooner(silent_ms, rails_ms), resting_ms));
  }
  return hand_out(done, n_done);
}

Status TcpTransport::test_some(std::span<Ticket> done, std::size_t& n_done) {
  n_done = 0;
  if (is_idle()) return Status::ok;
  progress(0);
  watch_rails();
  if (finished_.empty()) watch_silent_peers();
  move_all();
  return hand_out(done, n_done);
}

void TcpTransport::progress(int timeout_ms) {
  std::array<epoll_event, kEventsAtOnce> events;
  const int n = ::epoll_wait(events_.get(), events.data(), static_cast<int>(events.size()), timeout_ms);
  if (n < 0 && errno != EINTR)
    has_failed_ = true;  // a program that closes all descriptors has closed this one
  const std::span<epoll_event> found(events.data(), static_cast<std::size_t>(std::max(n, 0)));
  // Who is there is listened to before others come in, for whom somebody silent may be turned away.
  const auto newcomers = std::partition(
      found.begin(), found.end(), [](const epoll_event& event) { return (event.data.u64 & kListener) == 0; });
  const auto number_of = [](const epoll_event& event) { return static_cast<std::uint32_t>(event.data.u64); };
  std::for_each(found.begin(), newcomers, [&](const epoll_event& event) {
    if (connections_[number_of(event)] != nullptr) handle(number_of(event), event.events);
  });
  std::for_each(newcomers, found.end(), [&](const epoll_event& event) { accept_from(number_of(event)); });
  knock_again();
  move_all();
  flush_all();
  free_connections_.insert(free_connections_.end(), dropped_.begin(), dropped_.end());
  dropped_.clear();
}

void TcpTransport::flush_all() {
  for (std::size_t i = 0; i < to_flush_.size(); ++i) {
    Connection* const connection = connections_[to_flush_[i]].get();
    if (connection == nullptr) continue;
    connection->flush(*this);
    listen_for(*connection);
  }
  to_flush_.clear();
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

}  // namespace eco::transport::tcp
