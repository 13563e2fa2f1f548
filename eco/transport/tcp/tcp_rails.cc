// Rails that fail between two ranks which another rail still joins (docs/adr/0025):
//
//   noticed      its connection closes; it carries nothing for rail_lost_after_s while the peer answers on another, or for
//                five times that where it carries others; the peer says so
//   then         both close what they have on it, forget what has come half, and send again over the others what has not been
//                heard to have arrived: it stays lost
//
// Whoever gives a rail up says so on each other rail before anything that it sends again there, so a message that comes
// a second time finds nothing of the first still on its way.
#include <algorithm>
#include <cmath>

#include "eco/transport/tcp/tcp_transport.h"

namespace eco::transport::tcp {
namespace {

// Of the time after which a rail is given up: how often is looked, when the others are asked, and how long after their answer
// a rail of a peer that was late still has.
constexpr double kLooks = 8;
constexpr double kAskAfter = 0.25;
constexpr double kGrace = 0.5;
// Where others get through on that rail meanwhile it may be crowded: TCP doubles its pause with each segment that is lost, and after four
// has waited 3 s, after six 12.6 s. A host that is cut off hears no other host there; if it has sent anything it gives the rail up in the usual
// time and says so. If not, or if its own ranks talk over that address, it takes the longer time.
constexpr double kCrowded = 5;
// Reading a socket empty takes no more turns than this.
constexpr int kTurns = 64;

}  // namespace

int TcpTransport::n_living_rails(int peer) const {
  const std::vector<bool>& is_lost = peers_[static_cast<std::size_t>(peer)].is_lost;
  return n_rails_to(peer) - static_cast<int>(std::count(is_lost.begin(), is_lost.end(), true));
}

bool TcpTransport::has_peers_with_lost_rails() const {
  return std::any_of(lost_rails_.begin(), lost_rails_.end(), [this](const LostRail& each) {
    return !peers_[static_cast<std::size_t>(each.peer)].has_left;
  });
}

int TcpTransport::rail_for(int peer, std::size_t rail, std::size_t tag) const {
  const Peer& them = peers_[static_cast<std::size_t>(peer)];
  const int n_living = n_living_rails(peer);
  if (them.is_broken || n_living == 0) return -1;
  const auto is_alive = [&](int over) {
    return is_between(peer, over) && !them.is_lost[static_cast<std::size_t>(over)];
  };
  const int wanted = static_cast<int>(rail) % n_rails();
  // What one side lacks both replace by rail 0, which all hosts have.
  const int over = is_between(peer, wanted) ? wanted : 0;
  if (is_alive(over)) return over;
  // What a lost rail carried is dealt to all that are left.
  int skip = static_cast<int>(tag) % n_living;
  for (int left = 0;; ++left) {
    if (is_alive(left) && skip-- == 0) return left;
  }
}

void TcpTransport::lose_rail(int peer, int rail, bool was_told) {
  Peer& them = peers_[static_cast<std::size_t>(peer)];
  if (them.is_lost[static_cast<std::size_t>(rail)]) return;
  them.is_lost[static_cast<std::size_t>(rail)] = true;
  for (std::uint32_t number = 0; number < connections_.size(); ++number) {
    Connection* const connection = connections_[number].get();
    if (!is_known(connection) || connection->peer() != peer || connection->rail() != rail) continue;
    // What our kernel has acknowledged is in here, and a peer that has left since can't send it again.
    Connection::End end = was_told ? Connection::End::orderly : Connection::End::none;
    for (int turn = 0; turn < kTurns && end == Connection::End::none; ++turn) end = connection->read(*this);
    if (end == Connection::End::refused && connection->is_open()) has_failed_ = true;
    take_down(number);
  }
  to_move_.push_back(peer);
  const auto is_theirs = [peer](const LostRail& each) { return each.peer == peer; };
  if (n_living_rails(peer) == 0) {
    them.is_broken = true;  // not a rail is lost but the peer
    std::erase_if(lost_rails_, is_theirs);
    return;
  }
  if (is_leaving_ || them.has_left) return;
  lost_rails_.push_back({.peer = peer, .rail = rail});
  lost_at_ = Clock::now();
  for (const int to : them.to) {
    if (to < 0) continue;
    Connection& connection = *connections_[static_cast<std::size_t>(to)];
    connection.put({.kind = FrameKind::lost, .id = static_cast<std::uint32_t>(rail)});
    to_flush_.push_back(connection.number());
  }
}

bool TcpTransport::on_lost(Connection& connection, const Frame& frame) {
  const auto rail = static_cast<int>(frame.id);
  if (frame.id >= static_cast<std::uint32_t>(n_rails()) || !is_between(connection.peer(), rail) ||
      rail == connection.rail())
    return false;
  lose_rail(connection.peer(), rail, true);
  return true;
}

void TcpTransport::move_all() {
  while (!to_move_.empty()) {
    const int peer = to_move_.back();
    to_move_.pop_back();
    move(peer);
  }
}

void TcpTransport::move(int peer) {
  Peer& them = peers_[static_cast<std::size_t>(peer)];
  const auto is_there = [&] { return !them.is_broken && !them.has_left && !is_leaving_; };
  for (std::uint32_t number = 0; number < sends_.size(); ++number) {
    const Send& send = sends_[number];
    if (!send.is_used || send.peer != peer || send.connection != kNoConnection) continue;
    Connection* const connection = is_there() ? way_to(peer, rail_of(send.tag), send.tag) : nullptr;
    if (connection != nullptr) {
      issue(number, *connection);
      to_flush_.push_back(connection->number());
    } else if (send.is_handed_back) {
      forget_send(number);
    }
  }
  // It has to hear what is lost, and if it is gone itself, that has to be noticed.
  const bool is_silent = std::all_of(them.to.begin(), them.to.end(), [](int to) { return to < 0; });
  if (is_there() && is_silent) way_to(peer, 0, 0);
  if (them.is_broken || them.n_open == 0) gone_.push_back(peer);
}

int TcpTransport::watch_rails() {
  if (options_.rail_lost_after_s <= 0 || n_rails() < 2) return -1;
  const Clock::time_point now = Clock::now();
  if (now >= next_look_) {
    next_look_ = now + seconds_of(options_.rail_lost_after_s / kLooks);
    for (std::uint32_t number = 0; number < connections_.size(); ++number) {
      Connection* const connection = connections_[number].get();
      if (!is_known(connection) || n_living_rails(connection->peer()) < 2) continue;
      if (is_rail_lost(*connection, now)) lose_rail(connection->peer(), connection->rail(), false);
    }
    move_all();
    flush_all();
  }
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(next_look_ - now).count());
}

