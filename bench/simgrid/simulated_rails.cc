#include "bench/simgrid/simulated_rails.h"

#include <algorithm>
#include <utility>

namespace eco::bench {

namespace s4u = simgrid::s4u;
using transport::SendMode;
using transport::Status;
using transport::Ticket;

Wires::Wires(const net::GroupView& view, Hosts hosts, bool folded)
    : send_s_(view.network->send_overhead_s),
      receive_s_(view.network->receive_overhead_s),
      hosts_(std::move(hosts)),
      folded_(folded),
      ranks_(static_cast<std::size_t>(view.n_ranks())) {}

void Wires::fly(int from, int to, std::uint8_t rail, std::size_t bytes,
                const std::function<void()>& arrived) {
  const auto& nics = hosts_[rail];
  s4u::Host* const source = nics[static_cast<std::size_t>(from)];
  s4u::Host* const target = nics[static_cast<std::size_t>(to)];
  s4u::Actor::create("message", source, [=] {
    s4u::Comm::sendto(source, target, std::max<std::size_t>(bytes, 1));
    arrived();
  });
}

void Wires::finish(int rank, Ticket ticket) {
  Rank& mine = ranks_[static_cast<std::size_t>(rank)];
  mine.finished.push_back(ticket);
  mine.bell->release();
}

void Wires::settle(const Key& key) {
  Channel& channel = channels_[key];
  const auto& [from, to, tag] = key;
  while (!channel.receives.empty() && !channel.messages.empty() && channel.messages.front()->has_arrived) {
    const std::shared_ptr<Message> message = channel.messages.front();
    const Receive receive = channel.receives.front();
    channel.messages.pop_front();
    channel.receives.pop_front();
    std::copy_n(message->content.begin(), std::min(message->content.size(), receive.bytes.size()),
                receive.bytes.begin());
    ++ranks_[static_cast<std::size_t>(to)].n_received;
    finish(to, receive.ticket);
    if (message->mode == SendMode::synchronous) {
      fly(to, from, message->rail, 1, [this, sender = from, message] { finish(sender, message->ticket); });
    }
  }
}

void SimulatedRails::set_rails(int first_tag, std::span<const std::uint8_t> rails) {
  for (const std::uint8_t rail : rails) rail_of_tag_[first_tag++] = rail;
}

Status SimulatedRails::post_send(int peer, int tag, std::span<const std::byte> bytes, SendMode mode,
                                 Ticket ticket) {
  const auto named = rail_of_tag_.find(tag);
  const bool has_rail = named != rail_of_tag_.end() && named->second != transport::kNoRail;
  const auto message = std::make_shared<Wires::Message>(
      Wires::Message{ticket, mode, has_rail ? named->second : std::uint8_t{0}, bytes.size(), {}});
  if (!wires_.folded_) message->content.assign(bytes.begin(), bytes.end());
  s4u::this_actor::sleep_for(wires_.send_s_);
  const Wires::Key key{rank_, peer, tag};
  wires_.channels_[key].messages.push_back(message);
  ++wires_.ranks_[static_cast<std::size_t>(rank_)].n_posted;
  wires_.fly(rank_, peer, message->rail, bytes.size(), [&wires = wires_, key, message] {
    message->has_arrived = true;
    wires.settle(key);
  });
  if (mode == SendMode::eager) wires_.finish(rank_, ticket);
  return Status::ok;
}

Status SimulatedRails::post_recv(int peer, int tag, std::span<std::byte> bytes, Ticket ticket) {
  if (peer == transport::kAnyPeer) return Status::failed;
  const Wires::Key key{peer, rank_, tag};
  ++wires_.ranks_[static_cast<std::size_t>(rank_)].n_posted;
  wires_.channels_[key].receives.push_back({ticket, bytes});
  wires_.settle(key);
  return Status::ok;
}

Status SimulatedRails::wait_some(std::span<Ticket> done, std::size_t& n_done) {
  Wires::Rank& mine = wires_.ranks_[static_cast<std::size_t>(rank_)];
  while (mine.n_posted > 0 && mine.finished.empty()) mine.bell->acquire();
  return test_some(done, n_done);
}

Status SimulatedRails::test_some(std::span<Ticket> done, std::size_t& n_done) {
  Wires::Rank& mine = wires_.ranks_[static_cast<std::size_t>(rank_)];
  n_done = std::min(done.size(), mine.finished.size());
  std::copy_n(mine.finished.begin(), n_done, done.begin());
  mine.finished.erase(mine.finished.begin(), mine.finished.begin() + static_cast<std::ptrdiff_t>(n_done));
  mine.n_posted -= n_done;
  const std::size_t n_received = std::exchange(mine.n_received, 0);
  if (n_received > 0) s4u::this_actor::sleep_for(static_cast<double>(n_received) * wires_.receive_s_);
  return Status::ok;
}

}  // namespace eco::bench