bool TcpTransport::is_rail_lost(Connection& connection, Clock::time_point now) {
  const std::uint64_t carried = connection.carried_bytes();
  const bool is_stuck = !connection.is_open() || unacknowledged_bytes(connection.socket()) > 0;
  Clock::time_point& carried_at = carried_at_[static_cast<std::size_t>(connection.rail())];
  if (carried != connection.carried_when_looked) carried_at = now;
  if (!is_stuck || carried != connection.carried_when_looked) {
    connection.carried_when_looked = carried;
    connection.quiet_since = now;
    return false;
  }
  const auto quiet = now - connection.quiet_since;
  if (quiet < seconds_of(kAskAfter * options_.rail_lost_after_s)) return false;
  // A peer that is late answers nowhere: then nothing is known of this rail.
  bool is_answered = false;
  const Peer& them = peers_[static_cast<std::size_t>(connection.peer())];
  for (int rail = 0; rail < n_rails(); ++rail) {
    if (rail == connection.rail() || !is_between(connection.peer(), rail) ||
        them.is_lost[static_cast<std::size_t>(rail)])
      continue;
    Connection* const other = open(connection.peer(), rail);
    if (other == nullptr) continue;
    if (other->answer_to > connection.quiet_since) {
      is_answered |= now - other->answered_at >= seconds_of(kGrace * options_.rail_lost_after_s);
    } else if (!other->is_asked) {
      other->put({.kind = FrameKind::probe});
      other->is_asked = true;
      other->asked_at = now;
      to_flush_.push_back(other->number());
    }
  }
  const bool is_crowded = !is_in_farewell_ && now - carried_at < seconds_of(options_.rail_lost_after_s);
  return is_answered && quiet >= seconds_of((is_crowded ? kCrowded : 1) * options_.rail_lost_after_s);
}

bool TcpTransport::on_echo(Connection& connection) {
  if (!connection.is_asked) return false;
  connection.is_asked = false;
  connection.answer_to = connection.asked_at;
  connection.answered_at = Clock::now();
  return true;
}

}  // namespace eco::transport::tcp
